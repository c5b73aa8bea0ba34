"""Slicings to choose from: one for all layers, or refined operator by operator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf

from planners.core.graph import Graph
from planners.core.machine import Machine
from planners.core.progress import Clock
from planners.streaming.emit.program import held_by, start_of
from planners.streaming.model.layers import Layer, Unit
from planners.streaming.model.slicing import divided
from planners.streaming.model.times import Times
from planners.streaming.options import StreamingOptions
from planners.streaming.place.joint import joint_delay
from planners.streaming.schedule.pipelines import sizes_of, with_rings
from planners.streaming.schedule.recurrence import Start
from planners.streaming.search.refine import refined

SLICES = (1, 2, 3, 4, 6, 8, 12, 16)
"""Fractions of the largest layer that are tried where the planner chooses."""
REFINE_SHARE, REFINE_S = 0.3, 3.0  # of the time left, and at most so many seconds


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
        part = clock.part(min(REFINE_S, REFINE_SHARE * clock.left_s))
        finer = refined(self.graph, self.times, self.stages, best.units, self.guess, part)
        if finer != best.units:
            yield self.way(finer, 0)

    def way(self, units: tuple[Unit, ...], slices: int) -> Slicing:
        layers = self.times.of(units, self.stages, self.overlapped)
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
