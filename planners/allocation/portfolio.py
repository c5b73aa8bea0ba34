"""`pack`: cheap answers first, then search, then CP-SAT, each only on what is left open."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from planners.allocation import cp_sat, heuristics
from planners.allocation.aligned import Settled, by_themselves, settle_aligned
from planners.allocation.crowded import crowded_first, large_first
from planners.allocation.explain import overload, shrink
from planners.allocation.problem.instance import Instance, reduce
from planners.allocation.problem.model import Lifetime, Packing, live_peak
from planners.allocation.skyline import search as skyline
from planners.core.errors import BadInput
from planners.core.progress import Clock


@dataclass(frozen=True, slots=True)
class Verdict:
    """One portfolio part's answer: packed, proved infeasible (False), or open (None)."""

    fits: bool | None
    offsets: list[int] = field(default_factory=list)
    solver: str = ""


def pack(
    lifetimes: Sequence[Lifetime],
    capacity_bytes: int,
    *,
    time_limit_s: float = 10.0,
    explain: bool = True,
    should_stop: Callable[[], bool] | None = None,
) -> Packing:
    """Addresses for lifetimes within `capacity_bytes`, or the proof that there are none.

    With `explain`, the conflict of an infeasible answer is made smaller in the time that is left.
    Raises BadInput for duplicate ids or a negative capacity.
    """
    _validate(lifetimes, capacity_bytes)
    clock = Clock(time_limit_s, should_stop=should_stop)
    solid = [item for item in lifetimes if item.size_bytes > 0]
    if by_themselves(solid):
        answer = _settle_all(solid, capacity_bytes, clock)
    else:
        answer = settle_aligned(solid, capacity_bytes, clock, _settle_all)
    if answer.fits is None:
        return Packing("unknown", {}, 0, (), answer.solver, clock.elapsed_s)
    if not answer.fits:
        conflict = answer.core
        if explain and answer.solver != "load":
            conflict = shrink(answer.asked, conflict, answer.capacity_bytes, clock)
        return Packing("infeasible", {}, 0, conflict, answer.solver, clock.elapsed_s)
    offsets = {item.id: answer.offsets.get(item.id, 0) for item in lifetimes}
    extent = max((offsets[item.id] + item.size_bytes for item in solid), default=0)
    return Packing("packed", offsets, extent, (), answer.solver, clock.elapsed_s)


def _settle_all(lifetimes: Sequence[Lifetime], capacity_bytes: int, clock: Clock) -> Settled:
    """Whether lifetimes of sizes above zero fit, their alignments left aside."""
    peak, peak_time = live_peak(lifetimes)
    if peak > capacity_bytes:
        return Settled(False, "load", {}, overload(lifetimes, peak_time, capacity_bytes))
    offsets: dict[str, int] = {}
    solvers = ["trivial"]
    for instance in reduce(lifetimes, capacity_bytes) if lifetimes else []:
        verdict = settle(instance, clock)
        if not verdict.fits:
            core = instance.ids
            return Settled(verdict.fits, verdict.solver, {}, core, lifetimes, capacity_bytes)
        offsets |= instance.in_bytes(verdict.offsets)
        solvers.append(verdict.solver)
    return Settled(True, max(solvers, key=STAGES.index), offsets)


SEARCH_SHARE = 0.6  # of the time left: what a search has not found by then CP-SAT may
CORE_S, CORE_SHARE = 0.3, 0.05  # the most that one core may take
CP_SAT_S = 0.5  # with less time than this CP-SAT is not begun: it cannot be stopped at its start
MOST_BLOCKS = 10_000  # a search holds a set of blocks for each section: more are placed only
STAGES = ("trivial", "order", "promotion", "large", "crowded", "search", "cp-sat")


def settle(instance: Instance, clock: Clock) -> Verdict:
    """Try one part of the portfolio after another on an instance whose load fits."""
    verdict = _quick(instance, clock)
    if verdict.fits is not None or clock.expired() or len(instance) > MOST_BLOCKS:
        return verdict

    def solve_core(core: Instance) -> tuple[bool | None, list[int]]:
        quick = _quick(core, clock)
        if quick.fits:
            return True, quick.offsets
        return skyline.solve(core, clock.part(min(CORE_S, CORE_SHARE * clock.left_s)))

    def solve_large(core: Instance) -> tuple[bool | None, list[int]]:
        fits, offsets = crowded_first(core, solve_core)
        return (fits, offsets) if fits is not None else solve_core(core)

    for core_first, solve, name in (
        (large_first, solve_large, "large"),
        (crowded_first, solve_core, "crowded"),
    ):
        fits, offsets = core_first(instance, solve)
        if fits is not None or clock.expired():
            return Verdict(fits, offsets, name)
    second_opinion = cp_sat.available() and clock.left_s > CP_SAT_S
    share = SEARCH_SHARE if second_opinion else 1.0
    fits, offsets = skyline.solve(instance, clock.part(share * clock.left_s))
    if fits is not None or clock.expired() or not second_opinion:
        return Verdict(fits, offsets, "search")
    fits, offsets = cp_sat.solve(instance, clock)
    return Verdict(fits, offsets, "cp-sat")


def _quick(instance: Instance, clock: Clock) -> Verdict:
    if (offsets := heuristics.list_placement(instance, clock)) is not None:
        return Verdict(True, offsets, "order")
    if len(instance) > MOST_BLOCKS:
        return Verdict(None, solver="order")
    offsets = heuristics.promotion(instance, clock.part(0.02), 10)
    return Verdict(None if offsets is None else True, offsets or [], "promotion")


def _validate(lifetimes: Sequence[Lifetime], capacity_bytes: int) -> None:
    if capacity_bytes < 0:
        raise BadInput(f"capacity {capacity_bytes} is negative")
    seen: set[str] = set()
    for lifetime in lifetimes:
        if lifetime.id in seen:
            raise BadInput(f"two lifetimes have the id {lifetime.id!r}")
        seen.add(lifetime.id)
