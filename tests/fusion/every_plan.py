"""Small networks, and every plan of fused groups of one: all groups, ways, places and orders."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import nn

import planners as sp
from planners.core.program import Program
from planners.core.progress import Clock
from planners.fusion.cost.group import GroupModel
from planners.fusion.emit.laid import LaidGroup
from planners.fusion.emit.program import emit
from planners.fusion.latency.exact import Enumeration

LONGEST_S = 600.0


def fits(layer: nn.Module, channels: int) -> bool:
    """Whether a layer takes maps of so many channels."""
    return isinstance(layer, nn.Conv2d) and layer.in_channels == channels


def small_net(seed: int) -> sp.Graph:
    """Two to four operators on maps of a few rows, each reading something before it; a layer may
    be there twice."""
    rng = random.Random(seed)
    made = [rng.randint(1, 2)]
    layers, reads = nn.ModuleList(), list[int]()
    for i in range(rng.randint(2, 4)):
        reads.append(rng.choice([i, i, rng.randint(0, i)]))
        made.append(rng.randint(1, 3))
        kernel = rng.choice([1, 1, 3])
        again = next((a for a in layers if rng.random() < 0.3 and fits(a, made[reads[-1]])), None)
        if again is not None:
            made[-1] = again.out_channels
        padding = (kernel // 2, 0)
        layers.append(again or nn.Conv2d(made[reads[-1]], made[-1], (kernel, 1), padding=padding))

    class Small(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = layers

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
            maps = [x]
            for at, layer in zip(reads, self.layers, strict=True):
                maps.append(layer(maps[at]))
            return tuple(maps[i] for i in range(1, len(maps)) if i not in reads)

    shape = (1, made[0], rng.randint(1, 3), rng.randint(1, 3))
    return sp.from_torch(Small(), (torch.randn(shape),), bytes_per_element=1)


def plans(
    every: Enumeration, laid: tuple[LaidGroup, ...], done: int
) -> Iterator[tuple[LaidGroup, ...]]:
    """All plans that begin with these groups."""
    if done == every.dag.everything:
        yield laid
    for mask in every.following(done):
        for each in every.laid[mask]:
            for group in every.after(laid[-1] if laid else None, each):
                more = (*laid, replace(group, name=f"g{len(laid)}"))
                yield from plans(every, more, done | mask)


def some_plans(every: Enumeration, most: int) -> list[tuple[LaidGroup, ...]]:
    """All plans of a small problem; none of a larger one."""
    found = []
    for laid in plans(every, (), 0):
        found.append(laid)
        if len(found) > most:
            return []
    return found


def budget_of(graph: sp.Graph, machine: sp.Machine, more: int) -> int:
    """What the neediest operator takes alone, and so many bytes more."""
    model = GroupModel(graph, machine, {})
    ways = [model.staircase(1 << i)[0] for i in range(len(graph.operators))]
    return max(way.buffer_bytes for way in ways) + more


def every_program(
    graph: sp.Graph, machine: sp.Machine, budget: int, most: int
) -> list[Program] | None:
    """The programs of all plans in one band of columns; `None` where there are more than `most`."""
    every = Enumeration(GroupModel(graph, machine, {}), budget, double_buffer=True)
    assert every.lay(Clock(LONGEST_S))
    listed = some_plans(every, most)
    return [emit(graph, machine, laid, budget) for laid in listed] or None
