"""Several memories of different size and speed: each tensor lies in one, for all of its life.

Nothing is spilled and nothing moves between memories. What is least is the bytes read and written
in the slowest memory, then in the one before it, and so on (`planners.allocation.banks`); of the
plans found with as few, the fastest on the machine is taken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from planners.allocation.banks.model import Bank, Banked, BankPlaces, BankProblem
from planners.allocation.banks.place import place_in_banks
from planners.allocation.problem.model import Lifetime, live_peak
from planners.core.errors import BadInput, MemoriesTooSmall, NoPlanFound
from planners.core.machine import Machine, with_scratchpad
from planners.core.options import Rule
from planners.core.plan import Plan
from planners.core.problem import Problem
from planners.core.program import Program
from planners.core.units import format_bytes
from planners.cosma.emit.program import emit
from planners.cosma.model.problem import ScheduleProblem, TensorStay, runs
from planners.cosma.options import CosmaOptions
from planners.cosma.order.peak import PEAK_WORK, minimum_peak
from planners.simulator.account import account
from planners.simulator.timing import schedule


def plan_in_banks(request: Problem[CosmaOptions], problem: ScheduleProblem, about: str) -> Plan:
    """A plan on a machine of several memories, of whose fastest the budget is the most to use.

    `about` is a note on what the numbers rest on. Raises `BadInput` for options that are for one
    memory, and `MemoriesTooSmall` with what binds where there is no way, or none was found.
    """
    machine, chosen, clock = request.machine, request.options, request.clock
    _require_of_several(machine, chosen)
    problem = replace(problem, budget_bytes=min(problem.budget_bytes, machine.scratchpad_bytes))
    machine = with_scratchpad(machine, problem.budget_bytes)
    if chosen.schedule == "mpmf":
        clock.report("schedule of least peak")
        peak = minimum_peak(problem.graph, problem.parameters, clock=clock.work(PEAK_WORK))
        problem = replace(problem, schedule=peak.schedule)
    stays = {problem.lines[stay.line].tensor: stay for stay in runs(problem, frozenset())}
    lives = tuple(_lifetimes(problem, stays))
    _require_fit(problem, machine, lives)
    banks = [Bank(level.name, level.size_bytes) for level in machine.banks]
    clock.report("memories")
    emitted = _Emitted(problem, machine, stays)
    banked = place_in_banks(
        BankProblem(lives, banks, _touched(problem)),
        clock=clock,
        tie=emitted.seconds,
    )
    if banked.status != "placed":
        raise _none_found(problem, machine, lives, banked)
    program = emitted.program(banked.places)
    claims = account(problem.graph, program).claims(
        banked.slow_bytes, banked.bound_bytes, banked.solver, clock, banked.proven
    )
    plan = request.plan(program, claims, (about, *_notes(machine, chosen, banked)))
    return replace(plan, machine=machine)


def _rules(chosen: CosmaOptions) -> Iterator[Rule]:
    """What cannot be asked of several memories, and why."""
    if chosen.objective != "traffic":
        yield Rule("objective", "the fewest bytes through slow memories is all: use 'traffic'")
    if chosen.schedule not in ("default", "mpmf"):
        yield Rule("schedule", "the order comes first: use 'default' or 'mpmf'")
    if chosen.method != "search":
        yield Rule("method", "the paper's ILP knows one memory: use 'search'")
    if chosen.replacement != "optimal":
        yield Rule("replacement", "nothing is replaced: use 'optimal'")
    if chosen.wishes:
        yield Rule("wishes", "nothing is spilled: leave them out")


def _require_of_several(machine: Machine, chosen: CosmaOptions) -> None:
    for rule in _rules(chosen):
        names = " and ".join(level.name for level in machine.banks)
        raise BadInput(f"{rule.option}: with several memories ({names}) {rule.reason}")


def _lifetimes(problem: ScheduleProblem, stays: Mapping[str, TensorStay]) -> Iterator[Lifetime]:
    """Each tensor from its first use to its last."""
    for name, stay in stays.items():
        size = problem.lines[stay.line].size_bytes
        yield Lifetime(name, stay.first, stay.last + 1, size)


def _touched(problem: ScheduleProblem) -> dict[str, int]:
    """Bytes read and written of each tensor: by operators, and as it comes and leaves."""
    graph, uses = problem.graph, Counter[str]()
    for op in graph.operators:
        uses.update((*op.inputs, *op.outputs, *(op.parameters if problem.parameters else ())))
    for line in problem.lines:
        uses[line.tensor] += not line.produced  # its load
        uses[line.tensor] += line.produced and line.tensor in graph.outputs  # its store
    return {name: count * graph.size_bytes(name) for name, count in uses.items()}


@dataclass(frozen=True)
class _Emitted:
    """Programs of places, and how long they take."""

    problem: ScheduleProblem
    machine: Machine
    stays: Mapping[str, TensorStay]

    def program(self, places: BankPlaces) -> Program:
        offsets = {stay: places[name][1] for name, stay in self.stays.items()}
        memory_of = {name: memory for name, (memory, _) in places.items()}
        return emit(self.problem, self.machine, offsets, memory_of=memory_of)

    def seconds(self, places: BankPlaces) -> float:
        """The makespan."""
        intervals = schedule(self.program(places), self.machine, self.problem.graph)
        return max((each.stop_s for each in intervals), default=0.0)


def _notes(machine: Machine, chosen: CosmaOptions, found: Banked) -> Iterator[str]:
    each = [
        f"{level.name} {format_bytes(touched)}"
        + ("" if touched == bound else f" (none has less than {format_bytes(bound)})")
        for level, touched, bound in zip(machine.banks, found.touched, found.bounds, strict=True)
        if level.name != machine.onchip
    ]
    yield f"bound and status hold for the {chosen.schedule} schedule, each tensor in one memory"
    yield (
        "objective and bound are bytes read and written in slower memories than "
        f"{machine.onchip}, the slowest first: {', '.join(reversed(each))}"
    )
    yield (
        f"the budget is the most of {machine.onchip} that is used, which is here "
        f"{format_bytes(machine.scratchpad_bytes)}; the other memories are the machine's"
    )


def _require_fit(problem: ScheduleProblem, machine: Machine, lives: tuple[Lifetime, ...]) -> None:
    """Raise `MemoriesTooSmall` for a tensor or a step that is too large."""
    largest = max(machine.banks, key=lambda level: level.size_bytes)
    for item in lives:
        if item.size_bytes > largest.size_bytes:
            operator = problem.graph.operators[problem.schedule[item.lower]].name
            raise MemoriesTooSmall(
                item.size_bytes, largest.size_bytes, operator, (item.id,), (largest.name,)
            )
    need, step = live_peak(lives)
    if need > sum(level.size_bytes for level in machine.banks):
        raise _too_small(problem, machine, lives, step)


def _too_small(
    problem: ScheduleProblem,
    machine: Machine,
    lives: tuple[Lifetime, ...],
    step: int,
    why: str = "",
) -> MemoriesTooSmall:
    there = [item for item in lives if item.lower <= step < item.upper]
    return MemoriesTooSmall(
        sum(item.size_bytes for item in there),
        sum(level.size_bytes for level in machine.banks),
        problem.graph.operators[problem.schedule[step]].name,
        tuple(item.id for item in there),
        tuple(level.name for level in machine.banks),
        why,
    )


def _none_found(
    problem: ScheduleProblem, machine: Machine, lives: tuple[Lifetime, ...], found: Banked
) -> MemoriesTooSmall | NoPlanFound:
    """No way to share out what would fit by bytes: proven, or none found in the time."""
    refused = _too_small(problem, machine, lives, live_peak(lives)[1], "proven")
    if found.status == "infeasible":
        return refused
    where = " and ".join(refused.memories)
    return NoPlanFound(
        f"none found: operator {refused.operator!r} ({', '.join(refused.tensors)}) needs "
        f"{refused.need_bytes} bytes at once, {where} have {refused.have_bytes} in all; no way to "
        "divide the tensors among them was found, and no proof that none exists: allow more time"
    )
