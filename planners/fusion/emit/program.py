"""A partition with a way to run each group becomes a program, group by group.

Between groups everything is off chip, but for what is held whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from math import inf
from time import perf_counter

from planners.core.graph import Graph
from planners.core.loops import LoopedInstructions, held
from planners.core.machine import Machine
from planners.core.program import Item, Program
from planners.fusion.emit.group import GroupEmitter
from planners.fusion.emit.laid import LaidGroup, memories_of
from planners.fusion.emit.residents import Residents


def emit(
    graph: Graph,
    machine: Machine,
    groups: Sequence[LaidGroup],
    budget_bytes: int,
    within_s: float = inf,
) -> Program:
    """The program of these groups, one after the other.

    Raises `TimeOver` where it takes more seconds to be written first: pieces may be many in an
    instruction.
    """
    memories = memories_of(machine, groups, budget_bytes)
    steps = tuple(name for laid in groups for name in laid.step_names())
    first = [within_s]

    def items() -> Iterator[Item]:
        until_s = perf_counter() + first.pop() if first else inf
        step, residents = 0, Residents(graph, machine, until_s)
        emitters = []
        for laid in groups:
            emitters.append(GroupEmitter(residents, laid, step))
            step += len(laid.step_names())
        for emitter, following in zip_longest(emitters, emitters[1:]):
            yield from emitter.run(following)

    homes = {"input": machine.offchip, "output": machine.offchip, "parameter": machine.parameters}
    return held(Program(memories, LoopedInstructions(items), homes, steps))
