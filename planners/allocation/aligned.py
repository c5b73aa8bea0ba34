"""Lifetimes whose addresses are multiples of something, packed exactly.

Where every alignment divides every size nothing is to be done: blocks pushed down lie on sums of
sizes. Elsewhere come three questions, each without alignments but for the last:

* Sizes rounded up to a multiple of all alignments: what fits so, fits.
* Of the lifetimes aligned to a multiple of `a`, addresses are multiples of it, so that sizes
  may be rounded up to it, all but for what ends at the top. What does not fit so, does not fit.
* CP-SAT with an address as so many times its alignment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from math import gcd, lcm
from typing import NamedTuple

from planners.allocation import cp_sat
from planners.allocation.in_time_order import extent_of, quick_arena
from planners.allocation.problem.instance import reduce
from planners.allocation.problem.model import Lifetime, load_lower_bound
from planners.core.integers import rounded_up
from planners.core.portfolio import Outcome, Portfolio, Strategy
from planners.core.progress import Clock


@dataclass(frozen=True, slots=True)
class Settled:
    """Whether lifetimes fit (None: open), with offsets in bytes where they do.

    Where they do not, `core` of the lifetimes `asked` do not fit within `capacity_bytes`, which is
    why; `solver` is the part of the portfolio that said so.
    """

    fits: bool | None
    solver: str
    offsets: Mapping[str, int] = field(default_factory=dict)
    core: tuple[str, ...] = ()
    asked: Sequence[Lifetime] = ()
    capacity_bytes: int = 0


Solve = Callable[[Sequence[Lifetime], int, Clock], Settled]


def by_themselves(lifetimes: Sequence[Lifetime]) -> bool:
    """Whether pushing blocks down aligns them: each alignment divides each size."""
    unit = gcd(*(item.size_bytes for item in lifetimes))
    return all(unit % item.alignment == 0 for item in lifetimes)


def unit_of(lifetimes: Sequence[Lifetime]) -> int:
    """Of what every address of a packing pushed down is a multiple, and every extent."""
    if any(item.gaps for item in lifetimes):
        return 1
    unit = gcd(*(item.size_bytes for item in lifetimes)) or 1
    return unit if by_themselves(lifetimes) else gcd(unit, *(a.alignment for a in lifetimes))


def rounded_parts(lifetimes: Sequence[Lifetime]) -> Iterator[tuple[int, list[Lifetime]]]:
    """For each alignment `a`, and what all share: the lifetimes whose addresses are multiples of
    it, with sizes rounded up to it."""
    shared = gcd(*(item.alignment for item in lifetimes))
    for a in sorted({shared, *(item.alignment for item in lifetimes)}):
        yield a, [_rounded(item, a) for item in lifetimes if item.alignment % a == 0]


def aligned_load(lifetimes: Sequence[Lifetime]) -> int:
    """No packing has a smaller extent: the load of sizes rounded up, all but for the topmost."""
    if by_themselves(lifetimes):
        return load_lower_bound(lifetimes)
    size_of = {item.id: item.size_bytes for item in lifetimes}
    return max(_load(part, size_of) for _, part in rounded_parts(lifetimes))


def _load(rounded: Sequence[Lifetime], size_of: Mapping[str, int]) -> int:
    """The most, over time, of the sum of the sizes less the largest padding."""
    most = sizes = 0
    ends: list[tuple[int, int]] = []
    padding: list[tuple[int, int]] = []  # The largest first; what has ended goes once it is first.
    for new in sorted(rounded, key=lambda item: item.lower):
        while ends and ends[0][0] <= new.lower:
            sizes -= heappop(ends)[1]
        while padding and padding[0][1] <= new.lower:
            heappop(padding)
        sizes += new.size_bytes
        heappush(ends, (new.upper, new.size_bytes))
        heappush(padding, (size_of[new.id] - new.size_bytes, new.upper))
        most = max(most, sizes + padding[0][0])
    return most


def settle_aligned(
    lifetimes: Sequence[Lifetime], capacity_bytes: int, clock: Clock, solve: Solve
) -> Settled:
    """Whether lifetimes of sizes above zero fit, at addresses that are multiples of theirs."""
    if load_lower_bound(lifetimes) > capacity_bytes:
        return solve(lifetimes, capacity_bytes, clock)
    quick = quick_arena(lifetimes, clock)
    if extent_of(lifetimes, quick) <= capacity_bytes:
        return Settled(True, "order", quick)
    portfolio = Portfolio(QUESTIONS, value=lambda answer: (0.0,))
    return portfolio.solve(Alignments(lifetimes, capacity_bytes, solve), clock).best or OPEN


class Alignments(NamedTuple):
    """Lifetimes whose addresses are multiples of theirs, and what packs those of no alignment."""

    lifetimes: Sequence[Lifetime]
    capacity_bytes: int
    solve: Solve


def _with_needed(problem: Alignments, best: Settled | None, clock: Clock) -> Outcome[Settled]:
    """For each alignment, whether those that have it do not even fit with no more than they need;
    each has half of the work that is left."""
    for a, part in rounded_parts(problem.lifetimes):
        within = _within(problem.lifetimes, problem.capacity_bytes, a)
        answer = problem.solve(part, within, clock.share(0.5))
        if answer.fits is False:
            return _final(replace(answer, asked=part, capacity_bytes=within))
    return Outcome()


def _with_enough(problem: Alignments, best: Settled | None, clock: Clock) -> Outcome[Settled]:
    """Whether they fit even with sizes rounded up to a multiple of all alignments."""
    a = lcm(*(item.alignment for item in problem.lifetimes))
    enough = [_rounded(item, a) for item in problem.lifetimes]
    answer = problem.solve(enough, problem.capacity_bytes // a * a, clock)
    return _final(answer) if answer.fits else Outcome(finished=answer.fits is False)


def _final(answer: Settled) -> Outcome[Settled]:
    return Outcome(answer, bound=(0.0,))


def _with_strides(problem: Alignments, best: Settled | None, clock: Clock) -> Outcome[Settled]:
    """Addresses as so many times their alignment."""
    if not cp_sat.can_begin(clock):
        return Outcome(finished=True)
    answer = _by_cp_sat(problem.lifetimes, problem.capacity_bytes, clock)
    return Outcome() if answer.fits is None else _final(answer)


QUESTIONS = (
    Strategy("needed", "what does not fit with no more than it needs does not fit", _with_needed),
    Strategy("enough", "what fits rounded up fits", _with_enough),
    Strategy("strides", "what lies between", _with_strides, least_work=512),
)
OPEN = Settled(None, "search")


def _within(lifetimes: Sequence[Lifetime], capacity_bytes: int, a: int) -> int:
    """The capacity for sizes rounded up to `a`: rounded up too if any may end at its top."""
    top = capacity_bytes % a
    ends = (item.size_bytes % a for item in lifetimes if item.alignment % a == 0)
    return rounded_up(capacity_bytes, a) if any(0 < e <= top for e in ends) else capacity_bytes


def _rounded(item: Lifetime, a: int) -> Lifetime:
    return Lifetime(item.id, item.lower, item.upper, rounded_up(item.size_bytes, a))


def _by_cp_sat(lifetimes: Sequence[Lifetime], capacity_bytes: int, clock: Clock) -> Settled:
    shared = gcd(*(item.alignment for item in lifetimes))
    by_id = {item.id: item for item in lifetimes}
    rounded = [_rounded(item, shared) for item in lifetimes]
    offsets: dict[str, int] = {}
    for instance in reduce(rounded, rounded_up(capacity_bytes, shared), shared):
        items = [by_id[id] for id in instance.ids]
        fits, solved = cp_sat.solve(
            instance,
            clock,
            strides=[item.alignment // shared for item in items],
            highest=[(capacity_bytes - item.size_bytes) // shared for item in items],
        )
        if not fits:
            return Settled(fits, "cp-sat", {}, instance.ids, lifetimes, capacity_bytes)
        offsets |= instance.in_bytes(solved)
    return Settled(True, "cp-sat", offsets)
