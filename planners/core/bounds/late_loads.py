"""Seconds of any plan within a budget: what is read last cannot all have come before.

Some operators cannot begin, not even with a part of a sum, before others are done: a classifier
behind a global pooling reads nothing that does not depend on all of what lies in front of it. At
the moment at which those are done, the parameters of these have not been read; no more of them than
the budget holds are on chip, and the rest comes after. One engine computes, so that

    makespan >= (computing all that is done before) + (loading what is read behind, less the budget)

It holds of programs that load all parameters that they read, wherever these were moved to off chip
before: what comes may come from every memory at once. A program that reads some of them in place
is of another problem, and so is one with several memories on chip.

Which operators these are follows from what `check` asks to be there for each element, with ranges
of summed channels as small as one. Where it is not known that all of a box is read, nothing is said
(windows that step over elements, calls that state their own relations unless all is touched).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product

from planners.core.access import detailed, needs_apart, reduced
from planners.core.bounds.floors import ProblemFloors
from planners.core.boxes import Box, volume
from planners.core.bytes_accessed import touched_bytes
from planners.core.graph import Graph, Operator
from planners.core.relations import full
from planners.core.weights import COUNTED

MOST_ELEMENTS = 4096
"""Of a tensor, for it to be asked of each of them what it waits for."""
IN_ALL = 8192
"""Elements that are asked about, from the last operators on; of the others nothing is said."""
FEW_ELEMENTS = 64
"""Of a box that is looked at element by element, where parts of it may read less than all of it."""
DEEPEST = 50
"""Operators that a part of a tensor is followed through; behind them nothing is said."""
Done = frozenset[int]
NONE: Done = frozenset()


def late_loads_s(floors: ProblemFloors, budget_bytes: int) -> float:
    """Seconds that no plan with weights counted takes less than in so many bytes of scratchpad.

    Zero where that is no more than the floor, and where nothing is known: parameters that do not
    count, or several memories on chip. Operators that cannot say more are not asked.
    """
    graph = floors.graph
    whole = sum(graph.size_bytes(t) for t in graph.tensors if graph.tensors[t].kind == "parameter")
    if floors.weights != COUNTED or whole <= budget_bytes or floors.machine.slower:
        return 0.0
    waits = _Waits(graph)
    most = _most_s(floors, budget_bytes)
    least, seen = floors.latency_s, set[Done]()
    for last in reversed(range(len(graph.operators))):
        if most[last] <= least:  # What waits for no more than lies in front of it cannot say more.
            break
        done = waits.waits(last)
        if not done or done in seen:
            continue
        seen.add(done)
        sizes: dict[str, int] = {}
        for at in range(max(done) + 1, len(graph.operators)):
            if done <= waits.waits(at):
                op = graph.operators[at]
                for name in op.parameters:
                    sizes[name] = max(touched_bytes(graph, op, name), sizes.get(name, 0))
        after = sum(sizes.values()) - budget_bytes
        before_s = sum(floors.compute_s(graph.operators[at]) for at in done)
        if after > 0:
            least = max(least, before_s + floors.arriving_s(after))
    return least if least > floors.latency_s else 0.0


def _most_s(floors: ProblemFloors, budget_bytes: int) -> list[float]:
    """By operator, what is the most that can be said of those that it waits for.

    All that is done before is among the first k operators of the order, for some k up to its own
    place, and what waits for all of that is behind them.
    """
    graph = floors.graph
    behind, counted = [0], set[str]()
    for op in reversed(graph.operators):
        new = set(op.parameters) - counted
        counted |= new
        behind.append(behind[-1] + sum(map(graph.size_bytes, new)))
    behind.reverse()
    seconds, before_s, most = [], 0.0, 0.0
    for at, op in enumerate(graph.operators):
        most = max(most, before_s + floors.arriving_s(max(0, behind[at] - budget_bytes)))
        seconds.append(most)
        before_s += floors.compute_s(op)
    return seconds


@dataclass
class _Waits:
    """The operators, by number, that are done before others begin."""

    graph: Graph
    known: dict[tuple[str, Box], Done] = field(default_factory=dict)
    asked: int = 0
    of_each: dict[int, Done] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Whole tensors in the order in which they are made: a chain may be of any length."""
        for op in self.graph.operators:
            for name in op.outputs:
                self.before(name, full(self.graph.tensors[name].shape))

    def waits(self, at: int) -> Done:
        """What is done before an operator with parameters runs; nothing is said of others."""
        if at not in self.of_each:
            op = self.graph.operators[at]
            self.of_each[at] = self.before_operator(op) if op.parameters else NONE
        return self.of_each[at]

    def before_operator(self, op: Operator) -> Done:
        """What is done before any part of an operator runs: what each of the least parts waits
        for."""
        done: Done | None = None
        for output in op.outputs:
            for read in self._least_parts(op, output):
                one = NONE.union(*(self.before(name, box) for name, box in read))
                done = one if done is None else done & one
                if not done:
                    return NONE
        return done or NONE

    def _least_parts(self, op: Operator, output: str) -> Iterator[list[tuple[str, Box]]]:
        """What the least parts of an operator read: an element each, of the output, or of the data
        where products may be summed in parts. One that reads nothing where these are too many."""
        graph = self.graph
        summed = reduced(graph, op) is not None
        if summed and not (op.kind == "linear" or not any(op.padding)):
            yield []  # A part may read what is padded alone.
            return
        tensor = graph.tensors[op.inputs[0] if summed else output]
        if tensor.elements > MOST_ELEMENTS or self.asked > IN_ALL:
            yield []
            return
        for place in elements_of(full(tensor.shape)):
            self.asked += 1
            if summed:
                yield [(tensor.name, place)]
            else:
                read = needs_apart(graph, op, output, place)
                yield [(name, box) for name, box in read if name in op.inputs]

    def before(self, tensor: str, box: Box, deep: int = 0) -> Done:
        """What is done once a box of a tensor is finished, as far as it is followed: so many
        operators lie between it and the one that is asked about."""
        if (tensor, box) not in self.known:
            if deep >= DEEPEST:
                return NONE
            self.known[tensor, box] = self._before(tensor, box, deep + 1)
        return self.known[tensor, box]

    def _before(self, tensor: str, box: Box, deep: int) -> Done:
        graph = self.graph
        at = graph.producer.get(tensor)
        if at is None or len(graph.operators[at].outputs) != 1:
            return NONE
        if any(start >= stop for start, stop in box):  # Padding alone is read.
            return NONE
        op = graph.operators[at]
        if box == full(graph.tensors[tensor].shape):
            all_of = [
                self.before(name, full(graph.tensors[name].shape), deep)
                for name in op.inputs
                if touched_bytes(graph, op, name) == graph.size_bytes(name)
            ]
            return frozenset([at]).union(*all_of)
        if not detailed(op) and _reads_all(op):
            boxes = [box]
        elif volume([box]) <= FEW_ELEMENTS:
            boxes = [*elements_of(box)]
        else:
            return NONE
        read = [each for part in boxes for each in needs_apart(graph, op, tensor, part)]
        return NONE.union(
            *(self.before(name, part, deep) for name, part in read if name in op.inputs)
        )


def elements_of(box: Box) -> Iterator[Box]:
    """The boxes of its elements."""
    return product(*([(at, at + 1) for at in range(*side)] for side in box))


def _reads_all(op: Operator) -> bool:
    """Whether windows that follow one another leave nothing out between them."""
    steps = zip(op.kernel, op.stride, strict=False)
    return all(kernel >= stride for kernel, stride in steps) and not any(d > 1 for d in op.dilation)
