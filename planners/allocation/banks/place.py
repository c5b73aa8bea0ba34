"""Lifetimes in several memories, with fewest bytes read and written in the slow ones.

What counts is, in this order, what is touched in the slowest bank, in the one before it, and so on
to the second. For one bank after the other:

1. `assignment` says who goes where by bytes alone: no plan touches fewer.
2. Each bank is packed exactly (`planners.allocation.portfolio`), each stretch of time between which
   nothing lives by itself. Where all are packed, it is the optimum.
3. A set that is proven not to fit becomes a cut of the assignment, which is asked again; from each
   assignment, and before the first one, `filling` makes a plan that can be packed.

Where no packing is found and none is proven not to exist, that assignment is left aside too, and
from then on nothing more is proven.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from planners.allocation.banks.assignment import Assigned, Assignment
from planners.allocation.banks.model import Bank, Banked, BankPlaces, BankProblem
from planners.allocation.min_capacity import pack_tightest
from planners.allocation.portfolio import LONG_WORK, QUICK_WORK, pack
from planners.allocation.problem.instance import split_in_time
from planners.allocation.problem.model import Lifetime, live_peak
from planners.core.errors import BadInput
from planners.core.progress import Clock

# ---- Places at once: each bank in turn takes, in some order, what its load allows ----------------

TRIES = 40  # packings of one bank before tensors are taken out for good


def orders(problem: BankProblem) -> Iterator[list[Lifetime]]:
    """Whom the fast bank is offered to first: the busy, the short-lived, those with both."""
    busy = problem.bytes_touched
    keys: tuple[Callable[[Lifetime], Any], ...] = (
        lambda t: -t.size_bytes,
        lambda t: (t.upper - t.lower, -t.size_bytes),
        lambda t: -busy(t) / (t.upper - t.lower),
        lambda t: -busy(t) / ((t.upper - t.lower) * max(1, t.size_bytes)),
    )
    for key in keys:
        yield sorted(problem.lifetimes, key=key)


def filled(problem: BankProblem, order: Sequence[Lifetime], clock: Clock) -> BankPlaces:
    """Places with the first of `order` in the fast banks; what cannot be packed goes on.

    Raises `BadInput` where what is left does not fit in the last bank.
    """
    pinned = problem.pinned
    left = [item for item in order if item.id not in pinned]
    placed: dict[str, tuple[str, int]] = {}
    for bank in problem.banks:
        chosen = [item for item in order if pinned.get(item.id) == bank.name]
        if live_peak(chosen)[0] > bank.size_bytes:
            raise _too_small(chosen, bank)
        fixed = {item.id for item in chosen}
        for item in left:
            if item.size_bytes <= bank.size_bytes and _peak_with(chosen, item) <= bank.size_bytes:
                chosen.append(item)
        offsets = _packed(chosen, fixed, bank, clock)
        placed |= {id: (bank.name, at) for id, at in offsets.items()}
        left = [item for item in left if item.id not in offsets]
    if left:
        raise _too_small(left, problem.banks[-1])
    return placed


def _peak_with(items: Sequence[Lifetime], item: Lifetime) -> int:
    """The most bytes live at once while `item` is, with it."""
    beside = [t for t in items if t.lower < item.upper and item.lower < t.upper]
    cut = [
        Lifetime(t.id, max(t.lower, item.lower), min(t.upper, item.upper), t.size_bytes)
        for t in beside
    ]
    return live_peak(cut)[0] + item.size_bytes


def _packed(items: list[Lifetime], fixed: set[str], bank: Bank, clock: Clock) -> Mapping[str, int]:
    """Offsets of all that can be packed; the last that came are the first to leave."""
    for _ in range(TRIES):
        packing = pack(items, bank.size_bytes, explain=False, clock=clock.work(QUICK_WORK))
        if packing.status == "packed":
            return packing.offsets
        tight = pack_tightest(items, clock=clock.work(QUICK_WORK))
        if tight.extent_bytes <= bank.size_bytes:
            return tight.offsets
        loose = [item for item in items if item.id not in fixed]
        if not loose:
            raise _too_small(items, bank)
        above = {i.id for i in loose if tight.offsets[i.id] + i.size_bytes > bank.size_bytes}
        items = [item for item in items if item.id not in (above or {loose[-1].id})]
    kept = [item for item in items if item.id in fixed]
    return pack_tightest(kept, clock=clock.work(QUICK_WORK)).offsets


def _too_small(items: Sequence[Lifetime], bank: Bank) -> BadInput:
    need = live_peak(items)[0]
    return BadInput(
        f"memory {bank.name!r:.80} has {bank.size_bytes:,} bytes; {need:,} are live at once that "
        "can go nowhere else: give it more, or name another memory"
    )


# --------------------------------------------------------------------------------------------------


def place_in_banks(
    problem: BankProblem,
    *,
    known: Sequence[BankPlaces] = (),
    time_limit_s: float = 20.0,
    should_stop: Callable[[], bool] | None = None,
    tie: Callable[[BankPlaces], float] | None = None,
    clock: Clock | None = None,
) -> Banked:
    """The best places found, or known already, with what is proven of them.

    A search that is a part of another gives its `clock` in place of a limit. Of those found that
    cost the same, the one with the least `tie` is taken.
    """
    clock = clock or Clock(time_limit_s, should_stop=should_stop)
    return _BankSearch(problem, clock, list(known), tie).run()


@dataclass(frozen=True, slots=True)
class _Packed:
    """Places of an assignment, or sets that are proven (`sure`) or feared not to fit."""

    places: BankPlaces | None
    stuck: tuple[tuple[int, tuple[str, ...]], ...]
    sure: bool


class _BankSearch:
    def __init__(
        self,
        problem: BankProblem,
        clock: Clock,
        known: list[BankPlaces],
        tie: Callable[[BankPlaces], float] | None,
    ) -> None:
        self.problem, self.clock, self.tie = problem, clock, tie
        self.best: BankPlaces | None = None
        self.sure = True
        self.solver = "filled"
        for way in known:
            self._offer(way, "known")
        part = clock.work(LONG_WORK)
        for order in orders(problem):
            if self.best is not None and (part.expired() or not any(problem.cost(self.best))):
                break
            self._fill(order, part)

    def run(self) -> Banked:
        """Settle bank after bank, the slowest first."""
        problem, bounds = self.problem, [0] * len(self.problem.banks)
        assignment = Assignment(problem)
        last = len(problem.banks) - 1
        for bank in range(last, 0, -1):
            part = self.clock.among(bank)
            bounds[bank], none_exists = self._settle(assignment, bank, part)
            if none_exists:
                return self._answer("infeasible", bounds)
            if self.best is None:
                break
            assignment.most[bank] = problem.touched_in(self.best)[bank]
        if last == 0 and self.best is None:
            return self._alone()
        return self._answer("unknown" if self.best is None else "placed", bounds)

    def _settle(self, assignment: Assignment, bank: int, clock: Clock) -> tuple[int, bool]:
        """A bound on what is touched in a bank, and whether no way exists; `best` is made better.

        Slower banks have no more than they have now.
        """
        bound = 0
        while self.best is None or self.problem.touched_in(self.best)[bank] > bound:
            if clock.expired():
                break
            assigned = assignment.solve(bank, clock.solver_s)
            if self.sure:
                bound = max(bound, assigned.bound_bytes)
            if assigned.bank_of is None:
                return bound, assigned.none_exists and self.sure and self.best is None
            packed = self._pack(assigned, clock)
            if packed.places is not None:
                self._offer(packed.places, "packed exactly")
                if not self.sure or clock.expired():
                    break
                continue
            self._fill_as(assigned.bank_of, clock)
            self.sure = self.sure and packed.sure
            for k, ids in packed.stuck:
                assignment.cut(ids, k)
        if self.best is not None:
            bound = min(bound, self.problem.touched_in(self.best)[bank])
        return bound, False

    def _pack(self, assigned: Assigned, clock: Clock) -> _Packed:
        """Pack each bank as assigned, each stretch of time by itself."""
        assert assigned.bank_of is not None
        places: dict[str, tuple[str, int]] = {}
        stuck: list[tuple[int, tuple[str, ...]]] = []
        sure = True
        for k, bank in enumerate(self.problem.banks):
            items = [item for item in self.problem.lifetimes if assigned.bank_of[item.id] == k]
            for group in split_in_time(items):
                packing = pack(group, bank.size_bytes, clock=clock.work(LONG_WORK))
                if packing.status == "packed":
                    places |= {id: (bank.name, at) for id, at in packing.offsets.items()}
                    continue
                sure = sure and packing.status == "infeasible"
                stuck.append((k, packing.conflict or tuple(item.id for item in group)))
        return _Packed(None if stuck else places, tuple(stuck), sure)

    def _fill(self, order: Sequence[Lifetime], clock: Clock) -> None:
        """A plan that offers the fast banks to these first, where one can be packed."""
        try:
            self._offer(filled(self.problem, order, clock), "filled")
        except BadInput:
            return

    def _fill_as(self, bank_of: Mapping[str, int], clock: Clock) -> None:
        """A plan near an assignment, if there is time for it or none yet."""
        if self.best is None or not clock.expired():
            busy = self.problem.bytes_touched
            self._fill(
                sorted(self.problem.lifetimes, key=lambda t: (bank_of[t.id], -busy(t))), clock
            )

    def _offer(self, places: BankPlaces, solver: str) -> None:
        if self.best is None or self._is_better(places, self.best):
            self.best, self.solver = places, solver

    def _is_better(self, places: BankPlaces, than: BankPlaces) -> bool:
        one, other = self.problem.cost(places), self.problem.cost(than)
        if one != other or self.tie is None or self.clock.expired():
            return one < other
        return self.tie(places) < self.tie(than)

    def _alone(self) -> Banked:
        """One bank: nothing to choose, and the packer says whether all fits."""
        (bank,) = self.problem.banks
        packing = pack(self.problem.lifetimes, bank.size_bytes, clock=self.clock)
        if packing.status == "packed":
            self._offer({id: (bank.name, at) for id, at in packing.offsets.items()}, "packed")
            return self._answer("placed", [0])
        return self._answer(packing.status, [0], packing.conflict)

    def _answer(self, status: str, bounds: Sequence[int], conflict: tuple[str, ...] = ()) -> Banked:
        if status == "infeasible" and not conflict:
            conflict = _crowd(self.problem)
        best: Mapping[str, tuple[str, int]] = self.best or {}
        touched = self.problem.touched_in(best) if best else (0,) * len(bounds)
        seconds = self.clock.elapsed_s
        return Banked(status, best, touched, tuple(bounds), self.solver, seconds, conflict)  # type: ignore[arg-type]


def _crowd(problem: BankProblem) -> tuple[str, ...]:
    """The lifetimes live at the fullest time."""
    _, time = live_peak(problem.lifetimes)
    return tuple(t.id for t in problem.lifetimes if t.lower <= time < t.upper)
