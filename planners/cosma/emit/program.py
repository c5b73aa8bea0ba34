"""Runs with addresses become a program: loads, compute, stores and releases, step by step."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from planners.core.access import needs_of_all
from planners.core.graph import Graph, Operator
from planners.core.machine import Machine
from planners.core.program import (
    Compute,
    Instruction,
    Load,
    Memory,
    Operand,
    Piece,
    Program,
    Region,
    Release,
    Store,
    piece_bytes,
    whole,
)
from planners.cosma.model.problem import ScheduleProblem, TensorLine, TensorStay


def emit(
    problem: ScheduleProblem,
    machine: Machine,
    offsets: Mapping[TensorStay, int],
    *,
    early_stores: bool = False,
    memory_of: Mapping[str, str] | None = None,
) -> Program:
    """The program of a placement: `offsets` gives each run its address in bytes.

    `early_stores` writes what will be dropped as soon as it is made, not when it goes. Tensors lie
    in the memories that `memory_of` names by tensor, the others in the scratchpad.
    """
    emitter = _TensorEmitter(problem, machine, offsets, early_stores, memory_of or {})
    return make_program(problem, machine, tuple(emitter.steps()))


def make_program(
    problem: ScheduleProblem, machine: Machine, instructions: tuple[Instruction, ...]
) -> Program:
    """A program over a scratchpad of the budget's bytes, slower memories, and the host's."""
    homes = {"input": machine.offchip, "output": machine.offchip}
    memories = [
        Memory(machine.onchip, problem.budget_bytes),
        *(Memory(level.name, level.size_bytes) for level in machine.banks[1:]),
        Memory(machine.offchip, None, offchip=True, addressed=False),
    ]
    if problem.parameters or problem.in_place:
        homes["parameter"] = machine.parameters
        if machine.parameters != machine.offchip:
            memories.append(Memory(machine.parameters, None, offchip=True, addressed=False))
    return Program(
        memories=tuple(memories),
        instructions=instructions,
        homes=homes,
        steps=tuple(problem.graph.operators[position].name for position in problem.schedule),
    )


def pieces_read(graph: Graph, op: Operator) -> list[Piece]:
    """What an operator reads of its parameters where they lie: no more than it needs."""
    needed = needs_of_all(graph, op)
    return [Piece(name, needed[name]) for name in op.parameters if name in needed]


class TensorPlaces:
    """Pieces, homes and regions of whole tensors, made once each."""

    def __init__(
        self,
        problem: ScheduleProblem,
        machine: Machine,
        memory_of: Mapping[str, str] | None = None,
    ) -> None:
        self.problem, self.graph, self.machine = problem, problem.graph, machine
        self.memory_of = memory_of or {}
        self._piece: dict[str, Piece] = {}

    def piece(self, tensor: str) -> Piece:
        if tensor not in self._piece:
            self._piece[tensor] = whole(self.graph.tensors[tensor])
        return self._piece[tensor]

    def home(self, tensor: str) -> Region:
        kind = self.graph.tensors[tensor].kind
        memory = self.machine.parameters if kind == "parameter" else self.machine.offchip
        return Region(memory, None, self.graph.size_bytes(tensor))

    def at(self, tensor: str, offset: int) -> Operand:
        memory = self.memory_of.get(tensor, self.machine.onchip)
        region = Region(memory, offset, self.graph.size_bytes(tensor))
        return Operand(self.piece(tensor), region)

    def load(self, step: int, tensor: str, offset: int) -> Load:
        piece, region = self.at(tensor, offset)
        return Load(step, piece, self.home(tensor), region)

    def store(self, step: int, tensor: str, offset: int) -> Store:
        piece, region = self.at(tensor, offset)
        return Store(step, piece, region, self.home(tensor))

    def release(self, step: int, tensor: str, offset: int) -> Release:
        return Release(step, *self.at(tensor, offset))

    def compute(self, step: int, position: int, offset: Mapping[str, int]) -> Compute:
        """The operator at `position` of the graph, on whole tensors at these addresses."""
        op, problem = self.graph.operators[position], self.problem
        reads = [self.at(name, offset[name]) for name in op.inputs]
        if problem.parameters:
            reads += [self.at(name, offset[name]) for name in op.parameters]
        elif problem.in_place:
            home = self.machine.parameters
            for piece in pieces_read(self.graph, op):
                reads.append(Operand(piece, Region(home, None, piece_bytes(self.graph, piece))))
        return Compute(
            step,
            op.name,
            tuple(reads),
            tuple(self.at(name, offset[name]) for name in op.outputs),
            op.macs,
        )


class _TensorEmitter:
    def __init__(
        self,
        problem: ScheduleProblem,
        machine: Machine,
        offsets: Mapping[TensorStay, int],
        early_stores: bool,
        memory_of: Mapping[str, str],
    ) -> None:
        self.problem, self.offsets, self.early_stores = problem, offsets, early_stores
        self.places = TensorPlaces(problem, machine, memory_of)
        self.starting: dict[int, list[TensorStay]] = defaultdict(list)
        self.ending: dict[int, list[TensorStay]] = defaultdict(list)
        for run in offsets:
            self.starting[run.first].append(run)
            self.ending[run.last].append(run)
        self.at: dict[str, int] = {}
        self.stored: set[str] = set()
        self.outputs = frozenset(problem.graph.outputs)

    def steps(self) -> Iterator[Instruction]:
        """A step is its loads, its operator, then its stores and releases."""
        for step, position in enumerate(self.problem.schedule):
            for run in self.starting[step]:
                line = self.problem.lines[run.line]
                self.at[line.tensor] = self.offsets[run]
                if not (line.produced and run.first == line.uses[0]):
                    yield self.places.load(step, line.tensor, self.offsets[run])
            yield self.places.compute(step, position, self.at)
            yield from self._leave(step, position)

    def _leave(self, step: int, position: int) -> Iterator[Instruction]:
        """Outputs are stored at once; what ends here is stored if only the chip has it."""
        ending = [self.problem.lines[run.line] for run in self.ending[step]]
        written = [t for t in self.problem.graph.operators[position].outputs if t in self.outputs]
        spills = [line.tensor for line in self._to_store(step)]
        self.stored.update(spills)
        for tensor in (*written, *spills):
            yield self.places.store(step, tensor, self.at[tensor])
        for line in ending:
            yield self.places.release(step, line.tensor, self.at.pop(line.tensor))

    def _to_store(self, step: int) -> list[TensorLine]:
        """What only the chip has and leaves now or, where stores are early, at any later step."""
        stays = self.starting[step] if self.early_stores else self.ending[step]
        return [
            self.problem.lines[run.line]
            for run in stays
            if run.last < self.problem.lines[run.line].uses[-1]
            and not self.problem.lines[run.line].host_copy
            and self.problem.lines[run.line].tensor not in self.stored
        ]
