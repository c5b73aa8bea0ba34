"""Another tool's plan as a plan of ours: the explorer, `check` and `simulate` take it as any other.

Each step in which something becomes live is an operator, which makes it; who is live for the last
time in a step is read there, so that each tensor lies on chip from its first step to its last,
where the tool put it. What a network does beside that, its arithmetic and its weights, no
allocation says: operators have no MACs, and what is there first is made by the first step.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from planners.audits.conflicts import conflicts
from planners.audits.foreign import ForeignPlan, ForeignTensor
from planners.core.errors import BadInput
from planners.core.graph import Graph, Operator, Tensor
from planners.core.machine import Machine, with_scratchpad
from planners.core.plan import Plan
from planners.core.program import (
    Compute,
    Instruction,
    Memory,
    Operand,
    Program,
    Region,
    Release,
    Store,
    whole,
)
from planners.core.progress import Clock
from planners.simulator.account import account

# ---- Names that are each given once --------------------------------------------------------------


class Names:
    """Names in use: of those that come again each gets its number."""

    def __init__(self) -> None:
        self.count: dict[str, int] = {}

    def new(self, name: str) -> str:
        count = self.count[name] = self.count.get(name, 0) + 1
        return name if count == 1 else self.new(f"{name} #{count}")


# --------------------------------------------------------------------------------------------------

SHOWN_AS = "an allocation: tensors where they lie, without arithmetic and weights"


def as_plan(plan: ForeignPlan, memory: str, machine: Machine, planner: str) -> Plan:
    """The tensors of one of its memories as a plan by `planner`, on a machine with as much room as
    they need. Raises `BadInput` where some have no place, or lie on each other."""
    tensors = [t for t in plan.inside(memory) if t.size_bytes]
    if any(t.offset is None for t in tensors) or not tensors:
        raise BadInput(f"{plan.source}: not all tensors have a place: nothing can be shown")
    if gapped := next((t for t in tensors if t.gaps), None):
        raise BadInput(
            f"{plan.source}: {gapped.id!r:.60} has gaps in which others have its bytes: it cannot "
            "be shown as a whole tensor"
        )
    if pairs := conflicts(tensors, 1):
        raise BadInput(
            f"{plan.source}: {pairs[0].one!r:.60} and {pairs[0].other!r:.60} share bytes while "
            "both are live: what lies on each other cannot be shown as whole tensors"
        )
    steps = sorted({t.lower for t in tensors})
    graph = _graph(plan, tensors, steps)
    extent = max(t.stop for t in tensors)
    target = with_scratchpad(machine, extent)
    program = _program(graph, target, tensors, steps)
    accounted, moved = account(graph, program), Clock(0.0)
    claims = accounted.claims(
        accounted.traffic_bytes, accounted.traffic_bytes, plan.tool, moved, proven=False
    )
    notes = (SHOWN_AS, *plan.notes)
    return Plan(planner, graph, target, extent, program, claims, notes=notes)


def is_allocation(plan: Plan) -> bool:
    """Whether a plan is another tool's, or the better one, shown as ours."""
    return SHOWN_AS in plan.notes


def of_allocation(graph: Graph) -> bool:
    """Whether a graph is an allocation's: budgets by name mean nothing there."""
    return "audit" in graph.source


def _last(tensor: ForeignTensor, steps: Sequence[int]) -> int:
    """The number of the last step that it is live in."""
    return bisect_left(steps, tensor.upper) - 1


def _names(tensors: Sequence[ForeignTensor]) -> dict[str, str]:
    """What people call each tensor, by id; of those that are called alike each gets its number."""
    names = Names()
    return {tensor.id: names.new(tensor.called) for tensor in tensors}


def _graph(plan: ForeignPlan, tensors: Sequence[ForeignTensor], steps: Sequence[int]) -> Graph:
    names, numbers = _names(tensors), {step: k for k, step in enumerate(steps)}
    outputs: list[list[str]] = [[] for _ in steps]
    read: list[list[str]] = [[] for _ in steps]
    unread = []
    for tensor in tensors:
        first, last = numbers[tensor.lower], _last(tensor, steps)
        outputs[first].append(names[tensor.id])
        if last > first:
            read[last].append(names[tensor.id])
        if last == first or last == len(steps) - 1:
            unread.append(names[tensor.id])
    taken, operators = Names(), []
    for k, step in enumerate(steps):
        called = plan.steps[step] if step < len(plan.steps) else f"step {step}"
        operators.append(Operator(taken.new(called), called, tuple(read[k]), tuple(outputs[k])))
    return Graph(
        plan.source.rsplit("/", 1)[-1],
        {names[t.id]: Tensor(names[t.id], (t.size_bytes,), "activation", "int8") for t in tensors},
        tuple(operators),
        (),
        tuple(unread),
        source={"audit": plan.tool},
    )


def _program(
    graph: Graph, machine: Machine, tensors: Sequence[ForeignTensor], steps: Sequence[int]
) -> Program:
    names = _names(tensors)
    at = {names[t.id]: t.offset or 0 for t in tensors}
    ends: list[list[str]] = [[] for _ in steps]
    for tensor in tensors:
        ends[_last(tensor, steps)].append(names[tensor.id])

    def operand(name: str) -> Operand:
        return Operand(
            whole(graph.tensors[name]), Region(machine.onchip, at[name], graph.size_bytes(name))
        )

    def home(name: str) -> Region:
        return Region(machine.offchip, None, graph.size_bytes(name))

    kept = frozenset(graph.outputs)
    instructions: list[Instruction] = []
    for k, op in enumerate(graph.operators):
        reads, writes = map(operand, op.inputs), map(operand, op.outputs)
        instructions.append(Compute(k, op.name, tuple(reads), tuple(writes), 0))
        for name in ends[k]:
            piece, region = operand(name)
            if name in kept:
                instructions.append(Store(k, piece, region, home(name)))
            instructions.append(Release(k, piece, region))
    memories = (
        Memory(machine.onchip, machine.scratchpad_bytes),
        Memory(machine.offchip, None, offchip=True, addressed=False),
    )
    return Program(
        memories=memories,
        instructions=tuple(instructions),
        homes={"input": machine.offchip, "output": machine.offchip},
        steps=tuple(op.name for op in graph.operators),
    )
