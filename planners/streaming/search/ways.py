"""Slicings to choose from: one for all layers, or refined operator by operator."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import inf

from planners.core.graph import Graph
from planners.core.machine import Machine
from planners.core.progress import Clock
from planners.streaming.emit.program import held_by, start_of
from planners.streaming.model.layers import Layer, Unit, divided, sliced_units, units_of
from planners.streaming.model.times import Times
from planners.streaming.options import StreamingOptions
from planners.streaming.place.joint import joint_delay
from planners.streaming.schedule.pipelines import sizes_of, with_rings
from planners.streaming.schedule.recurrence import Start

# ---- How many slices each layer has, one by one: a descent from slices of one size for all -------
# A layer that others wait for gains from slices; one that none waits for only pays for them.
# Heuristic: it ends where no single layer gains from another number.

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

    def sliced(
        self, position: int, count: int
    ) -> tuple[tuple[Unit, ...], tuple[Layer, ...]] | None:
        key = (position, count)
        if key not in self.known:
            units = (self.whole[position],)
            cut = units if count == 1 else sliced_units(self.graph, position, count)
            self.known[key] = None if cut is None else (cut, self.times.layers(cut, self.stages))
        return self.known[key]

    def all(self, counts: Sequence[int]) -> tuple[tuple[Unit, ...], tuple[Layer, ...]]:
        pairs = [self.sliced(position, count) for position, count in enumerate(counts)]
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
        if count != chosen and pieces.sliced(position, count) is not None:
            counts[position] = count
            seconds = delay(*pieces.all(counts))
            if seconds < best:
                best, chosen = seconds, count
    counts[position] = chosen
    return best


# --------------------------------------------------------------------------------------------------

SLICES = (1, 2, 3, 4, 6, 8, 12, 16)
"""Fractions of the largest layer that are tried where the planner chooses."""
REFINE_WORK = 256  # operators that other numbers of slices are tried for


@dataclass(frozen=True, slots=True)
class Slicing:
    """Units with their times in a pipeline of 2 or 3 stages, and what comes before them.

    No layer is larger than the largest over `slices`, where it can be cut; 0 where each operator
    has a number of slices of its own.
    """

    units: tuple[Unit, ...]
    layers: tuple[Layer, ...]
    start: Start
    slices: int


@dataclass(frozen=True, slots=True)
class Slicings:
    """The slicings of a network in a pipeline, for `memory_bytes` of rings.

    Where `joint`, the memory is that of weights and activations together.
    """

    graph: Graph
    machine: Machine
    times: Times
    stages: int
    memory_bytes: int
    joint: bool
    overlapped: bool

    def offered(self, chosen: StreamingOptions, clock: Clock) -> Iterator[Slicing]:
        """Those requested; where slices are free, the most promising one and one refined from it.

        Pipelines other than `exact` get one for each number of slices.
        """
        if chosen.slices:
            yield self.way(divided(self.graph, chosen.slices), chosen.slices)
            return
        every = [self.way(divided(self.graph, slices), slices) for slices in SLICES]
        if chosen.pipeline != "exact":
            yield from every
            return
        guesses = [self.guess(way.units, way.layers) for way in every]
        if min(guesses) == inf:
            yield min(every, key=lambda way: max(sizes_of(way.layers), default=0))
            return
        best = every[guesses.index(min(guesses))]
        yield best
        clock.report("slices")
        part = clock.work(REFINE_WORK)
        finer = refined(self.graph, self.times, self.stages, best.units, self.guess, part)
        if finer != best.units:
            yield self.way(finer, 0)

    def way(self, units: tuple[Unit, ...], slices: int) -> Slicing:
        layers = self.times.layers(units, self.stages, self.overlapped)
        return Slicing(units, layers, start_of(self.graph, self.machine, units, self.times), slices)

    def guess(self, units: Sequence[Unit], layers: Sequence[Layer]) -> float:
        """The delay with all of the memory, in rings of one size; infinite where it is too small.

        Inputs of the network are left out: they take as long in all ways.
        """
        if self.joint:
            return joint_delay(self.graph, units, layers, self.memory_bytes)
        sizes = sizes_of(layers)
        ring = min(self.memory_bytes // (self.stages - 1), sum(sizes))
        if ring < max(sizes, default=0):
            return inf
        return with_rings(layers, (ring,) * (self.stages - 1)).ends.delay_s


def held(units: Sequence[Unit]) -> tuple[int, ...]:
    """`held_by`, or nothing where no parameters are shared."""
    holders = held_by(units)
    return holders if any(before >= 0 for before in holders) else ()
