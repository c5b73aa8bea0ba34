"""The least makespan of small problems: every start of every transfer, at every address.

Time goes from one end of an operator, load or store to the next: nothing gains by starting in
between, since what it waits for is one of them. A state is what has run, what lies where, what was
stored, and until when the three engines are busy; the search takes the one that can still end
earliest, and leaves out those that another is ahead of in everything (Dijkstra's, with a bound).
Bytes of what may go are free for others; what comes back is loaded anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from math import gcd
from operator import itemgetter, or_
from typing import NamedTuple, TypeAlias

from planners.core.best_first import BestFirstSearch, SearchNode
from planners.core.progress import Clock
from planners.cosma.latency.bound import ScheduleSeconds
from planners.cosma.latency.timed import TimedPlan, TimedStay
from planners.cosma.model.problem import ScheduleProblem

UNITS, OPERATORS = 48, 10
"""Addresses and operators up to which it is tried."""
MOST_STATES = 200_000
ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class MakespanRules:
    """Which rules the search for the least makespan has."""

    ahead: bool = True
    """A moment is left out where in another with the same things at the same places each engine is
    free no later."""
    engine_work: bool = True
    """Each engine has still to do what it has not begun, one after the other."""
    last_store: bool = True
    """What runs last has an output that is stored after it, unless nobody reads its results."""


MAKESPAN_RULES = MakespanRules()


class EngineStart(NamedTuple):
    """Something that starts: an operator, or a tensor's load or store, and where it goes."""

    kind: str
    what: int
    at_s: float
    offsets: tuple[int, ...] = ()
    gone: tuple[int, ...] = ()  # tensors whose bytes it takes


class _Moment(NamedTuple):
    """`places` are tensors and offsets; `loading` and `storing` are -1 where nothing is."""

    now: float
    computing: float
    in_until: float
    out_until: float
    ran: int  # mask of operators that have started
    places: tuple[tuple[int, int], ...]
    stored: int  # mask of tensors whose store has started
    running: int
    loading: int
    storing: int
    phase: int


def least_makespan(
    seconds: ScheduleSeconds,
    under_s: float,
    clock: Clock,
    any_order: bool,
    rules: MakespanRules = MAKESPAN_RULES,
) -> TimedPlan | None:
    """The quickest of all plans, in the problem's order or in any, if it takes less than `under_s`.

    None where none does, and where the problem is too large or the time is over before it is known.
    """
    if len(seconds.problem.schedule) > OPERATORS:
        return None
    search = MakespanSearch(seconds, under_s, any_order, rules)
    if search.units > UNITS:
        return None
    search.run(clock, most_pushes=MOST_STATES)
    return None if search.goal is None else search.plan()


_Node: TypeAlias = SearchNode[_Moment, float, EngineStart | None]
# Nothing is paid on the way: all is in the bound. A moment, and what starts then.
_Next: TypeAlias = tuple[float, _Moment, EngineStart | None]


