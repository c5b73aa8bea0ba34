"""When TensorFlow Lite Micro's operators run, of several subgraphs too.

The runtime counts scopes: one for each operator, and one more as `IF`, `WHILE` and `CALL_ONCE`
enter each subgraph that they may run, both of two, whose operators are counted between (as read in
tflite-micro's `micro_allocation_info.cc`). A subgraph that is entered again is counted anew, and
what it holds lives then, and no more before.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from planners.core.errors import BadInput
from planners.importers.tflite.file import TfliteFile, TfliteOperator

RUNS = {
    "IF": ("ThenSubgraphIndex", "ElseSubgraphIndex"),
    "WHILE": ("CondSubgraphIndex", "BodySubgraphIndex"),
    "CALL_ONCE": ("InitSubgraphIndex",),
}
"""The options of operators that name subgraphs."""
UNPLANNED = ("CALL",)
"""Operators that run a subgraph and that the runtime does not have."""
DEEPEST, MOST_SCOPES = 16, 2**16
Numbered = tuple[int, int]
"""A subgraph, and the number of a tensor or an operator in it."""


@dataclass
class Scopes:
    """The scopes in which tensors are first and last in use, and operators begin and end."""

    file: TfliteFile
    names: list[str] = field(default_factory=lambda: ["inputs"])
    first: dict[Numbered, int] = field(default_factory=dict)
    last: dict[Numbered, int] = field(default_factory=dict)
    ran: dict[Numbered, Numbered] = field(default_factory=dict)

    @classmethod
    def from_file(cls, file: TfliteFile) -> Scopes:
        """Raises `BadInput` for subgraphs that are not there, that run themselves, or too many."""
        scopes = cls(file)
        scopes._enter(0, 0)
        return scopes

    @property
    def now(self) -> int:
        return len(self.names) - 1

    def _count(self, name: str) -> None:
        if len(self.names) > MOST_SCOPES:
            raise BadInput(f"{self.file.path} runs operators more than {MOST_SCOPES:,} times")
        self.names.append(name)

    def _enter(self, number: int, depth: int) -> None:
        graph = self.file.subgraphs[number]
        for tensor in (*graph.inputs, *graph.outputs):
            self._made(number, tensor)
        for at, operator in enumerate(graph.operators):
            self._count(operator.kind.lower())
            for tensor in operator.outputs:
                self._made(number, tensor)
            begun = self.now
            for called in self._runs(operator):
                if not 0 < called < len(self.file.subgraphs) or depth >= DEEPEST:
                    raise BadInput(
                        f"{self.file.path}: {operator.label} runs subgraph {called}, which is not "
                        "there or runs itself"
                    )
                self._count(f"subgraph {called}")
                self._enter(called, depth + 1)
            for tensor in (*operator.inputs, *operator.outputs):
                self.last[number, tensor] = self.now
            self.ran[number, at] = begun, self.now
        for tensor in graph.outputs:
            self.last[number, tensor] = self.now

    def _made(self, number: int, tensor: int) -> None:
        self.first[number, tensor] = self.last[number, tensor] = self.now

    def _runs(self, operator: TfliteOperator) -> Iterator[int]:
        if operator.kind in UNPLANNED and len(self.file.subgraphs) > 1:
            raise BadInput(
                f"{self.file.path}: {operator.kind} runs another subgraph, which the runtime cannot"
            )
        for option in RUNS.get(operator.kind, ()):
            yield int(operator.get(option, 0))
