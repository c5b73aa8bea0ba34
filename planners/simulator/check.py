"""Replay a program on symbolic bytes: is every byte right, and do the claims hold?

Nothing here knows of planners. Every read must find exactly the piece that it names where it
names it, nothing resident is overwritten or moved, no address leaves its memory, operators have
all that they need, every operator runs and every output is at home in the end.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from planners.errors import InvalidPlan
from planners.graph.access import needs, share_of_macs
from planners.graph.model import Graph
from planners.plan import Claims, Plan
from planners.program import (
    AddressSpace,
    Barrier,
    Box,
    Compute,
    Instruction,
    Load,
    Memory,
    Operand,
    Piece,
    Program,
    Region,
    Release,
    Span,
    Store,
    piece_bytes,
    whole,
)
from planners.simulator.boxes import joined, lies_in, uncovered, volume
from planners.simulator.memories import check_memories, onchip_bytes
from planners.simulator.residency import Residency, Stay, residencies
from planners.simulator.spans import TakenRanges

MANY_BOXES = 16  # Beyond, boxes at home are put together before they are searched.


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What a valid program really does, in bytes.

    `compulsory_bytes` is one load of what is read of each graph input (and parameter, where
    counted) and one store of each output; the rest of the traffic is non-compulsory. `occupancy`
    holds the most bytes resident on chip in each step; `peak_step` is the first at the peak.
    """

    loaded_bytes: int
    stored_bytes: int
    compulsory_bytes: int
    peak_bytes: int
    peak_step: int
    extent_bytes: int
    macs: int
    instructions: int
    occupancy: tuple[int, ...]
    residencies: tuple[Residency, ...]

    @property
    def traffic_bytes(self) -> int:
        return self.loaded_bytes + self.stored_bytes

    @property
    def noncompulsory_bytes(self) -> int:
        return self.traffic_bytes - self.compulsory_bytes


def check(plan: Plan) -> CheckReport:
    """Replay a plan and compare what it does with what its planner claims.

    Raises `InvalidPlan` with the step, the address and the reason.
    """
    check_memories(plan.program)
    if (onchip := onchip_bytes(plan.program)) > plan.budget_bytes:
        raise InvalidPlan(
            f"the program's memories hold {onchip} bytes, the budget is {plan.budget_bytes}",
            kind="budget",
        )
    report = replay(plan.graph, plan.program)
    _check_claims(plan.claims, report)
    return report


def _check_claims(claims: Claims, report: CheckReport) -> None:
    for name in ("peak_bytes", "extent_bytes", "compulsory_bytes", "noncompulsory_bytes"):
        claimed, found = getattr(claims, name), getattr(report, name)
        if claimed != found:
            raise InvalidPlan(
                f"{name}: the plan claims {claimed}, the program has {found}", kind="claims"
            )
    # What was minimised is the planner's choice, but it is a number that the replay has too.
    minimised = ("noncompulsory_bytes", "traffic_bytes", "peak_bytes", "extent_bytes")
    if claims.objective_bytes not in [getattr(report, name) for name in minimised]:
        raise InvalidPlan(
            f"objective_bytes: the plan claims {claims.objective_bytes}, which is none of the "
            f"program's {', '.join(minimised)}",
            kind="claims",
        )
    if not 0 <= claims.bound_bytes <= claims.objective_bytes or (
        claims.status == "optimal" and claims.bound_bytes != claims.objective_bytes
    ):
        raise InvalidPlan(
            f"status {claims.status!r} does not agree with objective {claims.objective_bytes} "
            f"and bound {claims.bound_bytes}",
            kind="claims",
        )


def replay(graph: Graph, program: Program) -> CheckReport:
    """Replay a program without a plan's claims. Raises `InvalidPlan`."""
    check_memories(program)
    return Replay(graph, program, AddressSpace(program.memories)).run()


