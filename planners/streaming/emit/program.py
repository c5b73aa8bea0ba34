"""A schedule becomes a program: loads into rings, copies between them, kernels, leaves.

One on-chip memory has the GPU's ring (in two stages the only one) at its start and the
activations behind it; the CPU's ring is a memory of its own, a part of the machine's host memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planners.core.graph import Graph
from planners.core.machine import Machine
from planners.core.program import (
    Barrier,
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
from planners.core.program_size import no_longer
from planners.streaming.model.layers import Unit
from planners.streaming.model.times import CPU_RING, ParameterRoute, Times
from planners.streaming.place.activations import Activations
from planners.streaming.schedule.order import events
from planners.streaming.schedule.pipelines import Schedule
from planners.streaming.schedule.recurrence import Start

GPU_RING, SHARED_RING, ACTIVATIONS = "gpu ring", "ring", "activations"


def emit(
    graph: Graph,
    machine: Machine,
    units: Sequence[Unit],
    schedule: Schedule,
    activations: Activations,
) -> Program:
    """A schedule's program. A timestep is a layer; what is loaded ahead is in earlier ones."""
    emitter = _LayerEmitter(graph, machine, units, schedule, activations)
    steps = tuple(unit.name for unit in units)
    homes = {"input": machine.offchip, "output": machine.offchip, "parameter": emitter.route.source}
    items = tuple(no_longer(emitter.run(), "take fewer slices"))
    return Program(_memories(machine, schedule, activations), items, homes, steps)


def _memories(machine: Machine, schedule: Schedule, activations: Activations) -> tuple[Memory, ...]:
    """The on-chip memory and its windows, the CPU's ring, and what is off chip."""
    ring = schedule.rings[-1].size_bytes
    two = len(schedule.rings) == 1
    base = 0 if schedule.kind == "joint" else ring  # Jointly, both are all of the memory.
    memories = [
        Memory(machine.onchip, base + activations.size_bytes),
        Memory(ACTIVATIONS, activations.size_bytes, parent=machine.onchip, base=base),
        Memory(machine.offchip, None, offchip=True, addressed=False),
    ]
    if ring:
        name = SHARED_RING if two else GPU_RING
        memories.append(Memory(name, ring, circular=True, parent=machine.onchip))
    if not two and (cpu := schedule.rings[0].size_bytes):
        memories.append(Memory(CPU_RING, cpu, circular=True, level=machine.offchip))
    source = ParameterRoute(machine).source
    if source != machine.offchip:
        memories.append(Memory(source, None, offchip=True, addressed=False))
    return tuple(memories)


def held_by(units: Sequence[Unit]) -> tuple[int, ...]:
    """For each unit the last earlier one that has some of its parameters, or -1."""
    seen: dict[Piece, int] = {}
    holders = []
    for i, unit in enumerate(units):
        holders.append(max((seen.get(piece, -1) for piece in unit.pieces), default=-1))
        seen |= dict.fromkeys(unit.pieces, i)
    return tuple(holders)


