"""Parts of a network as whole tensors, some of them spilled (COSMA), with room for parameters.

In the place of the parameters that one operator reads there is one tensor of as many bytes as these
need to be there together: the plan of that network leaves room for them, and its program, which
reads them in place, is the part's. What several operators read may also be tensors like any other,
kept or loaded again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from planners.core.element_types import NATIVE
from planners.core.errors import SpillwayError
from planners.core.graph import Graph, Operator, Tensor
from planners.core.machine import Machine
from planners.core.program import (
    Compute,
    Instruction,
    Load,
    Operand,
    Program,
    Region,
    Release,
    whole,
)
from planners.core.progress import Clock
from planners.core.registry import COSMA
from planners.core.registry import planner as find_planner
from planners.core.weights import COUNTED
from planners.joined.isomorphic import PartLook, PartNames, look_of, renamed
from planners.joined.part_search import PartSearch
from planners.joined.pool import RoomyBlocks
from planners.joined.segments import KEPT, SLOWER, SPILLED, Segment, Spilled, counted, without_way
from planners.joined.subgraph import part_of
from planners.joined.wishes import of_part
from planners.wishes.language import Wish

ROOM = "room for parameters of "
OBJECTIVE = {"latency": "latency", "energy": "traffic", "traffic": "traffic"}
"""What is asked of the plan with spills, by what is asked."""


@dataclass(frozen=True, slots=True)
class SpilledPart:
    """The program of a part, parameters read in place but for those that are kept, and the bytes
    that cross while it runs, these parameters included."""

    program: Program
    offchip_bytes: int


@dataclass
class SpilledParts:
    """The parts of one network in one budget, each found once for each size of slices."""

    graph: Graph
    machine: Machine
    budget_bytes: int
    objective: str
    clock: Clock
    wishes: tuple[Wish, ...] = ()
    in_place: bool = False
    by_look: dict[Hashable, tuple[PartLook, PartSearch[SpilledPart]]] = field(default_factory=dict)
    """By the look of a part, its rooms, and whether something is kept."""
    searches: dict[Hashable, PartSearch[SpilledPart]] = field(default_factory=dict)
    """By the range of operators, their rooms, and the method."""

    @cached_property
    def methods(self) -> tuple[Spilled, ...]:
        """The ways to try, the one that is most often better first."""
        if self.in_place or not _read_again(self.graph):
            return (SPILLED,)
        return (SPILLED, KEPT) if self.objective == "latency" else (KEPT, SPILLED)

    def find(
        self, blocks: RoomyBlocks, first: int, stop: int, method: Spilled, clock: Clock
    ) -> SpilledPart | None:
        """Operators `[first, stop)`; None where whole tensors do not fit. It is searched again
        where the clock has more work than the search before had."""
        key = first, stop, self._rooms(blocks, first, stop), method
        search = self.searches.get(key)
        if search is None or not search.is_enough(clock):
            search = self.searches[key] = self._search(*key, clock)
        return search.result(clock)

    def part(
        self, blocks: RoomyBlocks, first: int, stop: int, method: Spilled
    ) -> SpilledPart | None:
        """Operators `[first, stop)`, as far as they were searched."""
        search = self.searches.get((first, stop, self._rooms(blocks, first, stop), method))
        return None if search is None else search.part

    def work(self, blocks: RoomyBlocks, first: int, stop: int, method: Spilled) -> float:
        """The work that the search of a part had; none where it was not searched."""
        search = self.searches.get((first, stop, self._rooms(blocks, first, stop), method))
        return 0 if search is None else search.work

    def _rooms(self, blocks: RoomyBlocks, first: int, stop: int) -> tuple[int, ...]:
        return tuple(blocks.room((position,), True) for position in range(first, stop))

    def _search(
        self, first: int, stop: int, rooms: tuple[int, ...], method: Spilled, clock: Clock
    ) -> PartSearch[SpilledPart]:
        """The same, planned once for parts that are isomorphic."""
        part = part_of(self.graph, first, stop)
        kept = _read_again(part) if method == KEPT else set()
        look = look_of(part)
        # Wishes are about names: what keeps to them is found for each.
        key = (look.key, rooms, bool(kept), look.tensors if self.wishes else ())
        if key not in self.by_look or not self.by_look[key][1].is_enough(clock):
            self.by_look[key] = (
                look,
                PartSearch.of_work(
                    clock, lambda part_clock: self._plan_part(part, rooms, kept, part_clock)
                ),
            )
        other, search = self.by_look[key]
        if search.part is None or other == look:
            return search
        program = renamed(search.part.program, PartNames.between(other, look))
        return replace(search, part=replace(search.part, program=program))

    def _plan_part(
        self, part: Graph, rooms: Sequence[int], kept: set[str], clock: Clock
    ) -> SpilledPart | None:
        options: dict[str, Any] = {
            "objective": OBJECTIVE[self.objective],
            "weights": COUNTED,
            "time_limit": clock.option_s,
        }
        if self.objective != "latency":  # The order decides what is spilled.
            options["schedule"] = "joint"
        wishes = [wish for wish in self.wishes if wish.kind in ("keep", "spill")]
        if wished := of_part(wishes, part):
            options |= {"wishes": wished}
        try:
            roomy = with_rooms(part, rooms, kept)
            plan = find_planner(COSMA).plan(
                roomy, self.machine, self.budget_bytes, options, clock.within
            )
        except SpillwayError:
            return None
        streamed = _read_bytes(part) - _read_bytes(roomy)
        program = read_at_home(part, self.machine, plan.program)
        return SpilledPart(program, plan.claims.offchip_bytes + streamed)


def _read_again(graph: Graph) -> set[str]:
    """Parameters that several operators read."""
    count = Counter(name for op in graph.operators for name in op.parameters)
    return {name for name, times in count.items() if times > 1}


def _read_bytes(graph: Graph) -> int:
    """What all operators read of parameters."""
    return sum(graph.size_bytes(name) for op in graph.operators for name in op.parameters)


def with_rooms(graph: Graph, rooms: Sequence[int], kept: set[str]) -> Graph:
    """The network whose operators read so many bytes each in the place of their parameters.

    Those that are `kept`, and what is read with them, are what they were.
    """
    each_bytes = 1 if graph.bytes_per_element == NATIVE else graph.bytes_per_element
    tensors = {name: t for name, t in graph.tensors.items() if t.kind != "parameter"}
    operators = []
    for op, size in zip(graph.operators, rooms, strict=True):
        names = op.parameters
        if kept.isdisjoint(names):
            names = (ROOM + op.name,) if size else ()
            elements = -(-size // each_bytes)
            tensors |= {name: Tensor(name, (elements,), "parameter", "int8") for name in names}
        tensors |= {name: graph.tensors[name] for name in names if name in graph.tensors}
        operators.append(replace(op, parameters=names, parts=()))
    return replace(graph, tensors=tensors, operators=tuple(operators))


def read_at_home(graph: Graph, machine: Machine, program: Program) -> Program:
    """A program of the network with rooms as one of the network, which reads at home what rooms
    are for; in a pool, which goes round nowhere."""
    operators = {op.name: op for op in graph.operators}
    instructions: list[Instruction] = []
    for item in program.instructions:
        match item:
            case Load() | Release() if item.piece.tensor.startswith(ROOM):
                continue
            case Compute():
                instructions.append(_at_home(graph, machine, item, operators[item.operator]))
            case _:
                instructions.append(item)
    memories = tuple(
        replace(memory, circular=True) if memory.name == machine.onchip else memory
        for memory in program.memories
    )
    return replace(program, memories=memories, instructions=tuple(instructions))


def _at_home(graph: Graph, machine: Machine, item: Compute, op: Operator) -> Compute:
    freed = {item.reads[at].piece.tensor for at in item.frees}
    reads = [operand for operand in item.reads if not operand.piece.tensor.startswith(ROOM)]
    frees = tuple(k for k, operand in enumerate(reads) if operand.piece.tensor in freed)
    there = {operand.piece.tensor for operand in reads}
    reads += (_home(graph, machine, name) for name in op.parameters if name not in there)
    return replace(item, reads=tuple(reads), frees=frees)


def _home(graph: Graph, machine: Machine, name: str) -> Operand:
    region = Region(machine.parameters, None, graph.size_bytes(name))
    return Operand(whole(graph.tensors[name]), region)


# ---- Segments with whole tensors and spills in the place of their fused groups: which, and when -
# Whole tensors take less time to plan than fused groups do, and are tried first where what they
# move does not take much longer than fused groups would.


@dataclass(frozen=True, slots=True)
class SpilledWays:
    """Ways to run segments of one network with spills."""

    parts: SpilledParts

    def part(self, blocks: RoomyBlocks, segment: Segment, clock: Clock) -> SpilledPart | None:
        """The part that a segment with spills is; None where whole tensors do not fit."""
        assert segment.spilled
        return self.parts.find(blocks, segment.first, segment.stop, segment.spilled, clock)

    def in_order(
        self, blocks: RoomyBlocks, best: tuple[Segment, ...], clock: Clock
    ) -> Iterator[tuple[Segment, ...]]:
        """Segments of pool and groups, and those with spills in the place of groups, in the order
        in which they are to be tried."""
        slow: list[tuple[Segment, ...]] = []
        for segments in self._instead(blocks, best, clock):
            if slow or any(self._crosses_long(blocks, segment, clock) for segment in segments):
                slow.append(segments)
            else:
                yield segments
        yield from (best, *slow)

    def _crosses_long(self, blocks: RoomyBlocks, segment: Segment, clock: Clock) -> bool:
        """Whether what a segment with spills moves takes longer than fused groups would, about."""
        part = self.part(blocks, segment, clock) if segment.spilled else None
        if part is None or self.parts.objective == "traffic":
            return False
        machine = self.parts.machine
        rate = machine.memory(machine.offchip).read_bytes_per_s
        return part.offchip_bytes / rate > SLOWER * blocks.least_s(segment.first, segment.stop)

    def _instead(
        self, blocks: RoomyBlocks, segments: tuple[Segment, ...], clock: Clock
    ) -> Iterator[tuple[Segment, ...]]:
        """The same with whole tensors and spills in the place of fused groups, where they fit; and
        all of the network so."""
        count, unfit = sum(s.blocks for s in segments), sum(s.unfit for s in segments)
        whole = Segment(0, len(blocks.graph.operators), blocks=count, unfit=unfit)
        for method in self.parts.methods:
            spilled = tuple(self.where(blocks, segment, method, clock) for segment in segments)
            if spilled != segments:
                yield spilled
            beside = len(segments) > 1 and any(segment.fused for segment in segments)
            # In the pool what several operators read comes for each of them.
            several = method == KEPT and self.parts.objective != "latency" and spilled == segments
            if beside or several:
                alone = self.where(blocks, whole, method, clock)
                if alone.spilled:
                    yield (alone,)

    def where(
        self, blocks: RoomyBlocks, segment: Segment, method: Spilled, clock: Clock
    ) -> Segment:
        """A segment of fused groups as whole tensors where these fit."""
        if not segment.fused or self.parts.clock.expired():
            return segment
        other = replace(segment, spilled=method)
        return segment if self.part(blocks, other, clock) is None else other

    def without_way(
        self, blocks: RoomyBlocks, segments: tuple[Segment, ...], operator: str, clock: Clock
    ) -> tuple[Segment, ...]:
        """The segments where the way that has no room for an operator's parameters is none: as
        whole tensors where these fit and were not it, or as fused groups."""
        at = blocks.graph.index[operator]
        other = tuple(counted(each, blocks.marks, ()) for each in without_way(segments, at))
        if any(segment.spilled and segment.first <= at < segment.stop for segment in segments):
            return other
        fused = {(segment.first, segment.stop) for segment in segments if segment.fused}
        method = self.parts.methods[0]
        return tuple(
            each if (each.first, each.stop) in fused else self.where(blocks, each, method, clock)
            for each in other
        )