class MakespanSearch(BestFirstSearch[_Moment, float, EngineStart | None]):
    """Operators are numbered as the graph has them, tensors as the problem has its lines."""

    compared = "queued"
    alike = itemgetter(slice(4, None))
    pathmax = False
    turns_a_look = 1

    def __init__(
        self, seconds: ScheduleSeconds, under_s: float, any_order: bool, rules: MakespanRules
    ) -> None:
        super().__init__(under_s * (1 - ROUNDING), 0.0)
        self.rules = rules
        self.seconds, self.problem, self.any_order = seconds, seconds.problem, any_order
        lines = self.problem.lines
        self.unit = gcd(*(line.size_bytes for line in lines)) or 1
        self.units = self.problem.budget_bytes // self.unit
        self.size = [line.size_bytes // self.unit for line in lines]
        schedule = self.problem.schedule
        count = len(schedule)
        self.compute = [0.0] * count
        self.reads: list[list[int]] = [[] for _ in schedule]
        self.writes: list[list[int]] = [[] for _ in schedule]
        self.used_by = [0] * len(lines)
        for i, line in enumerate(lines):
            for step in line.uses:
                op = schedule[step]
                writes = line.produced and step == line.uses[0]
                (self.writes if writes else self.reads)[op].append(i)
                self.used_by[i] |= 0 if writes else 1 << op
        for step, op in enumerate(schedule):
            self.compute[op] = seconds.compute[step]
        producers = [1 << schedule[line.uses[0]] if line.produced else 0 for line in lines]
        self.after = [reduce(or_, (producers[i] for i in reads), 0) for reads in self.reads]
        self.leaves = [seconds.leaves(i) for i in range(len(lines))]
        self.all = (1 << count) - 1
        self.quickest = min(self.compute, default=0.0)
        self.stored = sum(1 << i for i, leaves in enumerate(self.leaves) if leaves)
        self.idle = sum(
            1 << op
            for op, outputs in enumerate(self.writes)
            if not any(self.used_by[i] or self.leaves[i] for i in outputs)
        )
        self.begin(_Moment(0.0, 0.0, 0.0, 0.0, 0, (), 0, -1, -1, -1, 0), 0.0, None)

    @cached_property
    def from_host(self) -> list[int]:
        return [i for i, line in enumerate(self.problem.lines) if not line.produced]

    def rank(self, state: _Moment) -> int:
        return -self.pushes

    def entry(self, state: _Moment, cost: float) -> tuple[float, ...]:
        return state[:4]

    def is_dominated(self, state: _Moment, cost: float, others: list[tuple[float, ...]]) -> bool:
        """Whether a state with the same things at the same places is ahead in all times; those
        that this one is ahead of are left out."""
        if not (others and self.rules.ahead):
            return False
        times = state[:4]
        if any(all(a <= b for a, b in zip(k, times, strict=True)) for k in others):
            return True
        others[:] = [k for k in others if not all(b <= a for a, b in zip(k, times, strict=True))]
        return False

    def bound(self, s: _Moment) -> float:
        """Seconds at which all can have ended at the least: each engine's work that is left."""
        if not self.rules.engine_work:
            return max(s.now, s.computing, s.in_until, s.out_until)
        left = sum([t for op, t in enumerate(self.compute) if not s.ran >> op & 1])
        computed = max(s.now, s.computing) + left if left else s.computing
        on_chip = {i for i, _ in s.places}
        coming = [
            self.seconds.load[i]
            for i in self.from_host
            if i not in on_chip and self.used_by[i] & ~s.ran
        ]
        loaded = max(s.now, s.in_until) + sum(coming) if coming else s.in_until
        going = [
            self.seconds.store[i]
            for i, leaves in enumerate(self.leaves)
            if leaves and not s.stored >> i & 1
        ]
        stored = max(s.now, s.out_until) + sum(going) if going else s.out_until
        # What runs last has an output, unless something runs whose results nobody reads.
        last = 0.0
        if self.rules.last_store and left and not self.idle & ~s.ran:
            last = min(going, default=0.0)
        return max(computed + last, loaded + (self.quickest if coming else 0.0), stored)

    def is_goal(self, s: _Moment) -> bool:
        """Whether all has started; the rest only takes its time."""
        return s.ran == self.all and not self.stored & ~s.stored

    def expand(self, node: _Node, clock: Clock | None) -> Iterator[_Next]:
        """What can start now, computes first, then loads and stores; and the wait for an end."""
        s = node[0]
        if s.phase == 0:
            if s.running < 0:
                yield from self._computes(s)
            s = s._replace(phase=1)
        if s.phase == 1:
            if s.loading < 0:
                yield from self._loads(s)
            s = s._replace(phase=2)
        if s.storing < 0:
            yield from self._stores(s)
        busy = [
            (until, what)
            for what, until, on in (
                ("running", s.computing, s.running),
                ("loading", s.in_until, s.loading),
                ("storing", s.out_until, s.storing),
            )
            if on >= 0
        ]
        if busy:
            now = min(until for until, _ in busy)
            free = {what for until, what in busy if until <= now}
            after = s._replace(
                now=now,
                running=-1 if "running" in free else s.running,
                loading=-1 if "loading" in free else s.loading,
                storing=-1 if "storing" in free else s.storing,
                phase=0,
            )
            yield 0.0, self._without_dead(after), None

    def _without_dead(self, s: _Moment) -> _Moment:
        kept = tuple(p for p in s.places if self._pinned(s, p[0]) or self._wanted(s, p[0]))
        return s._replace(places=kept)

    def _wanted(self, s: _Moment, i: int) -> bool:
        """Whether an operator is still to read it, or it is still to be stored."""
        return bool(self.used_by[i] & ~s.ran) or (self.leaves[i] and not s.stored >> i & 1)

    def _pinned(self, s: _Moment, i: int) -> bool:
        """Whether an engine works on its bytes, or nothing else has what is still wanted."""
        if i in (s.loading, s.storing):
            return True
        if s.running >= 0 and (i in self.reads[s.running] or i in self.writes[s.running]):
            return True
        only = self.problem.lines[i].produced and not s.stored >> i & 1
        return only and self._wanted(s, i)

    def _free_offsets(
        self, s: _Moment, size: int, pinned: set[int]
    ) -> Iterator[tuple[int, list[int]]]:
        """Offsets for so many units, with the tensors that would go."""
        for offset in range(self.units - size + 1):
            met = [i for i, at in s.places if at < offset + size and at + self.size[i] > offset]
            if not any(i in pinned for i in met):
                yield offset, met

    def _computes(self, s: _Moment) -> Iterator[_Next]:
        on_chip = {i for i, _ in s.places if i != s.loading}
        for op, after in enumerate(self.after):
            if s.ran >> op & 1 or after & ~s.ran or not on_chip.issuperset(self.reads[op]):
                continue
            if not self.any_order and op != self.problem.schedule[s.ran.bit_count()]:
                continue
            pinned = {i for i, _ in s.places if self._pinned(s, i)} | set(self.reads[op])
            for places, offsets, gone in self._with_outputs(s, op, 0, pinned):
                until = s.now + self.compute[op]
                yield (
                    0.0,
                    s._replace(
                        places=places, ran=s.ran | 1 << op, computing=until, running=op, phase=1
                    ),
                    EngineStart("compute", op, s.now, offsets, gone),
                )

    def _with_outputs(
        self, s: _Moment, op: int, k: int, pinned: set[int]
    ) -> Iterator[tuple[tuple[tuple[int, int], ...], tuple[int, ...], tuple[int, ...]]]:
        """Places with all outputs from the k-th on: the offsets, and what went for them."""
        if k == len(self.writes[op]):
            yield s.places, (), ()
            return
        i = self.writes[op][k]
        for offset, met in self._free_offsets(s, self.size[i], pinned):
            rest = tuple(sorted([*(p for p in s.places if p[0] not in met), (i, offset)]))
            for places, more, gone in self._with_outputs(
                s._replace(places=rest), op, k + 1, pinned | {i}
            ):
                yield places, (offset, *more), (*met, *gone)

    def _loads(self, s: _Moment) -> Iterator[_Next]:
        on_chip = {i for i, _ in s.places}
        pinned = {i for i in on_chip if self._pinned(s, i)}
        for i, line in enumerate(self.problem.lines):
            host = not line.produced or (s.stored >> i & 1 and i != s.storing)
            if i in on_chip or not host or not self.used_by[i] & ~s.ran:
                continue
            for offset, met in self._free_offsets(s, self.size[i], pinned):
                places = tuple(sorted([*(p for p in s.places if p[0] not in met), (i, offset)]))
                until = s.now + self.seconds.load[i]
                yield (
                    0.0,
                    s._replace(places=places, in_until=until, loading=i, phase=2),
                    EngineStart("load", i, s.now, (offset,), tuple(met)),
                )

    def _stores(self, s: _Moment) -> Iterator[_Next]:
        for i, _ in s.places:
            being_written = s.running >= 0 and i in self.writes[s.running]
            written = self.problem.lines[i].produced and not being_written
            if written and not s.stored >> i & 1 and self._wanted(s, i):
                until = s.now + self.seconds.store[i]
                yield (
                    0.0,
                    s._replace(stored=s.stored | 1 << i, out_until=until, storing=i, phase=3),
                    EngineStart("store", i, s.now),
                )

    def plan(self) -> TimedPlan:
        """The plan that led to the end, in its own order of operators."""
        starts = [node[2] for node in self.path() if node[2] is not None]
        order = tuple(start.what for start in starts if start.kind == "compute")
        problem = replace(self.problem, schedule=order)
        line_of = {line.tensor: i for i, line in enumerate(problem.lines)}
        new = [line_of[line.tensor] for line in self.problem.lines]
        return _StayBuilder(self, problem, new).plan(starts)


class _StayBuilder:
    """Starts become stays: each ends when what works on its bytes last has."""

    def __init__(self, search: MakespanSearch, problem: ScheduleProblem, new: list[int]) -> None:
        self.search, self.new = search, new
        self.problem = problem
        self.open: dict[int, tuple[int, float, bool, float]] = {}
        self.stays: list[TimedStay] = []

    def plan(self, starts: list[EngineStart]) -> TimedPlan:
        search, steps, stores = self.search, [], {}
        for start in starts:
            for i in start.gone:
                self._close(i)
            if start.kind == "compute":
                steps.append(start.at_s)
                until = start.at_s + search.compute[start.what]
                for i, offset in zip(search.writes[start.what], start.offsets, strict=True):
                    self._open(i, offset, start.at_s, False, until)
                for i in search.reads[start.what]:
                    self._keep_until(i, until)
            elif start.kind == "load":
                self._open(start.what, start.offsets[0], start.at_s, True, start.at_s)
            else:
                stores[self.new[start.what]] = start.at_s
                self._keep_until(start.what, start.at_s + search.seconds.store[start.what])
        for i in list(self.open):
            self._close(i)
        return TimedPlan(self.problem, tuple(steps), tuple(self.stays), stores)

    def _open(self, i: int, offset: int, at: float, loaded: bool, until: float) -> None:
        if i in self.open:
            self._close(i)
        self.open[i] = offset * self.search.unit, at, loaded, until

    def _keep_until(self, i: int, until: float) -> None:
        offset, at, loaded, before = self.open[i]
        self.open[i] = offset, at, loaded, max(before, until)

    def _close(self, i: int) -> None:
        if i in self.open:
            offset, at, loaded, until = self.open.pop(i)
            if until > at:  # Else nothing has read what was loaded.
                self.stays.append(TimedStay(self.new[i], offset, at, until, loaded))
