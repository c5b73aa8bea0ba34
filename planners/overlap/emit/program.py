"""A layout becomes a program: pixels loaded, computed, released one by one in a circular pool."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from planners.core.details.pool import KernelRun, PoolLayout
from planners.core.gc_pause import no_collection
from planners.core.graph import Graph
from planners.core.loops import LoopedInstructions
from planners.core.machine import Machine
from planners.core.program import (
    Item,
    Load,
    Memory,
    Operand,
    Program,
    Region,
    Release,
    Store,
)
from planners.overlap.emit.line import LineWriter
from planners.overlap.emit.pool import PoolOperands
from planners.overlap.emit.rows import RowsWriter
from planners.overlap.emit.window import WindowWriter
from planners.overlap.emit.writer import RunWriter


@no_collection()
def emit(graph: Graph, machine: Machine, layout: PoolLayout, parameters: bool = False) -> Program:
    """The program of a layout. A timestep is a row of what a run writes.

    With `parameters`, operators read them in place from the machine's flash. Raises `BadInput`
    for a layout that does not suit the graph.
    """
    steps: list[str] = []
    items = tuple(_PoolEmitter(graph, machine, layout, parameters, steps).run())
    homes = {"input": machine.offchip, "output": machine.offchip}
    memories = [
        Memory(machine.onchip, layout.pool_bytes, circular=True),
        Memory(machine.offchip, None, offchip=True, addressed=False),
    ]
    if parameters:
        homes["parameter"] = machine.parameters
        if machine.parameters != machine.offchip:
            memories.append(Memory(machine.parameters, None, offchip=True, addressed=False))
    for number, run in enumerate(layout.runs):
        for buffer in run.buffers:
            memories.append(
                Memory(
                    f"{number}:{buffer.tensor}",
                    buffer.size_bytes,
                    circular=True,
                    parent=machine.onchip,
                    base=buffer.offset,
                )
            )
    return Program(tuple(memories), LoopedInstructions(items), homes, tuple(steps))


@dataclass(slots=True)
class _PoolEmitter:
    graph: Graph
    machine: Machine
    layout: PoolLayout
    parameters: bool
    steps: list[str]

    def run(self) -> Iterator[Item]:
        pool = PoolOperands(self.graph, self.machine, self.layout, self.parameters)
        last = self._last_uses()
        for number, run in enumerate(self.layout.runs):
            read, written = pool.ends(run)
            for name in read:
                if name in self.graph.inputs and name not in pool.present:
                    yield from self._loads(pool, name, run)
            dying = frozenset(name for name in read if last[name] == number)
            yield from _writer(run)(pool, number, run, dying, self.steps).instructions()
            pool.present.update(written)
            for name in written:
                if name in self.graph.outputs:
                    yield from self._stores(pool, name)
                if last.get(name, number) == number:
                    yield from self._releases(pool, name)

    def _last_uses(self) -> dict[str, int]:
        position = {name: i for i, run in enumerate(self.layout.runs) for name in run.operators}
        last: dict[str, int] = {}
        for op in self.graph.operators:
            for name in op.inputs:
                last[name] = max(last.get(name, -1), position[op.name])
        return last

    def _loads(self, pool: PoolOperands, name: str, run: KernelRun) -> Iterator[Item]:
        self.steps.append(f"{run.operators[0]}: input {name}")
        pool.present.add(name)
        step, here = len(self.steps) - 1, self.machine.offchip
        yield from pool.whole(name).each(
            lambda o: Load(step, o.piece, _home(here, o), o.region, "dma_in")
        )

    def _stores(self, pool: PoolOperands, name: str) -> Iterator[Item]:
        step, here = len(self.steps) - 1, self.machine.offchip
        yield from pool.whole(name).each(
            lambda o: Store(step, o.piece, o.region, _home(here, o), "dma_out")
        )

    def _releases(self, pool: PoolOperands, name: str) -> Iterator[Item]:
        step = len(self.steps) - 1
        yield from pool.whole(name).each(lambda o: Release(step, *o))


def _home(memory: str, operand: Operand) -> Region:
    return Region(memory, None, operand.region.size_bytes)


def _writer(run: KernelRun) -> type[RunWriter]:
    """What writes a run's instructions."""
    if run.form not in ("alone", "line"):
        return WindowWriter
    return RowsWriter if run.rows else LineWriter
