"""Parts of a network as networks of their own: to be planned, or to bound the whole.

To be planned, a part begins with an operator that makes (or loads) what is resident when it
begins, and ends with one that reads what must live on: so tensors that cross the part take their
space in it, and are evicted only at their cost.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from math import gcd

from planners.core.graph import Graph, Operator, Tensor
from planners.cosma.model.problem import ScheduleProblem
from planners.cosma.order.breaks import Part
from planners.cosma.replace.optimal import Solution


@dataclass(frozen=True, slots=True)
class Boundary:
    """Tensors between two parts: those on chip, and those of them that the host has too.

    What is used later and not on chip is on the host.
    """

    resident: frozenset[str] = frozenset()
    copied: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class PartProblem:
    """A part to be planned; `leave` is the operator that reads what lives on, if anything does."""

    problem: ScheduleProblem
    names: frozenset[str]
    leave: str | None


def part_problem(
    whole: ScheduleProblem, part: Part, boundary: Boundary, rest: Sequence[int]
) -> PartProblem:
    """A part, after `boundary` and before the operators of `rest`, all by position."""
    graph = whole.graph
    operators = [graph.operators[i] for i in part]
    ops = list(operators)
    there = [t for t in graph.tensors if t in boundary.resident]
    if there:
        copied = tuple(t for t in there if t in boundary.copied)
        fresh = tuple(t for t in there if t not in boundary.copied)
        entered = fresh or (_unused("entered", graph.tensors),)
        ops.insert(0, Operator(_unused("enter", graph.index), "part", copied, entered))
    kept = _that_live_on(whole, operators, there, rest)
    if kept:
        left = _unused("left", graph.tensors)
        ops.append(Operator(_unused("leave", graph.index), "part", kept, (left,)))
    problem = ScheduleProblem(
        _graph(graph, ops),
        tuple(range(len(ops))),
        whole.parameters,
        whole.budget_bytes,
        wished=whole.wished.inside(graph, part),
    )
    return PartProblem(
        problem, frozenset(op.name for op in operators), ops[-1].name if kept else None
    )


def _that_live_on(
    whole: ScheduleProblem, own: Sequence[Operator], there: Sequence[str], rest: Sequence[int]
) -> tuple[str, ...]:
    """What `rest` reads of what the part has, soonest first, as far as it fits together."""
    graph = whole.graph
    had = {*there, *(t for op in own for t in (*op.inputs, *op.outputs))}
    soonest = dict.fromkeys(t for i in rest for t in graph.operators[i].inputs if t in had)
    room = whole.budget_bytes - _unit_bytes(graph)
    kept = []
    for name in soonest:
        if graph.size_bytes(name) <= room:
            room -= graph.size_bytes(name)
            kept.append(name)
    return tuple(kept)


def order_of(planned: PartProblem, solved: ScheduleProblem) -> list[str]:
    """The part's own operators by name, in the order of a solved problem."""
    names = (solved.graph.operators[i].name for i in solved.schedule)
    return [name for name in names if name in planned.names]


def boundary_after(
    planned: PartProblem, solved: ScheduleProblem, solution: Solution, before: Boundary
) -> Boundary:
    """What a planned part leaves on chip for the next ones, and what of it the host has."""
    if planned.leave is None:
        return Boundary()
    position = solved.graph.index[planned.leave]
    end = solved.schedule.index(position)
    starts: dict[str, list[int]] = {}
    for run in solution.offsets:
        starts.setdefault(solved.lines[run.line].tensor, []).append(run.first)
    exits = solved.graph.operators[position].inputs
    # What comes back at the end only is on the host, for its next reader.
    resident = frozenset(t for t in exits if max(starts[t]) < end)
    spilled = {t for t in exits if len(starts[t]) > 1}
    copies = {*solved.graph.inputs, *solved.graph.outputs, *spilled, *before.copied}
    return Boundary(resident, resident & copies)


def induced(
    whole: ScheduleProblem, part: Part, without: frozenset[str] = frozenset()
) -> ScheduleProblem:
    """What all schedules of the whole have to do for a part at least: a bound on it bounds them.

    What comes from elsewhere is on the host at no cost, what goes elsewhere is dead after its
    last use here, and the tensors `without` take no space and cost nothing.
    """
    graph = whole.graph
    ops = [
        replace(
            op,
            inputs=tuple(t for t in op.inputs if t not in without),
            parameters=tuple(t for t in op.parameters if t not in without),
            parts=(),  # They would name tensors that are left out.
        )
        for op in (graph.operators[i] for i in part)
    ]
    wished = whole.wished.inside(graph, part)
    wished = replace(wished, keep=wished.keep - without, spill=wished.spill - without)
    order = tuple(range(len(ops)))
    return ScheduleProblem(
        _graph(graph, ops), order, whole.parameters, whole.budget_bytes, wished=wished
    )


def _graph(whole: Graph, ops: Sequence[Operator]) -> Graph:
    """Operators of the whole, and of ours, as a graph; what none of them makes is an input."""
    written = {t for op in ops for t in op.outputs}
    tensors: dict[str, Tensor] = {}
    for op in ops:
        for name in (*op.inputs, *op.parameters, *op.outputs):
            tensor = whole.tensors.get(name) or _filler(whole, name)
            if name not in written and tensor.kind != "parameter":
                tensor = replace(tensor, kind="input")
            tensors[name] = tensor
    return Graph(
        name=whole.name,
        tensors=tensors,
        operators=tuple(ops),
        inputs=tuple(name for name, t in tensors.items() if t.kind == "input"),
        outputs=tuple(name for name in whole.outputs if name in written),
        bytes_per_element=whole.bytes_per_element,
        granularity=whole.granularity,
    )


def _filler(graph: Graph, name: str) -> Tensor:
    """A tensor of what all sizes are multiples of: the least that disturbs nothing."""
    width = graph.bytes_per_element
    each = width if isinstance(width, int) else 1
    return Tensor(name, (_unit_bytes(graph) // each,), dtype="uint8")


def _unit_bytes(graph: Graph) -> int:
    return gcd(*map(graph.size_bytes, graph.tensors))


def _unused(name: str, taken: Container[str]) -> str:
    while name in taken:
        name += "_"
    return name
