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
from planners.core.portfolio import Portfolio, by_method
from planners.core.program_size import EACH_S, refuse_too_slow
from planners.core.progress import Clock
from planners.core.weights import COUNTED
from planners.fusion.baselines.fusers import BASELINES
from planners.fusion.cost.group import GroupModel
from planners.fusion.emit.coarser import count_of
from planners.fusion.emit.laid import LaidGroup, lay_out
from planners.fusion.latency.chains import Chain, Link, Runs
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
from planners.fusion.search.online import online_partition, size_table

GROWTH_SHARE = 0.9
"""Of the work of a turn, for timing the runs of each order; chains of them have the rest."""
# Looks at the clock: for groups of least traffic at first, for each rule, and for each strategy in
# the first round; a plan that is written and timed counts as one for so many instructions.
TRAFFIC_WORK, RULE_WORK, FIRST_WORK, INSTRUCTIONS_A_LOOK = 256, 64, 256, 200
WRITING_SHARE = 0.1
"""Of the time limit, the most for a plan to be written and timed."""
SOON, LATE, STEP = 0.01, 0.03, 4
"""Of the floor: a memory that is full in less has no part that is searched; a part that is full in
more is too large for that, and the next one is the fourth part of it."""
LONG_GROUP = 1000  # instructions of a group that is looked at for shorter ways, with little time
LONG_PLAN = 16_000  # instructions of a plan whose shorter ways are timed first
FAR_FEWER = 3  # times the tiles of operators alone, with which groups are not timed first
ALL_GROUPS = "all plans of fused groups"
IN_PLACES = "all plans of fused groups at the ends of the memory, each enumerated"
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
            return f"latency: {quickest}; that of least traffic was not timed"
        return f"latency: {self.first_s * 1e3:.6g} ms for the plan of least traffic, {quickest}"


def quickest(
    model: GroupModel, budget_bytes: int, clock: Clock, *, double_buffer: bool = True
) -> QuickestGroups:
    """The quickest plan of groups alone within a budget. Raises `BudgetTooSmall`, and `BadInput`
    for one that takes several times the limit to be written and timed."""
    search = LatencySearch(model, budget_bytes, clock, double_buffer)
    portfolio = Portfolio(STRATEGIES, value=lambda plan: (plan.seconds,), first_work=FIRST_WORK)
    portfolio.solve(search, clock, search.begin())
    return search.result()


