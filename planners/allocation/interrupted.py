"""Lifetimes with gaps, in which others may have their bytes: offsets, and a proven bound.

Two lifetimes forbid differences of their offsets: any two parts of them that share time forbid an
open interval, and what these intervals leave between them is allowed. Pushed down, each offset is
0 or at the end of such an interval, rounded up to its alignment.

Orders of placing come first, those that stick out moved forward; then CP-SAT decides on which side
of each interval a difference lies. MiniMalloc (Moffitt, 2023) has one interval for each two, so
that one lies before or behind the other as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, gcd
from random import Random
from typing import Any

from planners.allocation import cp_sat
from planners.allocation.aligned import Settled
from planners.allocation.heuristics import pairs_at_once
from planners.allocation.in_time_order import extent_of, quick_arena
from planners.allocation.problem.instance import split_in_time
from planners.allocation.problem.model import Lifetime, live_peak, load_lower_bound
from planners.core.integers import rounded_up
from planners.core.progress import Clock

ROUNDS = 200  # of orders, from each of the first ones
MOST_PAIRS = 100_000  # that live at once: of more the gaps are not used
MOST_INTERVALS = 20_000  # with more CP-SAT is not begun


def are_interrupted(lifetimes: Iterable[Lifetime]) -> bool:
    """Whether any of them has a gap."""
    return any(item.gaps for item in lifetimes)


@dataclass(frozen=True, slots=True)
class PlacedWithGaps:
    """Offsets in bytes by id, the highest address in use, a proven bound, and what found them."""

    offsets: Mapping[str, int]
    extent_bytes: int
    bound_bytes: int
    solver: str


def least_interrupted(
    lifetimes: Sequence[Lifetime], clock: Clock, capacity_bytes: int | None = None
) -> PlacedWithGaps:
    """The least extent found; of a capacity only whether it is enough, with its bound above it
    where it is proven not to be."""
    groups = split_in_time([item for item in lifetimes if item.size_bytes])
    offsets = dict.fromkeys((item.id for item in lifetimes), 0)
    extent, bound, solver = 0, load_lower_bound(lifetimes), "order"
    for number, group in enumerate(groups):
        part = clock.among(len(groups) - number)
        if pairs_at_once([t.lower for t in group], [t.upper for t in group]) > MOST_PAIRS:
            placed = _as_wholes(group, part)
        elif capacity_bytes is None:
            placed = _GappedGroup(group, part, max(extent, bound)).least()
        else:
            placed = _GappedGroup(group, part, capacity_bytes).least(capacity_bytes)
        offsets |= placed.offsets
        extent, bound = max(extent, placed.extent_bytes), max(bound, placed.bound_bytes)
        solver = max(solver, placed.solver, key=("order", "cp-sat").index)
        clock.report("packing", extent, min(bound, extent))
    return PlacedWithGaps(offsets, extent, min(bound, extent), solver)


def settle_interrupted(lifetimes: Sequence[Lifetime], capacity_bytes: int, clock: Clock) -> Settled:
    """Whether lifetimes of sizes above zero fit."""
    for item in lifetimes:
        if item.size_bytes > capacity_bytes:
            return Settled(False, "load", {}, (item.id,))
    peak, time = live_peak(lifetimes)
    if peak > capacity_bytes:
        live = [t for t in lifetimes if any(p.lower <= time < p.upper for p in t.held_parts())]
        return Settled(False, "load", {}, tuple(item.id for item in live))
    placed = least_interrupted(lifetimes, clock, capacity_bytes)
    if placed.extent_bytes <= capacity_bytes:
        return Settled(True, placed.solver, placed.offsets)
    fits = False if placed.bound_bytes > capacity_bytes else None
    return Settled(fits, placed.solver, {}, tuple(item.id for item in lifetimes))


def _as_wholes(lifetimes: Sequence[Lifetime], clock: Clock) -> PlacedWithGaps:
    """Quickly: each has its bytes in its gaps too."""
    offsets = quick_arena(lifetimes, clock)
    extent = extent_of(lifetimes, offsets)
    return PlacedWithGaps(offsets, extent, load_lower_bound(lifetimes), "order")


Interval = tuple[int, int]


def forbidden(one: Lifetime, other: Lifetime) -> list[Interval]:
    """Open intervals, apart and in order, in which offset of `one` − offset of `other` is not."""
    intervals: list[Interval] = []
    for mine in one.held_parts():
        for its in other.held_parts():
            if mine.lower < its.upper and its.lower < mine.upper:
                intervals.append((its.low - mine.high, its.high - mine.low))
    apart: list[Interval] = []
    for low, high in sorted(intervals):
        if apart and low < apart[-1][1]:
            apart[-1] = (apart[-1][0], max(high, apart[-1][1]))
        else:
            apart.append((low, high))
    return apart


class _GappedGroup:
    """Lifetimes of sizes above zero that time does not separate; an extent of no more than `enough`
    is as good as a smaller one."""

    def __init__(self, lifetimes: Sequence[Lifetime], clock: Clock, enough: int) -> None:
        self.items = lifetimes
        self.intervals: list[tuple[int, int, Interval]] = []  # of one's offset less another's
        self.near: list[list[tuple[int, Interval]]] = [[] for _ in lifetimes]
        live: list[int] = []
        for i in sorted(range(len(lifetimes)), key=lambda i: lifetimes[i].lower):
            live = [j for j in live if lifetimes[j].upper > lifetimes[i].lower]
            for j in live:
                for low, high in forbidden(lifetimes[i], lifetimes[j]):
                    self.intervals.append((i, j, (low, high)))
                    self.near[i].append((j, (low, high)))
                    self.near[j].append((i, (-high, -low)))
            live.append(i)
        sizes = (item.size_bytes for item in lifetimes)
        edges = (edge for _, _, interval in self.intervals for edge in interval)
        self.unit = gcd(*sizes, *edges, *(a for t in lifetimes if (a := t.alignment) > 1))
        self.bound = max(load_lower_bound(lifetimes), *(t.size_bytes for t in lifetimes))
        self.clock, self.floor = clock, max(enough, self.bound)

    def least(self, most: int | None = None) -> PlacedWithGaps:
        """The least extent; where `most` is given, only whether it is no more than that."""
        extent, places = self._in_orders()
        bound, solver = self.bound, "order"
        few = len(self.intervals) <= MOST_INTERVALS
        if extent > self.floor and few and cp_sat.can_begin(self.clock):
            below = extent - self.unit if most is None else most
            extent, places, bound = self._by_cp_sat(extent, places, below)
            solver = "cp-sat"
        offsets = {item.id: at for item, at in zip(self.items, places, strict=True)}
        return PlacedWithGaps(offsets, extent, min(bound, extent), solver)

    # ---- one after another, each as low as it can lie -----------------------------------------

    def _in_orders(self) -> tuple[int, list[int]]:
        best, places, random = -1, list[int](), Random(0)
        for order in self._orders():
            for _ in range(ROUNDS):
                placed = self._lowest(order)
                ends = [at + item.size_bytes for at, item in zip(placed, self.items, strict=True)]
                if best < 0 or max(ends) < best:
                    best, places = max(ends), placed
                if best <= self.floor or self.clock.expired():
                    return best, places
                rank = {
                    i: k * random.random() if ends[i] >= best else float(k)
                    for k, i in enumerate(order)
                }
                order = sorted(order, key=rank.__getitem__)
        return best, places

    def _orders(self) -> list[list[int]]:
        items, every = self.items, range(len(self.items))
        length = [item.upper - item.lower for item in items]
        return [
            sorted(every, key=lambda i: (-items[i].size_bytes, -length[i], items[i].lower)),
            sorted(every, key=lambda i: -items[i].size_bytes * length[i]),
            sorted(every, key=lambda i: (-length[i], -items[i].size_bytes)),
            sorted(every, key=lambda i: (items[i].lower, -items[i].size_bytes)),
        ]

    def _lowest(self, order: Sequence[int]) -> list[int]:
        places = [-1] * len(self.items)
        for i in order:
            taken = [
                (places[j] + low, places[j] + high)
                for j, (low, high) in self.near[i]
                if places[j] >= 0
            ]
            at, alignment = 0, self.items[i].alignment
            for low, high in sorted(taken):
                if low < at < high:
                    at = rounded_up(high, alignment)
                elif at <= low:
                    break
            places[i] = at
        return places

    # -------------------------------------------------------------------------------------------

    def _by_cp_sat(self, extent: int, places: list[int], most: int) -> tuple[int, list[int], int]:
        """An extent of no more than `most`, or the given one; and a bound that is proven."""
        from ortools.sat.python import cp_model  # slow to import, and never with highspy loaded

        unit, model = self.unit, cp_model.CpModel()
        floor, last = self.floor // unit, most // unit
        if last < floor:
            return extent, places, self.bound
        size = model.new_int_var(floor, last, "")
        offsets: list[Any] = []
        for item in self.items:
            stride = max(1, item.alignment // unit)
            offsets.append(stride * model.new_int_var(0, last // stride, ""))
            model.add(offsets[-1] + item.size_bytes // unit <= size)
        for i, j, (low, high) in self.intervals:
            before = model.new_bool_var("")
            difference = offsets[i] - offsets[j]
            model.add(difference <= low // unit).only_enforce_if(before)
            model.add(difference >= high // unit).only_enforce_if(~before)
        model.minimize(size)
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 2
        status = cp_sat.solve_within(solver, model, self.clock)
        if status == cp_model.INFEASIBLE:
            return extent, places, (last + 1) * unit
        proven = ceil(solver.best_objective_bound - 1e-6)
        bound = proven * unit if proven > floor else self.bound
        if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return extent, places, bound
        solved = [int(solver.value(offset)) * unit for offset in offsets]
        reached = max(at + item.size_bytes for at, item in zip(solved, self.items, strict=True))
        return reached, solved, bound
