"""Parts of a network as fused groups between host and host (Optimus), each found once.

Where bytes are worth more than the work, some of what a part makes is computed again (`again`):
chain after chain of operators, the one that may save most first, as long as the plan gets better.
An operator that fused groups cannot cut into what fits runs alone, box by box (`boxes`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from planners.core.compute_seconds import ComputeSeconds
from planners.core.errors import BudgetTooSmall, SpillwayError, WishesConflict
from planners.core.graph import Graph, Operator
from planners.core.machine import Machine
from planners.core.plan import Plan
from planners.core.program import Program
from planners.core.progress import GRACE_S, MOST_SHARE, Clock
from planners.core.registry import FUSION
from planners.core.registry import planner as find_planner
from planners.joined.concatenate import consecutive
from planners.joined.isomorphic import PartLook, PartNames, look_of, renamed
from planners.joined.part_search import PartSearch
from planners.joined.recompute import ChainAgain, chains, of_originals, with_copies
from planners.joined.segments import Segment, writing_s
from planners.joined.subgraph import part_of
from planners.joined.tiled_operator import Grid, OperatorBoxes
from planners.joined.wishes import of_part
from planners.simulator.simulate import simulate
from planners.wishes.language import Wish

OBJECTIVE = {"latency": "latency", "energy": "traffic", "traffic": "traffic"}
"""What fused groups are asked for, by what is asked."""
CLOSE = 1e-9


@dataclass(frozen=True, slots=True)
class FusedPart:
    """The program of a part, the operators that run again in it, and those that run by boxes."""

    program: Program
    again: tuple[str, ...] = ()
    boxed: tuple[str, ...] = ()


@dataclass
class FusedParts:
    """The parts of one network in one budget; `copies`: operators may run again.

    Where parameters are read `in_place` none does: each time would read them again.
    """

    graph: Graph
    machine: Machine
    budget_bytes: int
    objective: str
    clock: Clock
    wishes: tuple[Wish, ...] = ()
    in_place: bool = False
    copies: bool = True
    given: Plan | None = None
    """Of all of the network, made before: it is not searched again."""
    searches: dict[tuple[int, int], PartSearch[FusedPart]] = field(default_factory=dict)
    """By the range of operators."""
    by_look: dict[Hashable, tuple[PartLook, PartSearch[FusedPart]]] = field(default_factory=dict)
    """Of isomorphic parts one is planned."""
    looks: dict[tuple[int, int], PartLook] = field(default_factory=dict)
    grids: dict[Hashable, list[Grid]] = field(default_factory=dict)
    """Of boxes, for operators by their looks."""
    conflict: WishesConflict | None = None
    """Why all of the network as fused groups cannot keep to the wishes."""
    too_small: BudgetTooSmall | None = None
    """Why all of the network has no fused groups."""

    def find(self, first: int, stop: int, clock: Clock) -> FusedPart | None:
        """Operators `[first, stop)` as fused groups, None where they have none; searched again
        where the clock has more work than the search before had."""
        search = self.searches.get((first, stop))
        if search is None or not search.is_enough(clock):
            search = self.searches[first, stop] = self._search(first, stop, clock)
        return search.result(clock)

    def part(self, first: int, stop: int) -> FusedPart | None:
        """Operators `[first, stop)` as fused groups, as far as they were searched."""
        search = self.searches.get((first, stop))
        return None if search is None else search.part

    def work(self, first: int, stop: int) -> float:
        """The work that the search of a part had; none where it was not searched."""
        search = self.searches.get((first, stop))
        return 0 if search is None else search.work

    def look(self, first: int, stop: int) -> PartLook:
        """The look of operators `[first, stop)`."""
        if (first, stop) not in self.looks:
            self.looks[first, stop] = look_of(part_of(self.graph, first, stop))
        return self.looks[first, stop]

    def unsearched(self, segments: Iterable[Segment], clock: Clock) -> list[Segment]:
        """The segments of fused groups that are to be searched: of isomorphic ones the first."""
        left, looks = list[Segment](), set[Hashable]()
        for segment in segments:
            key = segment.first, segment.stop
            if not segment.fused or self._is_enough(self.searches.get(key), clock):
                continue
            if not self.wishes:
                look = self.look(*key).key
                isomorphic = self.by_look.get(look)
                if look in looks or (isomorphic and self._is_enough(isomorphic[1], clock)):
                    continue
                looks.add(look)
            left.append(segment)
        return left

    def _is_enough(self, search: PartSearch[FusedPart] | None, clock: Clock) -> bool:
        return search is not None and search.is_enough(clock)

    def _search(self, first: int, stop: int, clock: Clock) -> PartSearch[FusedPart]:
        whole = (first, stop) == (0, len(self.graph.operators))
        part = self.graph if whole else part_of(self.graph, first, stop)
        if whole or self.wishes:
            return PartSearch.of_work(
                clock, lambda part_clock: self._plan_part(part, first, part_clock)
            )
        look = self.look(first, stop)
        if look.key in self.by_look:
            other, search = self.by_look[look.key]
            if search.is_enough(clock):
                renamed_part = search.part and _renamed(other, search.part, look)
                return PartSearch(renamed_part, search.work, search.finished)
        search = PartSearch.of_work(
            clock, lambda part_clock: self._plan_part(part, first, part_clock)
        )
        self.by_look[look.key] = look, search
        return search

    def _plan_part(self, part: Graph, first: int, clock: Clock) -> FusedPart | None:
        """A part of the network, or all of it, that begins with an operator."""
        whole = len(part.operators) == len(self.graph.operators)
        chains_again = [chain for chain in chains(part) if self._is_worth(part, chain)]
        if whole and self.given is not None:
            return self._with_copies(part, self.given, chains_again, clock, clock.share(0.5))
        # Chains that run again seldom make a plan quicker: half of the work is for them elsewhere.
        halved = chains_again and self.objective != "latency"
        plan_clock = clock.share(0.5 if halved else 1.0)
        try:
            plan = self._plan(part, plan_clock)
        except WishesConflict as error:
            self.conflict = error if whole else self.conflict
            return None
        except BudgetTooSmall as error:
            around = self._around(part, first, error, clock)
            if around is None and whole and not self.clock.expired():
                self.too_small = error
            return around
        except SpillwayError:
            return None
        return self._with_copies(part, plan, chains_again, clock, plan_clock)

    def _around(
        self, part: Graph, first: int, error: BudgetTooSmall, clock: Clock
    ) -> FusedPart | None:
        """The part with the operator that does not fit, and its like, alone and by boxes."""
        at = part.index.get(error.operator)
        if at is None:
            return None
        programs, again, boxed, begun = list[Program](), list[str](), list[str](), 0
        alone = [p for p, op in enumerate(part.operators) if p == at or self._alike(op, error)]
        by_boxes = dict[int, Program]()
        for position in alone:  # First: where one has none, there is nothing to plan around it.
            if (program := self._by_boxes(part.operators[position])) is None:
                return None
            by_boxes[position] = program
        for position in (*alone, len(part.operators)):
            if (
                self.clock.elapsed_s > self.clock.whole_limit_s + GRACE_S
            ):  # No plan without the rest.
                return None
            if begun < position:
                some, rest = position - begun, len(part.operators) - begun
                inside_clock = clock.share(some / len(part.operators))
                inside_clock = inside_clock.of_time(MOST_SHARE * some / rest)
                inside = self.find(first + begun, first + position, inside_clock)
                if inside is None:
                    return None
                programs.append(inside.program)
                again += inside.again
                boxed += inside.boxed
            if position in by_boxes:
                programs.append(by_boxes[position])
                boxed.append(part.operators[position].name)
            begun = position + 1
        joined_program = consecutive(programs, self.machine, self.budget_bytes)
        return FusedPart(joined_program, tuple(again), tuple(boxed))

    def _alike(self, op: Operator, error: BudgetTooSmall) -> bool:
        """Whether an operator will not fit either: as one that did not, with as many parameters."""
        other = self.graph.operators[self.graph.index[error.operator]]
        ranks = [len(self.graph.tensors[each.outputs[0]].shape) for each in (op, other)]
        if op.kind != other.kind or ranks[0] != ranks[1]:
            return False
        sizes = [sum(map(self.graph.size_bytes, each.parameters)) for each in (op, other)]
        if not sizes[1]:
            return self._look(op) == self._look(other)
        return sizes[0] >= min(self.budget_bytes, sizes[1])

    def _look(self, op: Operator) -> Hashable:
        """What the boxes of an operator follow from."""
        shapes = tuple(
            self.graph.tensors[t].shape for t in (*op.inputs, *op.parameters, *op.outputs)
        )
        return op.kind, op.look, op.slide, shapes, self.graph.types_of(op)

    def _by_boxes(self, op: Operator) -> Program | None:
        """An operator box by box; None where it has none, or the time is over."""
        boxes = OperatorBoxes(
            self.graph, self.machine, self.budget_bytes, op, in_place=self.in_place
        )
        look = self._look(op)
        if look not in self.grids:
            self.grids[look] = boxes.best(self.objective, self.clock)
        return boxes.program(self.grids[look])

    def _with_copies(
        self,
        part: Graph,
        plan: Plan,
        chains_again: list[ChainAgain],
        clock: Clock,
        plan_clock: Clock,
    ) -> FusedPart:
        """The part with each chain run again that makes it better, each in half of the work that
        is left, as long as its plan without copies took no more than is left."""
        value, chosen, best = self._value(plan), list[ChainAgain](), FusedPart(plan.program)
        for chain in chains_again:
            if clock.expired() or plan_clock.looks > clock.looks_left:
                clock.postpone()
                break
            network, names = with_copies(part, [*chosen, chain])
            with suppress(SpillwayError):
                other = self._plan(network, clock.share(0.5))
                other_value = self._value(other)
                if other_value >= value * (1 - CLOSE) or self._is_too_long(other, best):
                    continue
                program = of_originals(other.program, names)
                if program is not None:
                    copied = tuple(names[op.name] for op in network.operators if op.name in names)
                    value, best = other_value, FusedPart(program, copied)
                    chosen.append(chain)
        return best

    def _is_too_long(self, plan: Plan, best: FusedPart) -> bool:
        """Whether a program takes longer to judge than the best one, and than there is time."""
        seconds = writing_s(plan.program)
        return seconds > writing_s(best.program) and not self.clock.allows(seconds)

    def _plan(self, part: Graph, clock: Clock) -> Plan:
        options: dict[str, Any] = {
            "objective": OBJECTIVE[self.objective],
            "time_limit": clock.option_s,
        }
        if wished := of_part(self.wishes, part):
            options |= {"objective": "traffic", "wishes": wished}
        elif self.objective != "latency":
            options["joint"] = True
        return find_planner(FUSION).plan(
            part, self.machine, self.budget_bytes, options, clock.within
        )

    def _is_worth(self, part: Graph, chain: ChainAgain) -> bool:
        """Whether what a chain saves off chip is worth its work, by what is asked."""
        if self.wishes or self.in_place or not self.copies:
            return False
        ops = [part.operators[position] for position in chain.positions]
        macs = sum(op.macs for op in ops)
        host, machine = self.machine.memory(self.machine.offchip), self.machine
        if self.objective == "latency":
            again_s = ComputeSeconds(part, machine).macs_s(macs, ops)
            return chain.saved_bytes / host.read_bytes_per_s > again_s
        if self.objective == "energy":
            return chain.saved_bytes * host.read_pj_per_byte > macs * machine.mac_pj
        return True

    def _value(self, plan: Plan) -> float:
        """Bytes, joules or seconds: less is better."""
        if self.objective == "traffic":
            return plan.claims.offchip_bytes
        trace = simulate(plan)
        return trace.energy_j if self.objective == "energy" else trace.makespan_s


def _renamed(look: PartLook, part: FusedPart, other: PartLook) -> FusedPart:
    """What was found for a part, for another of the same look."""
    names = PartNames.between(look, other)
    copied = tuple(names.operators[name] for name in part.again)
    boxed = tuple(names.operators[name] for name in part.boxed)
    return FusedPart(renamed(part.program, names), copied, boxed)
