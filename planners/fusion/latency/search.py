"""The quickest plan found: chains of timed groups, and plans of other objectives.

Whatever the estimates of chains are worth, a plan is only taken for the seconds that the
scoreboard says, so that none is slower than the plans that it looks at beside them: least traffic,
the online rules, an earlier rule, and no fusion. Those of so many tiles that they cannot be written
and timed in the time that is left are not looked at; they would be slow.

The ways that move least fill the memory, and what fills a large one comes late. A part of it that
is soon full is therefore searched too, so that more memory does not make a plan slower.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from planners.core.bounds.floors import ProblemFloors
from planners.core.bounds.late_loads import late_loads_s
from planners.core.graph import Graph
from planners.core.machine import with_scratchpad
from planners.core.program_size import GRACE_S, is_too_slow, refuse_too_slow
from planners.core.progress import Clock
from planners.core.weights import COUNTED
from planners.fusion.baselines.fusers import BASELINES
from planners.fusion.cost.group import GroupModel
from planners.fusion.emit.coarser import count_of
from planners.fusion.emit.laid import LaidGroup, lay_out
from planners.fusion.latency.chains import Chain, Runs
from planners.fusion.latency.exact import FEW_OPERATORS, Enumeration
from planners.fusion.latency.timed import (
    TimedGroups,
    known_groups,
    known_in_less,
    laid_at_ends,
    timed_plan,
)
from planners.fusion.latency.ways import few
from planners.fusion.partition.cost_model import Partition
from planners.fusion.partition.lattice import Dag, by_depth, by_levels
from planners.fusion.search.exact import best_partition
from planners.fusion.search.online import online_partition, size_table

# Of the time that is left: for least traffic, for each rule, for growing runs, for writing and
# timing a plan beside the chains.
TRAFFIC_SHARE, RULE_SHARE, GROWTH_SHARE, WRITING_SHARE = 0.2, 0.1, 0.5, 0.3
SOON, LATE, STEP = 0.01, 0.03, 4
"""Of the floor: a memory that is full in less has no part that is searched; a part that is full in
more is too large for that, and the next one is the fourth part of it."""
LONG_GROUP = 1000  # instructions of a group that is looked at for shorter ways, with little time
ALL_GROUPS = "all plans of fused groups"
IN_PLACES = "all plans of fused groups at the ends of the memory, each enumerated"
LONGER = 2  # times the time that least traffic was searched before: it is searched again
LOOKS = 1.5  # times what a chain like the best takes to be written and timed, is left for that
CLOSE = 1.03  # a chain whose estimate is so many times the best is not written
ROUNDS, CLOSER = 16, 6  # looks at the best chains, and chains that are looked at each time
TIMED_EACH = 2  # of these, timed as a whole


@dataclass(frozen=True)
class QuickestGroups:
    """The quickest plan found, a bound on all in seconds, and one on the traffic of all in bytes.

    `first_s` are the seconds of the plan of least traffic, None where it was not timed; `timed` are
    the plans that were. `is_of_less` says that an earlier search in less memory found the plan.
    """

    plan: TimedGroups
    bound_s: float
    bound_bytes: int
    first_s: float | None
    timed: int
    scope: str
    is_of_less: bool

    @property
    def note(self) -> str:
        """What was looked at, in a line."""
        quickest = f"{self.plan.seconds * 1e3:.6g} ms for the quickest of {self.timed} timed plans"
        if self.is_of_less:
            quickest += ", found before in less memory"
        if self.first_s is None:
            return f"latency: {quickest}; that of least traffic has too many tiles for the time"
        return f"latency: {self.first_s * 1e3:.6g} ms for the plan of least traffic, {quickest}"


def quickest(
    model: GroupModel, budget_bytes: int, clock: Clock, *, double_buffer: bool = True
) -> QuickestGroups:
    """The quickest plan of groups alone within a budget. Raises `BudgetTooSmall`, and `BadInput`
    for one that takes several times the limit to be written and timed."""
    return _QuickerGroups(model, budget_bytes, clock, double_buffer).run()


class _QuickerGroups:
    def __init__(
        self, model: GroupModel, budget_bytes: int, clock: Clock, double_buffer: bool
    ) -> None:
        self.model, self.graph, self.clock = model, model.graph, clock
        self.budget, self.double_buffer = budget_bytes, double_buffer
        self.machine = with_scratchpad(model.machine, budget_bytes)
        self.floors = ProblemFloors(self.graph, self.machine, COUNTED, self.machine.parameters)
        self.limit_s = clock.whole_limit_s
        self.known = known_groups(model, budget_bytes, double_buffer)
        self.best: TimedGroups | None = None
        self._laid_before: dict[tuple[int, ...], tuple[LaidGroup, ...]] = {}
        self.timed, self.first_s = 0, 0.0
        self.bound_s, self.bound_bytes = 0.0, 0

    def run(self) -> QuickestGroups:
        """Chains in a part of the memory and in all of it, plans of other objectives beside them,
        and closer chains, until the bound or the time is over."""
        self.best = self.known.best
        in_less_s = [self._time(laid) for laid in known_in_less(self.known)]
        least = self._least_traffic()
        self.first_s = (
            self.known.each_s * count_of(self._laid(least.groups)) if not self.best else 0.0
        )
        spaces = [Runs(self.known.ways)]
        if part_bytes := self._soon_full():
            spaces.append(Runs(known_groups(self.model, part_bytes, self.double_buffer).ways))
        self._grow(spaces)
        first = None
        for number in range(ROUNDS):
            chains = [(chain, runs) for runs in spaces for chain in runs.chains()]
            chains = sorted(chains, key=lambda each: each[0].done_s)[:CLOSER]
            if not number and self._least_is_sooner(chains):
                first = self._time_groups(least.groups)
            self._look(chains[:TIMED_EACH])
            if not number:
                first = self._look_beside(least, first)
            closer = [
                runs.look_closer([c for c, r in chains if r is runs], self.clock) for runs in spaces
            ]
            if self._done or not any(closer):
                break
        scope = self._enumerate()
        assert self.best is not None
        bound_s = min(self.bound_s, self.best.seconds)
        is_of_less = self.best.seconds in in_less_s
        return QuickestGroups(
            self.best, bound_s, self.bound_bytes, first, self.timed, scope, is_of_less
        )

    def _soon_full(self) -> int:
        """The bytes of a part of the memory that is soon full, and has room for each operator; 0
        where there is no such part."""
        if len(self.graph.operators) <= FEW_OPERATORS:
            return 0
        full_s, floor_s = self.floors.load_s, self.floors.latency_s
        if full_s(self.budget) <= SOON * floor_s:
            return 0
        part = self.budget // STEP
        while full_s(part) > LATE * floor_s:
            part //= STEP
        singles = (1 << i for i in range(len(self.graph.operators)))
        part = max(part, *(self.model.staircase(mask)[0].buffer_bytes for mask in singles))
        return part if 2 * part <= self.budget else 0

    def _grow(self, spaces: Sequence[Runs]) -> None:
        """Time runs in a few orders, in all of the memory, and in a part of it where there is time
        for all of those of an order; operators alone first, so that there is a chain.

        The time to write and time a chain is left.
        """
        dag = Dag.of(self.graph)
        like_s = self.known.each_s * count_of(self.best.laid) if self.best else self.first_s
        share = GROWTH_SHARE if self.best else WRITING_SHARE
        look_s = min(LOOKS * like_s, share * self.clock.left_s)
        alone = (1 << i for i in range(dag.count))
        spaces[0].time(alone, self.clock.part(self.clock.left_s - look_s))
        orders: list[list[int]] = []
        for order in (list(range(dag.count)), by_levels(dag), by_depth(dag)):
            is_late = self._done or self.clock.left_s + GRACE_S < self.first_s
            if order not in orders and not (orders and is_late):
                orders.append(order)
                for runs in spaces:
                    left_s = self.clock.left_s
                    part = self.clock.part(min(GROWTH_SHARE * left_s, left_s - look_s))
                    runs.grow(order, part)
                    if part.ended:
                        break

    def _enumerate(self) -> str:
        """Look at all plans of a small problem; of which plans the bound holds, in words."""
        if len(self.graph.operators) > FEW_OPERATORS or self._done or not self.best:
            return ALL_GROUPS
        every = Enumeration(self.model, self.budget, double_buffer=self.double_buffer)
        found = every.best(self.best.seconds, self.clock)
        self.timed += every.timed
        self.best = self.known.best = found.best or self.best
        if not found.complete:
            return ALL_GROUPS
        self.bound_s = self.best.seconds
        return IN_PLACES

    @property
    def _done(self) -> bool:
        reached = self.best is not None and self.best.seconds <= self.bound_s
        return reached or self.clock.expired()

    def _least_traffic(self) -> Partition:
        """The groups of least traffic, and the bounds that follow from it."""
        part, known = self.clock.share(TRAFFIC_SHARE), self.known
        if known.least is None or (known.least.gap and LONGER * known.least_s <= part.left_s):
            known.least_s = part.left_s
            known.least = best_partition(self.model, self.graph, self.budget, part)
        least = known.least
        self.bound_bytes = least.bound_bytes
        late_s = late_loads_s(self.floors, self.budget)
        self.bound_s = max(self.floors.latency_of(least.bound_bytes), late_s)
        return least

    def _look_beside(self, least: Partition, first: float | None) -> float | None:
        """Time the plans of other objectives and rules; the seconds of that of least traffic, which
        is the first and may be known."""
        first = self._time_groups(least.groups) if first is None else first
        for rule in (self._online, BASELINES["no_fusion"], BASELINES["efficient_s"]):
            if self._done:
                break
            part = self.clock.part(RULE_SHARE * self.clock.left_s)
            self._time_groups(rule(self.model, self.graph, self.budget, clock=part).groups)
        return first

    def _online(
        self, model: GroupModel, graph: Graph, budget_bytes: int, *, clock: Clock
    ) -> Partition:
        table = size_table(model, graph, clock.part(0.5 * clock.left_s))
        return online_partition(model, graph, budget_bytes, clock, table)

    def _time_groups(self, groups: Sequence[int]) -> float | None:
        """Time groups in their ways of least traffic; None where there is no time for it.

        Where there is no plan yet, long ones run in shorter ways.
        """
        laid = self._laid(groups)
        if self.best is None and self._is_long(laid):
            both = zip(groups, laid, strict=True)
            laid = tuple([self._shorter(mask, each) for mask, each in both])
            refuse_too_slow(count_of(laid), self.known.each_s, self.limit_s)
        return None if self._too_long(laid) else self._time(laid)

    def _laid(self, groups: Sequence[int]) -> tuple[LaidGroup, ...]:
        """Groups in their ways of least traffic."""
        if (known := self._laid_before.get(tuple(groups))) is not None:
            return known
        ways = [self.model.roomiest(mask, self.budget) for mask in groups]
        pairs = [(self.model.group(m), way) for m, way in zip(groups, ways) if way is not None]
        laid = lay_out(self.graph, pairs, self.budget, double_buffer=self.double_buffer)
        self._laid_before[tuple(groups)] = laid
        return laid

    def _shorter(self, mask: int, laid: LaidGroup) -> LaidGroup:
        """A group in the shortest of a few ways."""
        if count_of([laid]) <= LONG_GROUP:
            return laid
        ways = few(self.model.ways(mask), self.budget, more=False)
        pairs = [(laid.group, way) for way in ways]
        others = lay_out(self.graph, pairs, self.budget, double_buffer=self.double_buffer)
        named = [replace(other, name=laid.name) for other in others]
        return min([laid, *named], key=lambda each: count_of([each]))

    def _is_long(self, laid: Sequence[LaidGroup]) -> bool:
        """Whether a plan takes more of the time than it may to be written and timed."""
        return self.known.each_s * count_of(laid) > WRITING_SHARE * self.clock.left_s

    def _too_long(self, laid: Sequence[LaidGroup]) -> bool:
        """Whether a plan is left out for its length: the first only where it takes too long."""
        if self.best is None:
            return is_too_slow(count_of(laid), self.known.each_s, self.limit_s)
        if not self._is_long(laid):
            return False
        self.clock.end()
        return True

    def _least_is_sooner(self, chains: Sequence[tuple[Chain, Runs]]) -> bool:
        """Whether there is no plan yet, nor time for a chain, and least traffic is shorter."""
        if self.best is not None or not chains:
            return False
        count = count_of(laid_at_ends(chains[0][1].ways, chains[0][0].links))
        return max(self.first_s, self.clock.left_s) < self.known.each_s * count

    def _look(self, chains: Sequence[tuple[Chain, Runs]]) -> None:
        """Time chains, from address 0 and at the ends of the memory."""
        for chain, runs in chains:
            if self.best is not None and chain.done_s > CLOSE * self.best.seconds:
                continue
            at_ends = laid_at_ends(runs.ways, chain.links)
            seconds = self.known.each_s * count_of(at_ends)
            if not self._done and (seconds < self.clock.left_s or not self._too_long(at_ends)):
                self._time(at_ends)
            links = enumerate(chain.links)
            plain = [runs.ways.laid(f"g{k}", link.mask, link.way) for k, link in links]
            if not (self._done or self._too_long(plain)):
                self._time(plain)

    def _time(self, laid: Sequence[LaidGroup]) -> float:
        before_s = self.clock.elapsed_s
        plan = timed_plan(self.graph, self.machine, laid, self.budget)
        self.timed += 1
        self.known.each_s = (self.clock.elapsed_s - before_s) / max(1, count_of(laid))
        if self.best is None or plan.seconds < self.best.seconds:
            self.best = self.known.best = plan
        self.clock.report(f"latency {self.best.seconds * 1e3:.4g} ms")
        return plan.seconds
