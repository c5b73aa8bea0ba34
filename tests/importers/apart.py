"""Whether parts of operators come out as they are in the whole, from the boxes that they need."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import TypeAlias

import torch

from planners.core.access import detailed, needs_apart
from planners.core.boxes import Box
from planners.core.graph import Graph, Operator
from planners.executor.parts import compute_part
from planners.importers.torch.source_model import SourceModel

Values: TypeAlias = Mapping[str, torch.Tensor]
BOXES = 6
"""Boxes of each operator."""


def calls_read_whole(op: Operator) -> list[str]:
    """The kinds of an operator's calls that need all of what is given to it, whatever the box."""
    reached, kinds = set(op.inputs), []
    for part in op.parts if detailed(op) else ():
        if not reached.isdisjoint(part.reads):
            reached.add(part.name)
            if not part.relation:
                kinds.append(part.kind)
    return kinds


def assert_boxes(graph: Graph, model: SourceModel, given: Values, draw: random.Random) -> int:
    """Boxes of each operator, in random places, beside its whole value; how many were made apart.

    What the box does not need is spoilt, and what the executor asks for besides is missed.
    """
    values = dict(given)
    values |= {n: model.parameter(n) for n, t in graph.tensors.items() if t.kind == "parameter"}
    made_apart = 0
    for op in graph.operators:
        values |= model.evaluate([part.name for part in op.parts], values)
        for box in _drawn(values[op.outputs[0]].shape, draw) if len(op.outputs) == 1 else ():
            whole = values[op.outputs[0]][_cut(box)]
            held = needs_apart(graph, op, op.outputs[0], box)
            spoilt = {n: _spoilt(n, values[n], held) for n in (*op.inputs, *op.parameters)}
            parts = [part.name for part in op.parts]
            again = model.evaluate(parts, spoilt)[op.outputs[0]][_cut(box)]
            torch.testing.assert_close(again, whole, equal_nan=True)

            def fetch(
                name: str, wanted: Box, at: Mapping[str, torch.Tensor] = spoilt
            ) -> torch.Tensor:
                return at[name][_cut(wanted)]

            found = compute_part(model, graph, op, box, fetch)
            if found is not None:
                made_apart += 1
                torch.testing.assert_close(found, whole, equal_nan=True)
    return made_apart


def _drawn(shape: torch.Size, draw: random.Random) -> Iterator[Box]:
    """An element and boxes of any size."""
    element = [draw.randrange(n) for n in shape]
    yield tuple((at, at + 1) for at in element)
    for _ in range(BOXES - 1):
        ends = (sorted(draw.sample(range(n + 1), 2)) for n in shape)
        yield tuple((start, stop) for start, stop in ends)


def _spoilt(name: str, value: torch.Tensor, held: list[tuple[str, Box]]) -> torch.Tensor:
    """No number wherever nothing is needed."""
    if not value.is_floating_point():
        return value
    spoilt = torch.full_like(value, float("nan"))
    for part in (box for own, box in held if own == name):
        spoilt[_cut(part)] = value[_cut(part)]
    return spoilt


def _cut(box: Box) -> tuple[slice, ...]:
    return tuple(slice(start, stop) for start, stop in box)
