"""Subgraphs that a file's first one runs, put in the place of the operators that run them.

`CALL` runs one, so does `STABLEHLO_COMPOSITE` where a runtime has no kernel of its name, and `IF`
one of two where its condition is a constant of the file. What begins a variable (`CALL_ONCE`) is
read for the variables' first values. Loops, and branches that data decide, have no fixed schedule:
they stay, and the reader refuses them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from planners.core.errors import BadInput
from planners.importers.tflite.file import (
    MOST_OPERATORS,
    MOST_TENSORS,
    TfliteFile,
    TfliteOperator,
    TfliteSubgraph,
    TfliteTensor,
)

DEEPEST = 16


def inlined(file: TfliteFile) -> TfliteSubgraph:
    """The first subgraph with those that it calls in it, tensors and operators numbered anew.

    Raises `BadInput` for subgraphs that are not there, that call themselves, or that do not fit.
    """
    graph = file.subgraphs[0]
    if not any(_called(file, graph, operator) is not None for operator in graph.operators):
        return graph
    into = _Inlining(file, list(graph.tensors))
    into.add(graph, {n: n for n in range(len(graph.tensors))}, 0)
    return replace(graph, tensors=tuple(into.tensors), operators=tuple(into.operators))


def _called(file: TfliteFile, graph: TfliteSubgraph, operator: TfliteOperator) -> int | None:
    """The number of the subgraph that an operator always runs."""
    if operator.kind == "CALL":
        return int(operator.get("Subgraph", 0))
    if operator.kind == "STABLEHLO_COMPOSITE":
        return int(operator.get("DecompositionSubgraphIndex", 0))
    if operator.kind != "IF" or not operator.inputs or operator.inputs[0] < 0:
        return None
    condition = file.numbers(graph.tensors[operator.inputs[0]])
    if condition is None or condition.size != 1:
        return None
    branch = "Then" if bool(condition.reshape(-1)[0]) else "Else"
    return int(operator.get(f"{branch}SubgraphIndex", 0))


class _Inlining:
    def __init__(self, file: TfliteFile, tensors: list[TfliteTensor]) -> None:
        self.file, self.tensors = file, tensors
        self.operators: list[TfliteOperator] = []
        self.calls = 0

    def add(self, graph: TfliteSubgraph, here: Mapping[int, int], depth: int) -> None:
        """A subgraph's operators; `here` has the numbers of its tensors, −1 for itself."""
        numbers = {**here, -1: -1}
        for operator in graph.operators:
            inputs = tuple(numbers[n] for n in operator.inputs)
            outputs = tuple(numbers[n] for n in operator.outputs)
            called = _called(self.file, graph, operator)
            if called is None:
                number = len(self.operators)
                if number >= MOST_OPERATORS:
                    raise BadInput(f"{self.file.path} has more than {MOST_OPERATORS} operators")
                self.operators.append(
                    replace(operator, number=number, inputs=inputs, outputs=outputs)
                )
                continue
            given = inputs[1:] if operator.kind == "IF" else inputs
            self._call(operator, called, given, outputs, depth + 1)

    def _call(
        self,
        operator: TfliteOperator,
        called: int,
        inputs: tuple[int, ...],
        outputs: tuple[int, ...],
        depth: int,
    ) -> None:
        where = f"{self.file.path}: {operator.label}"
        self.calls += 1
        if self.calls > MOST_OPERATORS:
            raise BadInput(f"{self.file.path} calls subgraphs more than {MOST_OPERATORS} times")
        if not 0 < called < len(self.file.subgraphs) or depth > DEEPEST:
            raise BadInput(f"{where} runs subgraph {called}, which is not there or runs itself")
        graph = self.file.subgraphs[called]
        if (len(graph.inputs), len(graph.outputs)) != (len(inputs), len(outputs)):
            raise BadInput(f"{where} does not fit subgraph {called}: other inputs or outputs")
        here = dict(zip(graph.inputs, inputs, strict=True))
        for number, outside in zip(graph.outputs, outputs, strict=True):
            if here.get(number, outside) != outside or graph.tensors[number].constant:
                raise BadInput(
                    f"{where}: subgraph {called} hands on what it is given or a constant, which "
                    "is not read here"
                )
            here[number] = outside
        for tensor in graph.tensors:
            if tensor.number not in here:
                here[tensor.number] = len(self.tensors)
                self.tensors.append(replace(tensor, number=len(self.tensors)))
        if len(self.tensors) > MOST_TENSORS:
            raise BadInput(f"{self.file.path} has more than {MOST_TENSORS} tensors")
        self.add(graph, here, depth)


def first_values(file: TfliteFile, graph: TfliteSubgraph) -> dict[str, NDArray[Any]]:
    """What `CALL_ONCE` gives variables to begin with, by their names, where it is a constant."""
    values: dict[str, NDArray[Any]] = {}
    for once in graph.operators:
        number = int(once.get("InitSubgraphIndex", 0)) if once.kind == "CALL_ONCE" else 0
        if not 0 < number < len(file.subgraphs):
            continue
        begins, handles = file.subgraphs[number], {}
        for operator in begins.operators:
            if operator.kind == "VAR_HANDLE" and operator.outputs:
                handles[operator.outputs[0]] = variable_name(operator)
            elif operator.kind == "ASSIGN_VARIABLE" and len(operator.inputs) == 2:
                handle, value = operator.inputs
                numbers = file.numbers(begins.tensors[value]) if value >= 0 else None
                if handle in handles and numbers is not None:
                    values[handles[handle]] = numbers
    return values


def variable_name(handle: TfliteOperator) -> str:
    """What a VAR_HANDLE calls its variable."""
    name = handle.get("SharedName") or handle.get("Container") or b""
    return name.decode(errors="replace") or "variable"
