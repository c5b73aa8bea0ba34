"""What binds each operator: which part of a machine its seconds are spent waiting for.

A compute takes its setup and the longest of what its engine does side by side (see
`planners.core.compute_seconds`); an operator is bound by what was longest for most of its seconds,
or by the transfers that its computes waited for, where that took longer than they did.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from planners.core.compute_seconds import seconds_by_port
from planners.core.machine import Machine
from planners.core.plan import Plan
from planners.core.program import AddressSpace, Compute, Load, Store
from planners.simulator.simulate import Trace
from planners.simulator.timing import Durations

MACS, ARRAY, VECTOR, SETUP, GIVEN = "MACs", "array", "vector", "setup", "given"
SAID = {
    MACS: "its MACs, at full rate",
    ARRAY: "steps of the array that are not full",
    VECTOR: "its output elements",
    SETUP: "its setup",
    GIVEN: "the time that was given",
}
FULL = 1.05
"""An array whose steps take at most so many times what its MACs need does these at full rate."""


@dataclass(slots=True)
class OperatorBinding:
    """Of one operator: seconds in which it computes by what was longest (`by`: `MACs`, `array`
    where steps are not full, `vector` for output elements, `setup`, or a memory that is read and
    written), seconds in which its computes waited for transfers, by engine, and MACs."""

    operator: str
    by: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    waited: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    macs: int = 0

    @property
    def busy_s(self) -> float:
        return sum(self.by.values())

    @property
    def binds(self) -> str:
        """What took most of the seconds; empty for an operator that takes none."""
        waited_s = sum(self.waited.values())
        longest = self.waited if waited_s > self.busy_s else self.by
        return max(longest, key=lambda name: longest[name], default="")

    @property
    def sentence(self) -> str:
        """What binds the operator, for people."""
        name = self.binds
        if not name:
            return "no time"
        if name in self.waited and sum(self.waited.values()) > self.busy_s:
            return f"transfers on {name} that it waits for"
        return SAID.get(name, f"bytes of {name} that it reads and writes")

    def utilisation(self, machine: Machine) -> float:
        """MACs over those that the machine would do at its full rate while this computes."""
        return utilisation([self], machine)


def utilisation(some: Sequence[OperatorBinding], machine: Machine) -> float:
    """MACs of some operators over those that the machine would do at its full rate meanwhile."""
    busy_s = sum(each.busy_s for each in some)
    return sum(each.macs for each in some) / (busy_s * machine.macs_per_s) if busy_s else 0.0


def seconds_bound(some: Sequence[OperatorBinding]) -> dict[str, float]:
    """Seconds of some operators by what was longest, the most first."""
    bound: defaultdict[str, float] = defaultdict(float)
    for each in some:
        for name, seconds in each.by.items():
            bound[name] += seconds
    return dict(sorted(bound.items(), key=lambda item: -item[1]))


def what_binds(plan: Plan, trace: Trace, machine: Machine | None = None) -> list[OperatorBinding]:
    """What binds each operator of a plan that was timed, in the order in which they begin.

    `machine` is the one of `trace`, the plan's own unless another is given. Where times were given
    (`Plan.times`, `Operator.seconds`) nothing says what they were spent on.
    """
    given = plan.times is not None and machine in (None, plan.machine)
    machine, items = machine or plan.machine, list(plan.program.instructions)
    durations = Durations(machine, AddressSpace(plan.program.memories), plan.graph)
    engines = {each.instruction: each.engine for each in trace.intervals}
    bindings: dict[str, OperatorBinding] = {}
    for each in trace.intervals:
        item = items[each.instruction]
        if not isinstance(item, Compute):
            continue
        binding = bindings.setdefault(item.operator, OperatorBinding(item.operator))
        binding.macs += item.macs
        measured = given or durations.compute.is_given(item.operator)
        longest = GIVEN if measured else _longest(durations, item)
        binding.by[longest] += each.stop_s - each.start_s
        if each.blocker is not None and isinstance(items[each.blocker], (Load, Store)):
            binding.waited[engines[each.blocker]] += each.stall_s
    return list(bindings.values())


def _longest(durations: Durations, item: Compute) -> str:
    """Which part of a machine takes most of a compute's seconds."""
    machine = durations.machine
    steps_s, outputs_s = durations.compute.array_and_outputs(
        item.operator, item.made, item.sums, item.macs
    )
    full = steps_s <= FULL * item.macs / machine.macs_per_s
    read_s, written_s = durations.memories(item)
    moving_s = seconds_by_port(read_s, written_s, machine, max)
    memories = {*read_s, *written_s}
    busiest = max(
        memories,
        key=lambda name: (read_s.get(name, 0.0) + written_s.get(name, 0.0), name),
        default=SETUP,
    )
    each = {
        MACS if full else ARRAY: steps_s,
        VECTOR: outputs_s,
        busiest: moving_s,
        SETUP: machine.engine(item.engine).latency_s,
    }
    return max(each, key=lambda name: each[name])
