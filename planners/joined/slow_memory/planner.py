"""A joined plan on a machine with slower memories on chip behind the scratchpad.

The plan is made for the scratchpad alone. Then what it loads several times and spills goes to the
slower memories (`nearer`), and, where seconds are asked, parameters come there ahead of their time
(`ahead`), as far as these have room. The scoreboard decides whether each is better.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from planners.core.machine import Machine
from planners.core.objective import Objective
from planners.core.plan import Plan
from planners.core.program import Program
from planners.core.progress import Clock
from planners.core.units import format_bytes
from planners.joined.evaluator import Judged, claimed
from planners.joined.segments import writing_s
from planners.joined.slow_memory.prefetch import AheadLoads, BankSpace
from planners.joined.slow_memory.reload_cache import nearer
from planners.simulator.account import account
from planners.simulator.simulate import simulate
from planners.simulator.traffic import moved_bytes
from planners.wishes.language import Wish, broken

TIMED = 2.0
"""Times what it takes to judge a program: to time it twice and write it once, with others ahead."""


def with_slower(
    judged: Judged, machine: Machine, aim: Objective, wishes: Sequence[Wish], clock: Clock
) -> Judged:
    """The best of a plan and of the same with slower memories of the machine in use, that keeps to
    the wishes as the plan does."""
    best = replace(judged, plan=replace(judged.plan, machine=machine))
    if not clock.allows(TIMED * writing_s(judged.plan.program)):
        return best
    for program in _programs(judged.plan, machine, aim, clock):
        other = of_program(judged, program, machine, aim)
        if aim.better(other.value, best.value) and not broken(other.plan, wishes):
            best = other
    return best


def of_program(judged: Judged, program: Program, machine: Machine, aim: Objective) -> Judged:
    """A plan with another program, of a machine with slower memories."""
    plan = replace(judged.plan, machine=machine, program=program)
    moved = account(plan.graph, program)
    claims = replace(
        plan.claims,
        noncompulsory_bytes=moved.traffic_bytes - moved.compulsory_bytes,
        peak_bytes=moved.peak_bytes,
        extent_bytes=moved.extent_bytes,
        objective_bytes=moved.traffic_bytes,
    )
    plan = replace(plan, claims=claims)
    trace = simulate(plan)
    plan = replace(claimed(plan, trace, aim), notes=(*plan.notes, _told(plan)))
    return replace(judged, plan=plan, timed=trace, value=aim.value(plan, trace))


def _programs(plan: Plan, machine: Machine, aim: Objective, clock: Clock) -> Iterator[Program]:
    """Programs that use slower memories in more and more ways, while there is time."""
    each_s = TIMED * writing_s(plan.program)
    near, space = nearer(plan.graph, machine, plan.program)
    if space.taken:
        yield near
    if aim.name != "latency" or not clock.allows(each_s):
        return
    yield AheadLoads(plan.graph, machine, near, space, clock).best()
    if near is not plan.program and clock.allows(each_s):
        yield AheadLoads(plan.graph, machine, plan.program, BankSpace(machine), clock).best()


def _told(plan: Plan) -> str:
    """What goes through slower memories."""
    moved = moved_bytes(plan.program, plan.machine)
    texts = (
        f"{format_bytes(moved.written[name])} to {name}"
        for name in plan.machine.slower
        if moved.written[name]
    )
    return f"in slower memories on chip what comes again or ahead of its time: {', '.join(texts)}"