class Replay:
    """The state of the symbolic machine while a program runs."""

    def __init__(self, graph: Graph, program: Program, spaces: AddressSpace) -> None:
        self.graph, self.program, self.spaces = graph, program, spaces
        self.index = -1
        self.step = 0
        self.resident: dict[tuple[str, Piece], Stay] = {}
        self.taken: dict[str, TakenRanges[Stay]] = defaultdict(TakenRanges)
        # Boxes as keys: what is stored again and again is there once.
        self.home: dict[tuple[str, str], dict[Box, None]] = defaultdict(dict)
        self.written: dict[str, dict[Box, None]] = defaultdict(dict)
        self.fetched: dict[str, dict[Box, None]] = defaultdict(dict)
        self.operators = {op.name: op for op in graph.operators}
        self.wholes = {name: whole(tensor) for name, tensor in graph.tensors.items()}
        self.stays: list[Stay] = []
        self.loaded = self.stored = self.macs = 0
        self.resident_bytes = self.extent = 0
        self.occupancy = [0] * len(program.steps)
        self._place_at_home()

    def _place_at_home(self) -> None:
        for tensor in self.graph.tensors.values():
            memory = self.program.homes.get(tensor.kind)
            if memory is not None and tensor.kind != "activation":
                self.home[memory, tensor.name][self.wholes[tensor.name].box] = None

    def fail(self, reason: str, kind: str, region: Region | None = None) -> InvalidPlan:
        return InvalidPlan(
            reason,
            step=self.step,
            instruction=self.index,
            memory=region.memory if region else None,
            address=region.offset if region else None,
            kind=kind,
        )

    def run(self) -> CheckReport:
        """Run every instruction, then look at the end state."""
        for index, item in enumerate(self.program.instructions):
            self.index = index
            if not self.step <= item.step < len(self.program.steps):
                raise self.fail(f"step {item.step} is out of order or unknown", "order")
            self.step = item.step
            self.run_one(item)
        self._check_end()
        return self._report()

    def run_one(self, item: Instruction) -> None:
        match item:
            case Load() | Store():
                self._transfer(item)
            case Compute():
                self._compute(item)
            case Release():
                self._release(Operand(item.piece, item.region))
            case Barrier():
                pass

    # ---- one operand at a time -------------------------------------------------------------

    def _memory(self, region: Region) -> Memory:
        if region.memory not in self.spaces.memories:
            raise self.fail(f"there is no memory {region.memory!r}", "memory", region)
        return self.spaces.memories[region.memory]

    def _checked(self, operand: Operand) -> Operand:
        """The operand, once its piece lies in its tensor and its region has its size."""
        piece, region = operand
        tensor = self.graph.tensors.get(piece.tensor)
        if tensor is None:
            raise self.fail(f"there is no tensor {piece.tensor!r}", "tensor", region)
        if piece != self.wholes[piece.tensor] and not lies_in(piece.box, tensor.shape):
            reason = f"{_name(piece)} lies outside of the tensor's shape {tensor.shape}"
            raise self.fail(reason, "box", region)
        size = piece_bytes(self.graph, piece)
        if region.size_bytes != size:
            reason = f"{_name(piece)} has {size} bytes, its region {region.size_bytes}"
            raise self.fail(reason, "size", region)
        return operand

    def _spans(self, region: Region) -> tuple[Span, ...]:
        try:
            return self.spaces.spans(region)
        except ValueError as error:
            raise self.fail(str(error), "out of range", region) from None

    def _find(self, operand: Operand) -> Stay:
        """The residency that an operand names: the same piece at the same bytes."""
        piece, region = self._checked(operand)
        self._memory(region)
        stay = self.resident.get((self.spaces.root(region.memory).name, piece))
        if stay is None:
            raise self.fail(f"{_name(piece)} is not resident", "not resident", region)
        if stay.region != region and stay.spans != self._spans(region):
            reason = f"{_name(piece)} is resident at {stay.region.offset}, not {region.offset}"
            raise self.fail(reason, "wrong address", region)
        return stay

    def _checked_home(self, operand: Operand) -> Operand:
        """The operand, once it names its tensor's home: the place in it follows from the piece."""
        if operand.region.offset is not None:
            reason = f"{operand.region.memory} has no addresses"
            raise self.fail(reason, "memory", operand.region)
        return self._checked(operand)

    def _find_at_home(self, operand: Operand) -> None:
        piece, region = self._checked_home(operand)
        boxes = self.home[region.memory, piece.tensor]
        if len(boxes) > MANY_BOXES and piece.box not in boxes:
            boxes = self.home[region.memory, piece.tensor] = dict.fromkeys(joined(boxes))
        if uncovered(piece.box, boxes):
            raise self.fail(f"{region.memory} holds no copy of {_name(piece)}", "no copy", region)

    def _place(self, operand: Operand, computed: bool) -> None:
        """Make a piece resident: in range, over nothing that is resident, and nowhere else."""
        piece, region = self._checked(operand)
        memory = self._memory(region)
        if region.offset is None or not memory.addressed:
            raise self.fail(f"{_name(piece)} needs an address in {memory.name}", "memory", region)
        spans, root = self._spans(region), self.spaces.root(region.memory)
        old = self.resident.get((root.name, piece))
        if old is not None:
            reason = f"{_name(piece)} is resident at {old.region.offset} and cannot move"
            raise self.fail(reason, "moved", region)
        taken = self.taken[root.name]
        for span in spans:
            if clash := taken.clash(span.start, span.stop):
                reason = f"{_name(piece)} overwrites {_name(clash[2].operand.piece)}, resident at "
                raise self.fail(f"{reason}[{clash[0]}, {clash[1]})", "overlap", region)
        stay = Stay(operand, root.name, spans, self.step, self.index, computed)
        for span in spans:
            taken.take(span.start, span.stop, stay)
        self.resident[root.name, piece] = stay
        self.stays.append(stay)
        if not root.offchip:
            self.resident_bytes += region.size_bytes
            self.extent = max(self.extent, *(span.stop for span in spans))
            self._note_occupancy()

    def _note_occupancy(self) -> None:
        self.occupancy[self.step] = max(self.occupancy[self.step], self.resident_bytes)

    def _release(self, operand: Operand) -> None:
        stay = self._find(operand)
        stay.stop_step, stay.stop_instruction = self.step, self.index
        for span in stay.spans:
            self.taken[stay.memory].free(span.start)
        del self.resident[stay.memory, operand.piece]
        if not self.spaces.memories[stay.memory].offchip:
            self.resident_bytes -= operand.region.size_bytes

    # ---- instructions ----------------------------------------------------------------------

    def _transfer(self, item: Load | Store) -> None:
        source, target = self._memory(item.source), self._memory(item.target)
        if self.spaces.root(source.name) is self.spaces.root(target.name):
            reason = f"{_name(item.piece)} moves within {source.name}"
            raise self.fail(reason, "moved", item.target)
        if source.addressed:
            self._find(Operand(item.piece, item.source)).stored = isinstance(item, Store)
        else:
            self._find_at_home(Operand(item.piece, item.source))
        if target.addressed:
            self._place(Operand(item.piece, item.target), computed=False)
        else:
            self._checked_home(Operand(item.piece, item.target))
            self.home[target.name, item.piece.tensor][item.piece.box] = None
        if source.offchip and not target.offchip:
            self.loaded += item.source.size_bytes
            self.fetched[item.piece.tensor][item.piece.box] = None
        elif target.offchip and not source.offchip:
            self.stored += item.source.size_bytes

    def _compute(self, item: Compute) -> None:
        op = self.operators.get(item.operator)
        if op is None:
            raise self.fail(f"there is no operator {item.operator!r}", "operator")
        read: dict[str, list[Box]] = {}
        for operand in item.reads:
            tensor = operand.piece.tensor
            if tensor not in op.inputs and tensor not in op.parameters:
                raise self.fail(f"{op.name} does not read {tensor}", "operand", operand.region)
            self._read(operand)
            read.setdefault(tensor, []).append(operand.piece.box)
        read = {name: joined(boxes) if len(boxes) > 1 else boxes for name, boxes in read.items()}
        self._free(item)
        macs = 0
        for operand in item.writes:
            tensor = operand.piece.tensor
            if tensor not in op.outputs:
                raise self.fail(f"{op.name} does not write {tensor}", "operand", operand.region)
            self._place(operand, computed=True)
            if self._memory(operand.region).offchip:
                self.stored += operand.region.size_bytes
            self._check_needs(item, operand.piece, read)
            self.written[tensor][operand.piece.box] = None
            if tensor == op.outputs[0]:
                macs += share_of_macs(self.graph, op, tensor, operand.piece.box)
        if macs != item.macs:
            raise self.fail(f"{op.name} does {macs} MACs here, not {item.macs}", "macs")
        self.macs += macs
        self._note_occupancy()

    def _read(self, operand: Operand) -> None:
        """An operand with an address must be resident; one in its home is read in place."""
        memory = self._memory(operand.region)
        if memory.addressed:
            self._find(operand)
        else:
            self._find_at_home(operand)
        if memory.offchip:
            self.loaded += operand.region.size_bytes
            self.fetched[operand.piece.tensor][operand.piece.box] = None

    def _free(self, item: Compute) -> None:
        """End the residencies that this instruction ends, before its writes begin."""
        for at in item.frees:
            if not 0 <= at < len(item.reads):
                raise self.fail(f"{item.operator} frees read number {at}, and has none", "frees")
            self._release(item.reads[at])

    def _check_needs(self, item: Compute, piece: Piece, read: dict[str, list[Box]]) -> None:
        op = self.operators[item.operator]
        for tensor, box in needs(self.graph, op, piece.tensor, piece.box):
            if self.graph.tensors[tensor].kind == "parameter":
                if not self.program.counts_parameters:
                    continue
            if missing := uncovered(box, read.get(tensor, ())):
                reason = f"{op.name} needs {_name(Piece(tensor, missing[0]))} and does not read it"
                raise self.fail(reason, "missing operand")

    # ---- the end ---------------------------------------------------------------------------

    def _check_end(self) -> None:
        for op in self.graph.operators:
            for tensor in op.outputs:
                if uncovered(self.wholes[tensor].box, joined(self.written[tensor])):
                    raise self.fail(f"operator {op.name} never computed all of {tensor}", "not run")
        memory = self.program.homes["output"]
        for tensor in self.graph.outputs:
            if uncovered(self.wholes[tensor].box, joined(self.home[memory, tensor])):
                raise self.fail(f"output {tensor} is not whole in {memory}", "no output")

    def _report(self) -> CheckReport:
        peak = max(self.occupancy, default=0)
        return CheckReport(
            loaded_bytes=self.loaded,
            stored_bytes=self.stored,
            compulsory_bytes=compulsory_bytes(self.graph, self.fetched),
            peak_bytes=peak,
            peak_step=self.occupancy.index(peak) if self.occupancy else 0,
            extent_bytes=self.extent,
            macs=self.macs,
            instructions=self.index + 1,
            occupancy=tuple(self.occupancy),
            residencies=residencies(
                self.stays, frozenset(self.graph.outputs), len(self.program.steps)
            ),
        )


def compulsory_bytes(graph: Graph, fetched: Mapping[str, Collection[Box]]) -> int:
    """Bytes that a program must move to read what it reads, and to store the outputs, once each.

    `fetched` are the boxes that it loads, by tensor. A window may never touch the last rows of an
    input, or rows between its strides: a program over rows leaves them where they are.
    """
    loads = sum(
        volume(boxes)
        for name, boxes in fetched.items()
        if graph.tensors[name].kind in ("input", "parameter")
    )
    stores = sum(graph.tensors[name].elements for name in set(graph.outputs) - set(graph.inputs))
    return (loads + stores) * graph.bytes_per_element


def _name(piece: Piece) -> str:
    axes = ", ".join(f"{start}:{stop}" for start, stop in piece.box)
    return f"{piece.tensor}[{axes}]"