class LatencySearch:
    """The quickest plan so far, and what was learned on the way."""

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
        self.timed = 0
        self.first_s: float | None = None
        self.bound_s, self.bound_bytes = 0.0, 0
        self.scope = ALL_GROUPS
        self._in_less_s: list[float] = []
        self._spaces = [Runs(self.known.ways)]
        if part_bytes := self._soon_full():
            self._spaces.append(Runs(known_groups(model, part_bytes, double_buffer).ways))
        dag = Dag.from_graph(self.graph)
        self._alone = [1 << i for i in range(dag.count)]
        self._orders: list[list[int]] = []
        for order in (list(range(dag.count)), by_levels(dag), by_depth(dag)):
            if order not in self._orders:
                self._orders.append(order)
        self._looked: set[tuple[int, tuple[Link, ...]]] = set()
        self._rules = [self._online, BASELINES["no_fusion"], BASELINES["efficient_s"]]

    @property
    def bound(self) -> float:
        """What no plan takes less than, in seconds."""
        return self.bound_s

    def begin(self) -> TimedGroups:
        """The quickest of the plans that are known, and of that of least traffic, which is the
        first: there is a plan, whatever the time."""
        self.best = self.known.best
        self._in_less_s = [self._time(laid) for laid in known_in_less(self.known)]
        groups = self._of_least_traffic(self.clock.work(TRAFFIC_WORK, bounds=False))
        laid = self._laid(groups)
        if self._too_long(laid) or count_of(laid) > LONG_PLAN:
            self._time(self._shortest(groups))
        else:
            self._time_groups(groups)
        assert self.best is not None
        return self.best

    def result(self) -> QuickestGroups:
        """The best, with what it is to be compared with."""
        assert self.best is not None
        bound_s = min(self.bound_s, self.best.seconds)
        is_of_less = self.best.seconds in self._in_less_s
        return QuickestGroups(
            self.best,
            bound_s,
            self.bound_bytes,
            self.first_s,
            self.timed,
            self.scope,
            is_of_less,
        )

    def by_least_traffic(self, clock: Clock) -> None:
        """The groups of least traffic, as far as they are found, timed; and bounds of all plans."""
        seconds = self._time_groups(self._of_least_traffic(clock))
        self.first_s = self.first_s if seconds is None else seconds

    def _of_least_traffic(self, clock: Clock) -> tuple[int, ...]:
        """The groups of least traffic, as far as they are found; and bounds of all plans."""
        (least,) = self.known.partitions.run(clock)
        self.bound_bytes = max(self.bound_bytes, least.bound_bytes)
        late_s = late_loads_s(self.floors, self.budget)
        self.bound_s = max(self.bound_s, self.floors.latency_of(least.bound_bytes), late_s)
        return least.groups

    def by_chains(self, clock: Clock) -> None:
        """Runs in a few orders, in a part of the memory and in all of it, timed by themselves;
        chains of them, and more ways for the groups of the best."""
        self._grow(clock.share(GROWTH_SHARE))
        for _ in range(ROUNDS):
            chains = [(chain, runs) for runs in self._spaces for chain in runs.chains()]
            chains = sorted(chains, key=lambda each: each[0].done_s)[:CLOSER]
            self._look(chains[:TIMED_EACH], clock)
            before_a_plan = self._before_a_plan(clock)
            closer = [
                runs.look_closer([c for c, r in chains if r is runs], before_a_plan)
                for runs in self._spaces
            ]
            if self._done(clock) or not any(closer):
                break

    def _grow(self, clock: Clock) -> None:
        """Time operators alone, so that there is a chain; then the runs of each order, in each part
        of the memory. What was timed in an earlier turn is not timed again."""
        clock = self._before_a_plan(clock)
        self._spaces[0].time(self._alone, clock)
        for order in self._orders:
            for runs in self._spaces:
                runs.grow(order, clock)

    def _before_a_plan(self, clock: Clock) -> Clock:
        """A clock that leaves the time in which a plan is written and timed: the first one took
        longer than others do."""
        assert self.best is not None
        each_s = self.known.each_s if self.timed > 1 else min(EACH_S, self.known.each_s)
        return clock.keeping(each_s * count_of(self.best.laid))

    def by_rules(self, clock: Clock) -> None:
        """Plans of other objectives and rules, each timed once."""
        while self._rules and not clock.expired():
            rule = self._rules.pop(0)
            part = clock.work(RULE_WORK)
            self._time_groups(rule(self.model, self.graph, self.budget, clock=part).groups)

    def by_enumeration(self, clock: Clock) -> None:
        """All plans of a small problem."""
        assert self.best is not None
        if len(self.graph.operators) > FEW_OPERATORS:
            return
        every = Enumeration(self.model, self.budget, double_buffer=self.double_buffer)
        enumerated = every.best(self.best.seconds, clock)
        self.timed += every.timed
        self.best = self.known.best = enumerated.best or self.best
        if enumerated.complete:
            self.bound_s, self.scope = self.best.seconds, IN_PLACES

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

    def _done(self, clock: Clock) -> bool:
        reached = self.best is not None and self.best.seconds <= self.bound_s
        return reached or clock.expired()

    def _online(
        self, model: GroupModel, graph: Graph, budget_bytes: int, *, clock: Clock
    ) -> Partition:
        table = size_table(model, graph, clock.among(2))
        return online_partition(model, graph, budget_bytes, clock, table)

    def _time_groups(self, groups: Sequence[int]) -> float | None:
        """Time groups in their ways of least traffic; None where these are too long."""
        laid = self._laid(groups)
        return None if self._too_long(laid) else self._time(laid)

    def _shortest(self, groups: Sequence[int]) -> tuple[LaidGroup, ...]:
        """Groups in ways of few tiles; the operators alone where these have far fewer. Raises
        `ProgramTooLong` where even that is too many."""
        together, alone = self._in_few_tiles(groups), self._in_few_tiles(self._alone)
        laid = alone if count_of(together) > FAR_FEWER * count_of(alone) else together
        refuse_too_slow(count_of(laid), EACH_S, self.limit_s)
        return laid

    def _in_few_tiles(self, groups: Sequence[int]) -> tuple[LaidGroup, ...]:
        both = zip(groups, self._laid(groups), strict=True)
        return tuple([self._shorter(mask, each) for mask, each in both])

    def _laid(self, groups: Sequence[int]) -> tuple[LaidGroup, ...]:
        """Groups in their ways of least traffic."""
        if (before := self._laid_before.get(tuple(groups))) is not None:
            return before
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

    def _too_long(self, laid: Sequence[LaidGroup]) -> bool:
        """Whether a plan takes more of the limit than it may to be written and timed, or more than
        is left."""
        count = count_of(laid)
        if EACH_S * count > WRITING_SHARE * self.limit_s:
            return True
        return self.best is not None and not self.clock.allows(self.known.each_s * count)

    def _look(self, chains: Sequence[tuple[Chain, Runs]], clock: Clock) -> None:
        """Time chains, from address 0 and at the ends of the memory; each once."""
        for chain, runs in chains:
            key = id(runs), tuple(chain.links)
            if key in self._looked or self._done(clock):
                continue
            if self.best is not None and chain.done_s > CLOSE * self.best.seconds:
                continue
            self._looked.add(key)
            at_ends = laid_at_ends(runs.ways, chain.links)
            links = enumerate(chain.links)
            plain = [runs.ways.laid(f"g{k}", link.mask, link.way) for k, link in links]
            for laid in (at_ends, plain):
                if not (self._done(clock) or self._too_long(laid)):
                    clock.spend(count_of(laid) // INSTRUCTIONS_A_LOOK)
                    self._time(laid)

    def _time(self, laid: Sequence[LaidGroup]) -> float:
        before_s = self.clock.elapsed_s
        plan = timed_plan(self.graph, self.machine, laid, self.budget)
        self.timed += 1
        self.known.each_s = (self.clock.elapsed_s - before_s) / max(1, count_of(laid))
        if self.best is None or plan.seconds < self.best.seconds:
            self.best = self.known.best = plan
        self.clock.report(f"latency {self.best.seconds * 1e3:.4g} ms")
        return plan.seconds


STRATEGIES = (
    by_method("chains", "groups by their own time", LatencySearch.by_chains),
    by_method("rules", "never slower than what is simple", LatencySearch.by_rules),
    by_method("least traffic", "where bytes bind, and for bounds", LatencySearch.by_least_traffic),
    by_method("all plans", "small problems are settled", LatencySearch.by_enumeration),
)
