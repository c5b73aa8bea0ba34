"""MACs and element types of `.tflite` files, read by the schema's field numbers alone.

It shares nothing with the importer: no generated reader, and MACs from the shapes of tensors.

python -m tests.importers.tflite_counts FILE...   # a table, ours beside it
"""

from __future__ import annotations

import struct
import sys
from collections import Counter
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

TYPES = "float32 float16 int32 uint8 int64 string bool int16 complex64 int8 float64".split()
CONV, DEPTHWISE, DENSE, LSTM, STRIDED_SLICE, TRANSPOSED, PRODUCT = 3, 4, 9, 44, 45, 67, 126


@dataclass(frozen=True)
class Table:
    """A table of a flatbuffer: its place, and what is at its fields."""

    data: bytes
    at: int

    def _field(self, number: int) -> int:
        places = self.at - struct.unpack_from("<i", self.data, self.at)[0]
        size = struct.unpack_from("<H", self.data, places)[0]
        if 4 + 2 * number >= size:
            return 0
        offset = struct.unpack_from("<H", self.data, places + 4 + 2 * number)[0]
        return self.at + offset if offset else 0

    def number(self, field: int, code: str) -> int:
        at = self._field(field)
        return int(struct.unpack_from(f"<{code}", self.data, at)[0]) if at else 0

    def _vector(self, field: int) -> tuple[int, int]:
        if not (at := self._field(field)):
            return 0, 0
        at += struct.unpack_from("<I", self.data, at)[0]
        return at + 4, struct.unpack_from("<I", self.data, at)[0]

    def numbers(self, field: int) -> tuple[int, ...]:
        at, count = self._vector(field)
        return struct.unpack_from(f"<{count}i", self.data, at)

    def text(self, field: int) -> str:
        at, count = self._vector(field)
        return self.data[at : at + count].decode()

    def tables(self, field: int) -> list[Table]:
        at, count = self._vector(field)
        starts = [at + 4 * k for k in range(count)]
        return [Table(self.data, s + struct.unpack_from("<I", self.data, s)[0]) for s in starts]


@dataclass(frozen=True)
class Counts:
    """MACs of the first subgraph, name, type and shape of its tensors, in the file's order, and
    the numbers of those that follow from its inputs and are not an operand once more."""

    macs: int
    tensors: list[tuple[str, str, tuple[int, ...]]]
    made: set[int]


def counted(path: Path) -> Counts:
    data = path.read_bytes()
    model = Table(data, struct.unpack_from("<I", data, 0)[0])
    codes = [max(c.number(0, "b"), c.number(3, "i")) for c in model.tables(1)]
    graph = model.tables(2)[0]
    tensors = [(t.text(3), TYPES[t.number(1, "b")], t.numbers(0)) for t in graph.tables(0)]
    macs, made = 0, {*graph.numbers(1)}
    for operator in graph.tables(3):
        inputs, outputs = operator.numbers(1), operator.numbers(2)
        shapes = [tensors[n][2] if n >= 0 else () for n in inputs]
        results, code = [tensors[n][2] for n in outputs], codes[operator.number(0, "I")]
        again = code == STRIDED_SLICE and results == shapes[:1]
        if made.intersection(inputs) and not again:
            made |= {*outputs}
        macs += _macs(code, shapes, results)
    return Counts(macs, tensors, made)


def _macs(code: int, read: list[tuple[int, ...]], made: list[tuple[int, ...]]) -> int:
    if code == CONV:  # filters (out, rows, columns, in)
        return prod(made[0]) * prod(read[1][1:])
    if code == DEPTHWISE:  # filters (1, rows, columns, out)
        return prod(made[0]) * read[1][1] * read[1][2]
    if code == DENSE:  # a weight (out, depth)
        return prod(made[0]) * read[1][1]
    if code == TRANSPOSED:  # sizes, filters (out, rows, columns, in), data
        return prod(read[2]) * prod(read[1][:3])
    if code == PRODUCT:
        return prod(made[0]) * read[0][-1]
    if code == LSTM:  # four matrices for the data and four for the hidden state, at every step
        return prod(read[0][:-1]) * sum(prod(shape) for shape in read[1:9] if shape)
    return 0


def kinds(tensors: list[tuple[str, str, tuple[int, ...]]]) -> Counter[str]:
    """How many tensors have each type."""
    return Counter(dtype for _, dtype, _ in tensors)


def differing(graph: Any, counts: Counts) -> list[str]:
    """Names of a graph's tensors that have another type or size than in the file, and of weights
    that are not in the file."""
    by_name: dict[str, set[tuple[str, int]]] = {}
    for number, (name, dtype, shape) in enumerate(counts.tensors):
        for known in (name or f"tensor{number}", f"{name}:{number}"):
            by_name.setdefault(known, set()).add((dtype, prod(shape)))
    wrong = [
        name
        for name, t in graph.tensors.items()
        if name in by_name and (t.dtype, t.elements) not in by_name[name]
    ]
    strange = [
        name for name, t in graph.tensors.items() if t.kind == "parameter" and name not in by_name
    ]
    return [*wrong, *strange]


def main(paths: list[str]) -> None:
    import planners as sp

    print("| file | MACs | here | types of tensors | differing |\n|---|--:|--:|---|--:|")
    for path in map(Path, paths):
        own = counted(path)
        graph = sp.load(path, granularity="aten")
        types = ", ".join(f"{n} {kind}" for kind, n in sorted(kinds(own.tensors).items()))
        ours, wrong = sum(op.macs for op in graph.operators), len(differing(graph, own))
        print(f"| `{path.stem}` | {own.macs:,} | {ours:,} | {types} | {wrong} |")


if __name__ == "__main__":
    main(sys.argv[1:])
