"""MACs of a program, and the bytes that it reads and writes in each memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace

from planners.core.compute_seconds import ComputeSeconds
from planners.core.graph import Graph
from planners.core.machine import Machine
from planners.core.program import (
    AddressSpace,
    Compute,
    Instruction,
    Load,
    Operand,
    Piece,
    Program,
    Release,
    Store,
)
from planners.simulator.records.traffic import MovedBytes, joules

# ---- Sums made in parts: a part after the first reads what it adds to ----------------------------


def reading_sums(program: Program, spaces: AddressSpace) -> Iterator[Instruction]:
    """The instructions of a valid program, in which parts of sums read what they add to.

    The first part of a piece begins it. It stays the same one until it is released, which it
    cannot be before it is complete.
    """
    begun: set[tuple[str, Piece]] = set()

    def key(operand: Operand) -> tuple[str, Piece]:
        return spaces.root(operand.region.memory).name, operand.piece

    for item in program.instructions:
        if begun and isinstance(item, Release):
            begun.discard(key(Operand(item.piece, item.region)))
        elif begun and isinstance(item, Compute) and item.frees:
            begun.difference_update(key(item.reads[at]) for at in item.frees)
        if isinstance(item, Compute) and item.sums is not None:
            again = tuple(operand for operand in item.writes if key(operand) in begun)
            begun.update(map(key, item.writes))
            item = replace(item, reads=(*item.reads, *again))
        yield item


# --------------------------------------------------------------------------------------------------


def moved_bytes(program: Program, machine: Machine, graph: Graph | None = None) -> MovedBytes:
    """What a program moves on a machine, instruction by instruction; where `graph` is what it runs,
    what the machine's array reads again, too.

    An instruction reads each operand once from its memory and writes each result once; a part of a
    sum after the first reads what it adds to, a part of a piece writes its own bytes.
    """
    spaces = AddressSpace(program.memories)
    level = {name: machine.memory(spaces.level(name)) for name in spaces.memories}
    macs = 0
    read: dict[str, int] = defaultdict(int)
    written: dict[str, int] = defaultdict(int)
    again: dict[str, int] = defaultdict(int)
    compute = None if graph is None or machine.is_ideal else ComputeSeconds(graph, machine)
    for item in reading_sums(program, spaces):
        match item:
            case Load() | Store():
                reads, writes = [item.source], [(item.target, item.target.size_bytes)]
            case Compute():
                reads = [operand.region for operand in item.reads]
                writes = list(item.written)
                macs += item.macs
                if compute is not None:
                    box = compute.made_box(item.operator, item.made)
                    times = compute.input_reads(item.operator, box, item.sums) - 1
                    for (tensor, _), region in item.reads if times else ():
                        if tensor == compute.streamed(item.operator):
                            again[level[region.memory].name] += times * region.size_bytes
            case _:
                continue
        for region in reads:
            read[level[region.memory].name] += region.size_bytes
        for region, size_bytes in writes:
            written[level[region.memory].name] += size_bytes
    return MovedBytes(macs, read, written, again)


# ---- Joules of a program: bytes read and written in each memory, and MACs ------------------------


def energy(program: Program, machine: Machine) -> Mapping[str, float]:
    """Joules by where they go: `compute` and one entry for each memory, by its name."""
    return joules(machine, moved_bytes(program, machine))