class _LayerEmitter:
    def __init__(
        self,
        graph: Graph,
        machine: Machine,
        units: Sequence[Unit],
        schedule: Schedule,
        activations: Activations,
    ) -> None:
        self.graph, self.machine, self.units = graph, machine, units
        self.schedule, self.activations = schedule, activations
        self.route = ParameterRoute(machine)
        self.two = len(schedule.rings) == 1
        self.step = 0
        self.last_unit = {unit.operator: i for i, unit in enumerate(units)}
        self.dying: dict[int, list[str]] = {}
        for name, last in activations.last.items():
            self.dying.setdefault(last, []).append(name)

    def run(self) -> Iterator[Instruction]:
        for name in self.graph.inputs:
            piece, region = self._activation(name)
            yield Load(0, piece, self._home(piece), region, self.route.input)
        for action, i in events(self.schedule, held_by(self.units)):
            match action:
                case "barrier":
                    yield Barrier(self.step)
                case "read":
                    yield from self._read(i)
                case "copy":
                    yield from self._copy(i)
                case "kernel":
                    yield from self._kernel(i)
                case "leave cpu" | "leave gpu":
                    ring = 0 if action == "leave cpu" else -1
                    for piece, region in self._weights(i, ring):
                        yield Release(self.step, piece, region)
        for name in made_outputs(self.graph):
            piece, region = self._activation(name)
            yield Store(self.step, piece, region, self._home(piece), self.route.output)

    def _read(self, i: int) -> Iterator[Instruction]:
        yield from self._moved(i, None, 0, self.route.read)

    def _copy(self, i: int) -> Iterator[Instruction]:
        yield from self._moved(i, 0, -1, self.route.copy)

    def _moved(self, i: int, source: int | None, target: int, engine: str) -> Iterator[Instruction]:
        """All pieces of a layer in one transfer, from storage or from one ring to the other."""
        targets = self._weights(i, target)
        sources = None if source is None else self._weights(i, source)
        for number, (piece, region) in enumerate(targets):
            size = region.size_bytes
            home = Region(self.route.source, None, size)
            start = home if sources is None else sources[number].region
            yield Load(self.step, piece, start, region, engine, joined=number > 0)

    def _kernel(self, i: int) -> Iterator[Instruction]:
        unit = self.units[i]
        op = self.graph.operators[unit.operator]
        self.step = i
        reads = [self._activation(name) for name in op.inputs]
        yield Compute(
            i,
            op.name,
            (*reads, *self._weights(i, -1)),
            tuple(self._activation(name) for name in op.outputs),
            unit.macs,
            parts=() if unit.part is None else (unit.part,),
        )
        if self.last_unit[unit.operator] == i:
            for name in self.dying.get(unit.operator, ()):
                if name not in self.graph.outputs:
                    yield Release(i, *self._activation(name))
        self.step = min(i + 1, len(self.units) - 1)

    def _weights(self, i: int, ring: int) -> list[Operand]:
        """The pieces of a layer in a ring (0 the first, -1 the one that kernels read)."""
        name = CPU_RING if ring == 0 and not self.two else GPU_RING
        name = SHARED_RING if self.two else name
        at, limit = self.schedule.rings[ring].offsets[i], self.schedule.rings[ring].size_bytes
        operands = []
        for piece in self.units[i].pieces:
            size = piece_bytes(self.graph, piece)
            operands.append(Operand(piece, Region(name, at % limit, size)))
            at += size
        return operands

    def _activation(self, name: str) -> Operand:
        piece = whole(self.graph.tensors[name])
        size = self.graph.size_bytes(name)
        return Operand(piece, Region(ACTIVATIONS, self.activations.offsets[name], size))

    def _home(self, piece: Piece) -> Region:
        return Region(self.machine.offchip, None, piece_bytes(self.graph, piece))


def made_outputs(graph: Graph) -> tuple[str, ...]:
    """The outputs that an operator makes, once each; the others lie in their homes."""
    return tuple(name for name in dict.fromkeys(graph.outputs) if name in graph.producer)


def start_of(graph: Graph, machine: Machine, units: Sequence[Unit], times: Times) -> Start:
    """When each engine is free after loading the network's inputs."""
    route, now = ParameterRoute(machine), 0.0
    there: dict[str, float] = {}
    for name in graph.inputs:
        now += times.input_s(name)
        there[name] = now
    kernels = (
        max((there.get(name, 0.0) for name in graph.operators[unit.operator].inputs), default=0.0)
        for unit in units
    )
    return Start(
        read_s=now if route.read == route.input else 0.0,
        copy_s=now if route.copy == route.input else 0.0,
        kernels=tuple(kernels),
        all_s=now,
    )


def stored_s(graph: Graph, units: Sequence[Unit], schedule: Schedule, times: Times) -> float:
    """When the last output is stored and the last kernel has ended, from the program's start."""
    last = {unit.operator: i for i, unit in enumerate(units)}
    end = schedule.ends.last_barrier_s
    for name in made_outputs(graph):
        written_s = schedule.ends.kernels[last[graph.producer[name]]]
        end = max(end, written_s) + times.output_s(name)
    return max(end, schedule.ends.delay_s)
