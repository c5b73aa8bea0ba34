"""MACs of a program, and the bytes that it reads and writes in each memory."""

from __future__ import annotations

from collections import defaultdict

from planners.core.compute_seconds import ComputeSeconds
from planners.core.graph import Graph
from planners.core.machine import Machine
from planners.core.program import AddressSpace, Compute, Load, Program, Store
from planners.simulator.ground.moved import MovedBytes
from planners.simulator.sums import reading_sums


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
