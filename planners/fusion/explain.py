"""What the fused groups of a plan are, and why two of them are not one.

What a group is, is read off its program, so that it holds for any plan, loaded ones too. What it
would cost otherwise comes from the cost model.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from planners.core.boxes import around
from planners.core.graph import Graph
from planners.core.loops import expanded, items_of, round_of
from planners.core.masks import bits
from planners.core.plan import Plan
from planners.core.program import Box, Compute, Instruction, Item, Load, Repeat, Store
from planners.core.units import format_bytes
from planners.fusion.cost.group import GroupModel
from planners.fusion.partition.cost_model import executable
from planners.fusion.partition.lattice import Dag
from planners.fusion.tile.ways import GroupPlan

STEP = re.compile(r"(g\d+) (.+) (\d+)/(\d+)")
LINES = re.compile(r"(g\d+) rows of (.+)")


@dataclass(frozen=True, slots=True)
class FusedGroup:
    """A group as its program runs it: one tile in each of the steps `[start_step, stop_step)`.

    `tile` is the box of `output` that the first tile makes. `lines` are bytes of the line buffers,
    `loads` and `stores` bytes that cross the off-chip interface, all by tensor. Parameters of
    `refilled` are loaded more than once.
    """

    name: str
    operators: tuple[str, ...]
    start_step: int
    stop_step: int
    output: str
    tile: Box
    lines: Mapping[str, int]
    loads: Mapping[str, int]
    stores: Mapping[str, int]
    kept: tuple[str, ...]
    refilled: tuple[str, ...]

    @property
    def tiles(self) -> int:
        return self.stop_step - self.start_step

    @property
    def traffic_bytes(self) -> int:
        return sum(self.loads.values()) + sum(self.stores.values())


@dataclass(frozen=True, slots=True)
class Neighbour:
    """Two groups that share tensors: their traffic apart and as one, within the budget.

    `together_bytes` is None where they cannot run as one, and `need_bytes`, the least buffer for
    both, is None where none would do. `reason` says in words why they are apart.
    """

    here: int
    there: int
    shared: tuple[str, ...]
    apart_bytes: int
    together_bytes: int | None
    need_bytes: int | None
    reason: str


def groups_of(plan: Plan) -> tuple[FusedGroup, ...]:
    """The fused groups of a plan, the first to run first; none where it has no such steps."""
    readings: dict[str, _Reading] = {}
    of_step: list[_Reading | None] = []
    for step, name in enumerate(plan.program.steps):
        match = STEP.fullmatch(name)
        if match:
            reading = readings.setdefault(match[1], _Reading(match[1], step))
            reading.stop_step = step + 1
        of_step.append(readings[match[1]] if match else None)
    if not readings:
        return ()
    offchip = {memory.name for memory in plan.program.memories if memory.offchip}
    for item, times in _counted(items_of(plan.program), of_step):
        group = of_step[item.step]
        if group is None:
            continue
        if isinstance(item, Compute):
            group.ran(item)
        elif isinstance(item, Load) and item.source.memory in offchip:
            _add(group.loads, item.piece.tensor, times * item.source.size_bytes)
        elif isinstance(item, Store) and item.target.memory in offchip:
            _add(group.stores, item.piece.tensor, times * item.source.size_bytes)
    for memory in plan.program.memories:
        match = LINES.fullmatch(memory.name)
        if match and match[1] in readings:
            readings[match[1]].lines[match[2]] = memory.size_bytes or 0
    return tuple(reading.group(plan.graph) for reading in readings.values())


def _counted(
    items: Iterable[Item], of_step: Sequence[_Reading | None], times: int = 1
) -> Iterator[tuple[Instruction, int]]:
    """Instructions, and how often each runs: of a loop within a group, after its first step, those
    of one round."""
    for item in items:
        if not isinstance(item, Repeat):
            yield item, times
        elif item.count:
            begin = min((each.step for each in expanded(round_of(item, 0))), default=0)
            last = expanded(round_of(item, item.count - 1))
            steps = range(begin, max((each.step for each in last), default=0) + 1)
            group = of_step[begin]
            alike = group is not None and begin > group.start_step
            if alike and all(of_step[step] is group for step in steps):
                yield from _counted(item.body, of_step, times * item.count)
            else:
                for number in range(item.count):
                    yield from _counted(round_of(item, number), of_step, times)


@dataclass
class _Reading:
    """A group while its program is read."""

    name: str
    start_step: int
    stop_step: int = 0
    operators: dict[str, None] = field(default_factory=dict)
    first: dict[str, Box] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    loads: dict[str, int] = field(default_factory=dict)
    stores: dict[str, int] = field(default_factory=dict)

    def ran(self, item: Compute) -> None:
        self.operators[item.operator] = None
        if item.step == self.start_step:
            for piece in item.made:
                self.first[piece.tensor] = around(self.first.get(piece.tensor), piece.box)

    def group(self, graph: Graph) -> FusedGroup:
        operators = tuple(sorted(self.operators, key=lambda name: graph.index[name]))
        output = graph.operators[graph.index[operators[-1]]].outputs[0]
        parameters = [t for t in self.loads if graph.tensors[t].kind == "parameter"]
        again = {t for t in parameters if self.loads[t] > graph.size_bytes(t)}
        return FusedGroup(
            self.name,
            operators,
            self.start_step,
            self.stop_step,
            output,
            self.first.get(output, ()),
            self.lines,
            self.loads,
            self.stores,
            tuple(t for t in parameters if t not in again),
            tuple(t for t in parameters if t in again),
        )


def _add(sizes: dict[str, int], tensor: str, size: int) -> None:
    sizes[tensor] = sizes.get(tensor, 0) + size


class Explainer:
    """Why groups are as they are: what they cost, alone and together, within a budget.

    `groups` are masks over `model.graph.operators`, in an order that can run. Costs are of groups
    that leave nothing on chip behind them; `joint`: those of the plan may. Nothing is
    computed before it is needed.
    """

    def __init__(
        self,
        model: GroupModel,
        groups: Sequence[int],
        budget_bytes: int,
        *,
        joint: bool = False,
    ) -> None:
        self.model, self.groups, self.budget_bytes = model, tuple(groups), budget_bytes
        self.joint = joint
        self.dag = Dag.from_graph(model.graph)

    @staticmethod
    def of_plan(plan: Plan) -> Explainer:
        """Of a plan's groups, with the cost model of its options."""
        index = plan.graph.index
        masks = [sum(1 << index[name] for name in g.operators) for g in groups_of(plan)]
        model = GroupModel(plan.graph, plan.machine, plan.options)
        joint = bool(plan.options.get("joint"))
        return Explainer(model, masks, plan.budget_bytes, joint=joint)

    def way(self, group: int) -> GroupPlan | None:
        """The way of least traffic to run a group; None where none fits."""
        return self.model.best(self.groups[group], self.budget_bytes)

    def alone_bytes(self, group: int) -> int | None:
        """The traffic of a group's operators each alone; None where one of them does not fit."""
        ways = [self.model.best(1 << i, self.budget_bytes) for i in bits(self.groups[group])]
        return sum(w.traffic_bytes for w in ways if w) if all(ways) else None

    def neighbours(self, group: int) -> tuple[Neighbour, ...]:
        """Every group that shares a tensor with this one, and why they are two."""
        near = 0
        for i in bits(self.groups[group]):
            near |= self.dag.relatives[i]
        around = [k for k, mask in enumerate(self.groups) if k != group and mask & near]
        return tuple(self._neighbour(group, k) for k in around)

    def why_single(self, group: int) -> str:
        """Why an operator has a group of its own, in a line; empty where it has company."""
        mask = self.groups[group]
        if mask.bit_count() > 1:
            return ""
        i = mask.bit_length() - 1
        name = self.model.graph.operators[i].name
        pairs = [mask | 1 << j for j in bits(self.dag.relatives[i])]
        if not pairs:
            return f"{name} shares no tensor with another operator"
        reasons = [self.model.why_not(pair) for pair in pairs]
        own_reason = next((r for r in reasons if r.startswith(f"{name} (")), "")
        if own_reason:
            return own_reason
        needs = [need for pair in pairs if (need := self._need(pair)) is not None]
        if not needs:
            return next(filter(None, reasons), "no neighbour can be fused with it")
        if min(needs) > self.budget_bytes:
            return f"with any neighbour it {_short(min(needs), self.budget_bytes)}"
        return self._cheaper_alone(i, pairs)

    def _cheaper_alone(self, i: int, pairs: Sequence[int]) -> str:
        """What fusing an operator with its best neighbour alone would save, or cost."""
        changes = []
        for pair in pairs:
            other = (pair & ~(1 << i)).bit_length() - 1
            ways = [self.model.best(m, self.budget_bytes) for m in (pair, 1 << i, 1 << other)]
            if all(ways):
                fused, *apart = (way.traffic_bytes for way in ways if way)
                changes.append((fused - sum(apart), self.model.graph.operators[other].name))
        more, name = min(changes)
        size = format_bytes(abs(more))
        if more >= 0:
            return (
                f"fused with {name} it costs {size} more than alone"
                if more
                else (f"fused with {name} it costs as much as alone")
            )
        k = next(k for k, m in enumerate(self.groups) if m >> self.model.graph.index[name] & 1)
        return f"fused with {name} alone it would save {size}, but {name} is in g{k}"

    def _neighbour(self, here: int, there: int) -> Neighbour:
        one, other = self.groups[here], self.groups[there]
        apart = sum(way.traffic_bytes for k in (here, there) if (way := self.way(k)))
        reason = self._barred(here, there)
        need = None if reason else self._need(one | other)
        way = None if reason else self.model.best(one | other, self.budget_bytes)
        if not reason and way is None:
            reason = _short(need, self.budget_bytes) if need else "there is no way to run them"
        if way is not None:
            reason = self._weighed(here, there, apart, way.traffic_bytes)
        shared = tuple(self._shared(one, other))
        together = way.traffic_bytes if way else None
        return Neighbour(here, there, shared, apart, together, need, reason)

    def _barred(self, here: int, there: int) -> str:
        """Why no budget would do; where a path leaves both, by which operators it goes."""
        mask = self.groups[here] | self.groups[there]
        reason = self.model.why_not(mask)
        through = self.dag.between(mask) & ~mask
        if reason and through and not self.dag.is_convex(mask):
            return f"{reason} by {self._names(through)}"
        return reason

    def _weighed(self, here: int, there: int, apart: int, together: int) -> str:
        """Why groups that would fit as one are two."""
        if together >= apart:
            more = format_bytes(together - apart)
            return f"costs {more} more" if together > apart else "costs as much"
        rest = [m for k, m in enumerate(self.groups) if k not in (here, there)]
        if executable(self.dag, [*rest, self.groups[here] | self.groups[there]]) is None:
            return "saves traffic, but then groups would wait for each other"
        if self.joint:
            return "saves traffic here, but then less can stay on chip around them"
        return "saves traffic: this plan is not the best"

    def _need(self, mask: int) -> int | None:
        """The least buffer of a group; None where it cannot be fused."""
        return min((way.buffer_bytes for way in self.model.staircase(mask)), default=None)

    def _shared(self, one: int, other: int) -> Iterator[str]:
        graph = self.model.graph
        for name in graph.tensors:
            users = sum(1 << i for i in set(graph.consumers[name]))
            if name in graph.producer:
                users |= 1 << graph.producer[name]
            if users & one and users & other:
                yield name

    def _names(self, mask: int) -> str:
        names = [self.model.graph.operators[i].name for i in bits(mask)]
        more = f" and {len(names) - 2} more" if len(names) > 2 else ""
        return ", ".join(names[:2]) + more


def _short(need: int, budget_bytes: int) -> str:
    return f"does not fit: needs {format_bytes(need)} of {format_bytes(budget_bytes)}"
