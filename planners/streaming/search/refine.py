"""How many slices each layer has, one by one: a descent from slices of one size for all.

A layer that others wait for gains from slices; one that none waits for only pays for them.
Heuristic: it ends where no single layer gains from another number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from planners.core.graph import Graph
from planners.core.progress import Clock
from planners.streaming.model.layers import Layer, Unit, sliced_units, units_of
from planners.streaming.model.times import Times

COUNTS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16)
SMALLEST = 32  # Layers below the largest over this are left whole.
SWEEPS = 4

Delay = Callable[[Sequence[Unit], Sequence[Layer]], float]


class _Pieces:
    """Each operator's units and layers, by number of slices."""

    def __init__(self, graph: Graph, times: Times, stages: int) -> None:
        self.graph, self.times, self.stages = graph, times, stages
        self.whole = units_of(graph)
        self.known: dict[tuple[int, int], tuple[tuple[Unit, ...], tuple[Layer, ...]] | None] = {}

    def of(self, position: int, count: int) -> tuple[tuple[Unit, ...], tuple[Layer, ...]] | None:
        key = (position, count)
        if key not in self.known:
            units = (self.whole[position],)
            cut = units if count == 1 else sliced_units(self.graph, position, count)
            self.known[key] = None if cut is None else (cut, self.times.of(cut, self.stages))
        return self.known[key]

    def all(self, counts: Sequence[int]) -> tuple[tuple[Unit, ...], tuple[Layer, ...]]:
        pairs = [self.of(position, count) for position, count in enumerate(counts)]
        units = tuple(unit for pair in pairs if pair for unit in pair[0])
        return units, tuple(layer for pair in pairs if pair for layer in pair[1])


def refined(
    graph: Graph, times: Times, stages: int, units: Sequence[Unit], delay: Delay, clock: Clock
) -> tuple[Unit, ...]:
    """Units of no more delay than those given; `delay` is infinite for units that do not fit."""
    pieces = _Pieces(graph, times, stages)
    counts = [0] * len(graph.operators)
    for unit in units:
        counts[unit.operator] += 1
    sizes = [unit.size_bytes for unit in pieces.whole]
    large = [i for i, size in enumerate(sizes) if size * SMALLEST >= max(sizes, default=0) > 0]
    best = delay(*pieces.all(counts))
    for _ in range(SWEEPS):
        before = best
        for position in sorted(large, key=lambda i: -sizes[i]):
            best = _improved(pieces, counts, position, best, delay)
            if clock.expired():
                return pieces.all(counts)[0]
        if best == before:
            break
    return pieces.all(counts)[0]


def _improved(
    pieces: _Pieces, counts: list[int], position: int, best: float, delay: Delay
) -> float:
    """Give one operator the number of slices with the least delay, and return that delay."""
    chosen = counts[position]
    for count in COUNTS:
        if count != chosen and pieces.of(position, count) is not None:
            counts[position] = count
            seconds = delay(*pieces.all(counts))
            if seconds < best:
                best, chosen = seconds, count
    counts[position] = chosen
    return best
