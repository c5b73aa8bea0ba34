"""The activations' own memory: addresses for the default order, packed as tightly as is found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from planners.allocation import Lifetime
from planners.allocation.min_capacity import pack_tightest
from planners.core.graph import Graph
from planners.core.progress import Clock


@dataclass(frozen=True, slots=True)
class Activations:
    """Offsets in bytes by tensor, the extent, a proven bound on it, and each one's last use.

    `last` is by position of the operator; outputs of the network stay to the end.
    """

    offsets: Mapping[str, int]
    size_bytes: int
    bound_bytes: int
    last: Mapping[str, int]


def last_uses(graph: Graph) -> dict[str, int]:
    """The last operator at which each input and activation is there, by position."""
    end = len(graph.operators) - 1
    last = dict.fromkeys(graph.inputs, 0)
    for i, op in enumerate(graph.operators):
        last.update(dict.fromkeys((*op.inputs, *op.outputs), i))
    return last | dict.fromkeys(graph.outputs, end)


def activation_lifetimes(graph: Graph) -> list[Lifetime]:
    """Inputs from the start, others from their operator, to the last use; times are operators."""
    return [
        Lifetime(name, max(0, graph.producer.get(name, 0)), last + 1, graph.size_bytes(name))
        for name, last in last_uses(graph).items()
    ]


PACKING_WORK = 8192
"""Looks at the clock for the activations: some seconds; the rings are searched after them."""


def pack_activations(graph: Graph, clock: Clock) -> Activations:
    """Addresses for all activations."""
    packed = pack_tightest(activation_lifetimes(graph), clock=clock.work(PACKING_WORK))
    return Activations(packed.offsets, packed.extent_bytes, packed.bound_bytes, last_uses(graph))
