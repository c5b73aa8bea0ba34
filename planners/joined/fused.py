"""Parts of a network as fused groups between host and host (Optimus), each found once.

Where bytes are worth more than the work, some of what a part makes is computed again (`again`):
chain after chain of operators, the one that may save most first, as long as the plan gets better.
An operator that fused groups cannot cut into what fits runs alone, box by box (`boxes`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from math import inf
from typing import Any

from planners.constraints.language import Wish
from planners.core.compute_seconds import ComputeSeconds
from planners.core.errors import BudgetTooSmall, SpillwayError, WishesConflict
from planners.core.graph import Graph, Operator
from planners.core.machine import Machine
from planners.core.plan import Plan
from planners.core.program import Program
from planners.core.program_size import GRACE_S
from planners.core.progress import Clock, now
from planners.core.registry import FUSION
from planners.core.registry import planner as find_planner
from planners.joined.concatenate import consecutive
from planners.joined.isomorphic import PartLook, PartNames, look_of, renamed
from planners.joined.recompute import ChainAgain, chains, of_originals, with_copies
from planners.joined.segments import Stretch, found_s, known_s, written_s
from planners.joined.subgraph import part_of
from planners.joined.tiled_operator import Grid, OperatorBoxes
from planners.joined.wishes import of_part
from planners.simulator.simulate import simulate

LEAST_S = 0.3
FIRST_SHARE = 0.6
"""Of a part's time for its plan without copies, where it has chains that may run again and it is
not seconds that count: few of them make a plan quicker."""
AGAIN_SHARE = 0.25
"""Of all the time that is left, for a plan with one more chain that runs again: what is found in
longer is longer to write and to judge too."""
SEVERAL = 3.0
"""Time is kept for more than one way to plan a part where there is so many times what one takes,
about."""
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
    known: dict[tuple[int, int], FusedPart | None] = field(default_factory=dict)
    alike: dict[Hashable, tuple[PartLook, FusedPart]] = field(default_factory=dict)
    """Of parts by their looks: of those that are alike one is planned."""
    looks: dict[tuple[int, int], PartLook] = field(default_factory=dict)
    grids: dict[Hashable, list[Grid]] = field(default_factory=dict)
    """Of boxes, for operators by their looks."""
    conflict: WishesConflict | None = None
    """Why all of the network as fused groups cannot keep to the wishes."""
    too_small: BudgetTooSmall | None = None
    """Why all of the network has no fused groups."""

    def find(self, first: int, stop: int, limit_s: float = inf) -> FusedPart | None:
        """Operators `[first, stop)` as fused groups, found in a limit where they are not known;
        None where they have none."""
        if (first, stop) not in self.known:
            self.known[first, stop] = self._found(first, stop, max(LEAST_S, limit_s))
        return self.known[first, stop]

    def look(self, first: int, stop: int) -> PartLook:
        """The look of operators `[first, stop)`."""
        if (first, stop) not in self.looks:
            self.looks[first, stop] = look_of(part_of(self.graph, first, stop))
        return self.looks[first, stop]

    def unknown(self, found: Iterable[Stretch]) -> list[Stretch]:
        """The stretches of fused groups that are still to be found: of those that are alike one."""
        fused = [s for s in found if s.fused and (s.first, s.stop) not in self.known]
        if self.wishes:
            return fused
        first = {self.look(s.first, s.stop).key: s for s in reversed(fused)}
        return [s for key, s in first.items() if key not in self.alike]

    def _found(self, first: int, stop: int, limit_s: float) -> FusedPart | None:
        whole = (first, stop) == (0, len(self.graph.operators))
        part = self.graph if whole else part_of(self.graph, first, stop)
        if whole or self.wishes:
            return self._planned(part, first, limit_s)
        look = self.look(first, stop)
        if look.key in self.alike:
            return _renamed(*self.alike[look.key], look)
        found = self._planned(part, first, limit_s)
        if found is not None:
            self.alike[look.key] = look, found
        return found

    def _planned(self, part: Graph, first: int, limit_s: float) -> FusedPart | None:
        """A part of the network, or all of it, that begins with an operator."""
        began, whole = now(), len(part.operators) == len(self.graph.operators)
        again = [chain for chain in chains(part) if self._is_worth(part, chain)]
        stretch = Stretch(first, first + len(part.operators))
        once_s = found_s(stretch) + written_s(self.graph, stretch, self.budget_bytes)
        several = limit_s > SEVERAL * once_s
        share = FIRST_SHARE if again and several and self.objective != "latency" else 1.0
        if whole and self.given is not None:
            return self._with_copies(part, self.given, again, once_s, limit_s)
        try:
            plan = self._plan(part, share * limit_s)
        except WishesConflict as error:
            self.conflict = error if whole else self.conflict
            return None
        except BudgetTooSmall as error:
            found = self._around(part, first, error, limit_s)
            if found is None and whole and not self.clock.expired():
                self.too_small = error
            return found
        except SpillwayError:
            return None
        took_s = now() - began
        return self._with_copies(part, plan, again, took_s, limit_s - took_s)

    def _around(
        self, part: Graph, first: int, error: BudgetTooSmall, limit_s: float
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
            if self.clock.expired():
                return None
            if begun < position:
                share = (position - begun) / len(part.operators)
                inside = self.find(first + begun, first + position, share * limit_s)
                if inside is None:
                    return None
                programs.append(inside.program)
                again += inside.again
                boxed += inside.boxed
            if position in by_boxes:
                programs.append(by_boxes[position])
                boxed.append(part.operators[position].name)
            begun = position + 1
        made = consecutive(programs, self.machine, self.budget_bytes)
        return FusedPart(made, tuple(again), tuple(boxed))

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
        self, part: Graph, plan: Plan, again: list[ChainAgain], took_s: float, limit_s: float
    ) -> FusedPart:
        """The part with each chain run again that makes it better, while there is as much time as
        its plan without copies took."""
        began = now()
        worth, chosen, found = self._worth(plan), list[ChainAgain](), FusedPart(plan.program)
        for chain in again:
            left_s = limit_s - (now() - began)
            if left_s < took_s or self.clock.stopped:
                break
            network, names = with_copies(part, [*chosen, chain])
            with suppress(SpillwayError):
                other = self._plan(network, min(left_s, AGAIN_SHARE * self.clock.left_s))
                value = self._worth(other)
                if value >= worth * (1 - CLOSE) or self._much_longer(other.program, found.program):
                    continue
                program = of_originals(other.program, names)
                if program is not None:
                    told = tuple(names[op.name] for op in network.operators if op.name in names)
                    worth, found = value, FusedPart(program, told)
                    chosen.append(chain)
        return found

    def _much_longer(self, program: Program, other: Program) -> bool:
        """Whether a program takes longer to be judged than another, and than there is time."""
        return known_s(program) > max(self.clock.left_s + GRACE_S, known_s(other))

    def _plan(self, part: Graph, limit_s: float) -> Plan:
        options: dict[str, Any] = {
            "objective": OBJECTIVE[self.objective],
            "time_limit": max(LEAST_S, limit_s),
        }
        if wished := of_part(self.wishes, part):
            options |= {"objective": "traffic", "wishes": wished}
        elif self.objective != "latency":
            options["joint"] = True
        return find_planner(FUSION).plan(
            part, self.machine, self.budget_bytes, options, lambda _: self.clock.left_s > 0
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

    def _worth(self, plan: Plan) -> float:
        """Bytes, joules or seconds: less is better."""
        if self.objective == "traffic":
            return plan.claims.offchip_bytes
        trace = simulate(plan)
        return trace.energy_j if self.objective == "energy" else trace.makespan_s


def _renamed(known: PartLook, found: FusedPart, look: PartLook) -> FusedPart:
    """What was found for a part, for another of the same look."""
    names = PartNames.between(known, look)
    told = [tuple(names.operators[name] for name in some) for some in (found.again, found.boxed)]
    return FusedPart(renamed(found.program, names), *told)
