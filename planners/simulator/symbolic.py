"""A program run on symbolic bytes, one instruction after the other.

Every read must find exactly the piece that it names where it names it, nothing resident is
overwritten or moved, no address leaves its memory, operators have all that they need, every
operator runs and every output is at home in the end. What is wrong is said with its step, its
address and the reason.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from planners.core.access import needs_apart, reduced, share_of_macs
from planners.core.boxes import joined, uncovered
from planners.core.graph import Graph, Operator
from planners.core.loops import after, items_of
from planners.core.machine import Machine
from planners.core.program import (
    AddressSpace,
    Barrier,
    Box,
    Compute,
    Instruction,
    Load,
    Operand,
    Piece,
    Program,
    Release,
    Store,
    piece_bytes,
)
from planners.core.progress import POLL_S, Progress, ProgressCallback, now
from planners.simulator.records.engines import Engines
from planners.simulator.records.replayed import Replayed
from planners.simulator.state import ReplayState, Unfinished, name_of


class Replay(ReplayState):
    """The symbolic machine while a program runs: what it has done, beside what is where."""

    def __init__(
        self,
        graph: Graph,
        program: Program,
        spaces: AddressSpace,
        progress: ProgressCallback | None = None,
        machine: Machine | None = None,
    ) -> None:
        super().__init__(graph, spaces, len(program.steps))
        self.program = program
        self.engines = None if machine is None else Engines(machine, spaces)
        self._progress, self._began = progress, now()
        self._told = self._began
        # Boxes as keys: what is stored again and again is there once.
        self.written: dict[str, dict[Box, None]] = defaultdict(dict)
        self.fetched: dict[str, dict[Box, None]] = defaultdict(dict)
        self.operators = {op.name: op for op in graph.operators}
        self.loaded = self.stored = self.macs = 0
        self._place_at_home()

    def _place_at_home(self) -> None:
        for tensor in self.graph.tensors.values():
            if (memory := self.program.home(tensor)) is not None:
                self.home[memory, tensor.name][self.wholes[tensor.name].box] = None

    def run(self) -> Replayed:
        """Run what is left, then look at the end state. Raises `InvalidPlan`."""
        self._run(after(items_of(self.program), self.index + 1))
        self._check_end()
        return Replayed(
            loaded_bytes=self.loaded,
            stored_bytes=self.stored,
            fetched=self.fetched,
            extent_bytes=self.extent,
            macs=self.macs,
            instructions=self.index + 1,
            occupancy=tuple(self.occupancy),
        )

    def _run(self, items: Iterable[Instruction]) -> None:
        for item in items:
            self.index += 1
            if not self.step <= item.step < len(self.program.steps):
                raise self.fail(f"step {item.step + 1} is out of order or unknown", "order")
            if item.step != self.step and self._progress is not None:
                self._tell(item.step)
            self.step = item.step
            self.run_one(item)

    def _tell(self, step: int) -> None:
        moment = now()
        if self._progress is not None and moment - self._told >= POLL_S:
            self._told = moment
            stage = f"checking every byte, step {step + 1:,} of {len(self.program.steps):,}"
            self._progress(Progress(stage, moment - self._began))

    def run_one(self, item: Instruction) -> None:
        match item:
            case Load() | Store():
                self._transfer(item)
            case Compute():
                self._compute(item)
            case Release():
                self.release(Operand(item.piece, item.region))
            case Barrier():
                pass

    # ---- instructions ----------------------------------------------------------------------

    def _transfer(self, item: Load | Store) -> None:
        source, target = self.memory(item.source), self.memory(item.target)
        if self.spaces.root(source.name) is self.spaces.root(target.name):
            reason = f"{name_of(item.piece)} moves within {source.name}"
            raise self.fail(reason, "moved", item.target)
        if source.addressed:
            self.find(Operand(item.piece, item.source))
        else:
            self.find_at_home(Operand(item.piece, item.source))
        self._check_engine(item)
        if target.addressed:
            self.place(Operand(item.piece, item.target))
        else:
            self.checked_home(Operand(item.piece, item.target))
            self.home[target.name, item.piece.tensor][item.piece.box] = None
        if source.offchip and not target.offchip:
            self.loaded += item.source.size_bytes
            self.fetched[item.piece.tensor][item.piece.box] = None
        elif target.offchip and not source.offchip:
            self.stored += item.source.size_bytes

    def _check_engine(self, item: Load | Store | Compute) -> None:
        if self.engines is not None and (reason := self.engines.fault(item)):
            name = item.operator if isinstance(item, Compute) else name_of(item.piece)
            raise self.fail(f"{name}: {reason}", "engine")

    def _compute(self, item: Compute) -> None:
        op = self.operators.get(item.operator)
        if op is None:
            raise self.fail(f"there is no operator {item.operator!r}", "operator")
        self._check_engine(item)
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
        for operand, box in zip(item.writes, self._made(item), strict=True):
            tensor = operand.piece.tensor
            if tensor not in op.outputs:
                raise self.fail(f"{op.name} does not write {tensor}", "operand", operand.region)
            complete = True
            if item.sums is not None:
                complete = self._add_sum(op, operand, item.sums)
            elif item.parts:
                begun = Unfinished(operand.piece.box, sums=False)
                size = piece_bytes(self.graph, operand.piece)
                complete = self._add(op, operand, begun, box.box, size)
            else:
                self.place(operand)
            if self.memory(operand.region).offchip:
                sums = item.sums is not None
                self.stored += operand.region.size_bytes if sums else piece_bytes(self.graph, box)
            self._check_needs(item, box, read, complete)
            if complete:
                self.written[tensor][operand.piece.box] = None
            if tensor == op.outputs[0]:
                macs += share_of_macs(self.graph, op, tensor, box.box, item.sums)
        if macs != item.macs:
            raise self.fail(f"{op.name} does {macs} MACs here, not {item.macs}", "macs")
        self.macs += macs
        self.note_occupancy()

    def _read(self, operand: Operand) -> None:
        """An operand with an address must be resident; one in its home is read in place."""
        memory = self.memory(operand.region)
        if memory.addressed:
            self.find(operand)
        else:
            self.find_at_home(operand)
        if memory.offchip:
            self.loaded += operand.region.size_bytes
            self.fetched[operand.piece.tensor][operand.piece.box] = None

    def _free(self, item: Compute) -> None:
        """End the residencies that this instruction ends, before its writes begin."""
        for at in item.frees:
            if not 0 <= at < len(item.reads):
                raise self.fail(f"{item.operator} frees read number {at}, and has none", "frees")
            self.release(item.reads[at])

    def _made(self, item: Compute) -> tuple[Piece, ...]:
        """What an instruction makes of each of its writes."""
        if item.parts and item.sums is not None:
            raise self.fail(f"{item.operator} has sums and parts, and may have one", "parts")
        if item.parts and len(item.parts) != len(item.writes):
            reason = f"{len(item.parts)} parts for {len(item.writes)} writes"
            raise self.fail(f"{item.operator} has {reason}", "parts")
        return item.made

    def _add_sum(self, op: Operator, operand: Operand, sums: tuple[int, int]) -> bool:
        """Add the products of some channels to a piece; whether it is then complete.

        It takes an accumulator's bytes for each element until then.
        """
        channels = reduced(self.graph, op)
        if channels is None:
            raise self.fail(f"{op.name} ({op.kind}) cannot be summed in parts", "sums")
        root = self.spaces.root(self.memory(operand.region).name)
        if root.offchip and (root.name, operand.piece) in self.resident:
            self.loaded += operand.region.size_bytes
        size = self.graph.sum_bytes(op, operand.piece.elements)
        return self._add(op, operand, Unfinished(((0, channels),), sums=True), (sums,), size)

    def _add(self, op: Operator, operand: Operand, begun: Unfinished, part: Box, size: int) -> bool:
        """Add a part to a piece, which the first part places; whether it is then complete.

        `size`: its bytes while it is not.
        """
        piece, region = operand
        root = self.spaces.root(self.memory(region).name)
        if (root.name, piece) not in self.resident:
            self.place(operand, size=size).unfinished = begun
        residency = self.find_any(operand)
        try:
            if residency.unfinished is None:
                raise ValueError("it is complete")
            if residency.unfinished.sums != begun.sums:
                raise ValueError("sums and parts make no piece together")
            residency.unfinished.add(part)
        except ValueError as error:
            reason = f"{op.name} cannot add to {name_of(piece)}: {error}"
            raise self.fail(reason, "sums" if begun.sums else "parts", region) from None
        if residency.unfinished.complete:
            residency.unfinished = None
            self.settle(residency)
        return residency.unfinished is None

    def _check_needs(
        self, item: Compute, piece: Piece, read: dict[str, list[Box]], last: bool
    ) -> None:
        op = self.operators[item.operator]
        for tensor, box in needs_apart(self.graph, op, piece.tensor, piece.box, item.sums, last):
            if self.graph.tensors[tensor].kind == "parameter":
                if not self.program.counts_parameters:
                    continue
            if missing := uncovered(box, read.get(tensor, ())):
                reason = f"{op.name} needs {name_of(Piece(tensor, missing[0]))} and does not read"
                raise self.fail(f"{reason} it", "missing operand")

    # ---- the end ---------------------------------------------------------------------------

    def _check_end(self) -> None:
        for residency in self.resident.values():
            if residency.unfinished is not None:
                raise self.unfinished(residency, residency.unfinished)
        for op in self.graph.operators:
            for tensor in op.outputs:
                if uncovered(self.wholes[tensor].box, joined(self.written[tensor])):
                    raise self.fail(f"operator {op.name} never computed all of {tensor}", "not run")
        memory = self.program.homes["output"]
        for tensor in self.graph.outputs:
            if uncovered(self.wholes[tensor].box, joined(self.home[memory, tensor])):
                raise self.fail(f"output {tensor} is not whole in {memory}", "no output")
