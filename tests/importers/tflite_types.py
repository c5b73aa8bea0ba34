"""Networks with elements of every width, and what the schema says in a second place, by chance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from pathlib import Path
from random import Random

import numpy as np

from tests.importers.tflite_models import TfliteWriter

BITS = {"int2": 2, "int4": 4, "uint4": 4, "int8": 8, "uint8": 8, "float16": 16, "float32": 32}
BITS |= {"bfloat16": 16, "float8_e4m3fn": 8, "float8_e5m2": 8, "int16": 16, "int64": 64}
SCALED = ("int2", "int4", "uint4", "int8", "uint8")
STORED = ("int2", "int4", "uint4", "int8", "uint8", "float16")
"""What LiteRT's `DEQUANTIZE` reads."""
CAST = ("int4", "uint4", "int8", "uint8", "float16", "int16", "int64")
"""What its `CAST` goes to and comes back from."""
MOVED = ("int4", "uint4", "int8", "float16", "float8_e4m3fn", "float8_e5m2", "float32")
"""What its `RESHAPE` and `TRANSPOSE` move."""
WEIGHTS = ("int2", "int4", "int8", "float32")
"""What its `FULLY_CONNECTED` multiplies floats with."""
REST = ("bfloat16", "float8_e4m3fn", "float8_e5m2", "uint4", "int4", "float16")
"""Of tables that only `EMBEDDING_LOOKUP` reads, which looks at no type's elements."""


class TypedNet:
    """A network of floats, (rows, columns), whose weights and steps have other types."""

    def __init__(self, seed: int, steps: int = 4) -> None:
        self.rng, self.w, self.macs = Random(seed), TfliteWriter(), 0
        self.bytes = np.random.default_rng(seed)
        self.x = self.w.tensor((self.rng.randint(2, 5), self.rng.randint(3, 9)), name="x")
        self.w.inputs, self.w.versions = [self.x], {"FULLY_CONNECTED": 6}
        kinds = "dense dense dequantized passed whole looked_up composite element turned".split()
        for _ in range(steps):
            getattr(self, self.rng.choice(kinds))()
        self.w.outputs = [self.x]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.w.tensors[self.x]["shape"])

    def tensor(self, shape: Sequence[int], dtype: str = "float32") -> int:
        return self.w.tensor(tuple(shape), dtype, **({"scale": 0.1} if dtype in SCALED else {}))

    def constant(self, shape: Sequence[int], dtype: str, scales: int = 1) -> int:
        """Packed, as many bytes as its elements take together."""
        size = -(-prod(shape) * BITS[dtype] // 8)
        data = self.bytes.integers(0, 100, size).astype(np.uint8)
        if dtype == "float32":
            data = self.bytes.standard_normal(tuple(shape)).astype(np.float32)
        more = {"scale": [0.1] * scales} if dtype in SCALED else {}
        return self.w.tensor(tuple(shape), dtype, data, **more)

    def run(self, kind: str, more: Sequence[int], shape: Sequence[int], dtype: str, *rest: str,
            **given: object) -> None:  # fmt: skip
        out = [self.tensor(shape, dtype)]
        self.x = self.w.operator(kind, [self.x, *more], out, *rest, **given)

    def dense(self) -> None:
        rows, read = self.shape
        made, dtype = self.rng.randint(2, 7), self.rng.choice(WEIGHTS)
        weights = self.constant((made, read), dtype, self.rng.choice([1, made]))
        self.macs += rows * made * read
        self.run("FULLY_CONNECTED", [weights, -1], (rows, made), "float32", "FullyConnectedOptions")

    def whole(self) -> None:
        """In whole numbers, and back."""
        rows, read = self.shape
        made, dtype = self.rng.randint(2, 7), self.rng.choice(["int2", "int4", "int8"])
        self.run("QUANTIZE", [], self.shape, "int8", "QuantizeOptions")
        weights = self.constant((made, read), dtype)
        self.macs += rows * made * read
        self.run("FULLY_CONNECTED", [weights, -1], (rows, made), "int8", "FullyConnectedOptions")
        self.run("DEQUANTIZE", [], (rows, made), "float32", "DequantizeOptions")

    def dequantized(self) -> None:
        """A constant of another type, added."""
        stored = self.constant(self.shape, self.rng.choice(STORED))
        out = [self.tensor(self.shape)]
        made = self.w.operator("DEQUANTIZE", [stored], out, "DequantizeOptions")
        self.run("ADD", [made], self.shape, "float32", "AddOptions")

    def passed(self) -> None:
        """As another type meanwhile, which is moved."""
        shape, dtype = self.shape, self.rng.choice(CAST)
        self.run("CAST", [], shape, dtype, "CastOptions")
        if dtype in MOVED and self.rng.random() < 0.7:
            self.reshaped((shape[1], shape[0]), dtype)
        self.run("CAST", [], self.shape, "float32", "CastOptions")

    def reshaped(self, shape: Sequence[int], dtype: str) -> None:
        """By an operand, by the operator's options, or both."""
        ways = self.rng.choice(["operand", "options", "both"])
        more = [] if ways == "options" else [self.w.numbers(shape)]
        given = {} if ways == "operand" else {"NewShape": list(shape)}
        self.run("RESHAPE", more, shape, dtype, "ReshapeOptions", **given)

    def looked_up(self) -> None:
        """Rows of a table that stays as it is stored, which are floats, added to all rows."""
        table = self.constant((6, self.shape[1]), self.rng.choice([*REST, *STORED]))
        rows = self.w.numbers([self.rng.randrange(6) for _ in range(self.shape[0])])
        self.w.tensors[rows]["data"] = None
        self.w.inputs.append(rows)
        found = self.w.operator("EMBEDDING_LOOKUP", [rows, table], [self.tensor(self.shape)])
        self.run("ADD", [found], self.shape, "float32", "AddOptions")

    def element(self) -> None:
        self.run(self.rng.choice(["RELU", "TANH"]), [], self.shape, "float32")

    def turned(self) -> None:
        rows, columns = self.shape
        order = self.w.numbers([1, 0])
        self.run("TRANSPOSE", [order], (columns, rows), "float32", "TransposeOptions")

    def composite(self) -> None:
        """A subgraph of its own, its number among options that newer operators have."""
        inner = TypedNet(self.rng.randrange(1000), 0)
        inner.w.tensors[inner.x]["shape"] = self.shape
        inner.dense()
        inner.w.inputs, inner.w.outputs = [0], [inner.x]
        for tensor in inner.w.tensors:
            tensor["name"] = f"inner{len(self.w.others)}/{tensor['name']}"
        self.macs += inner.macs
        self.w.others.append(inner.w)
        given = {"Name": "drawn.dense", "CompositeAttributes": b"\0$\1"}
        given["DecompositionSubgraphIndex"] = len(self.w.others)
        options = "StableHLOCompositeOptions"
        self.run("STABLEHLO_COMPOSITE", [], inner.shape, "float32", options, **given)

    def sizes(self) -> dict[str, int]:
        """The bytes of each tensor, by the bits of its type."""
        tensors = [t for graph in (self.w, *self.w.others) for t in graph.tensors]
        return {t["name"]: -(-prod(t["shape"]) * BITS.get(t["dtype"], 32) // 8) for t in tensors}


WAYS: tuple[dict[str, object], ...] = (
    {},
    {"codes": "old"},
    {"codes": "new"},
    {"open_batch": True},
    {"behind": True},
    {"codes": "old", "open_batch": True, "behind": True},
)
"""Where a file says what the schema has two places for."""


def typed_files(seed: int, folder: Path) -> Iterator[tuple[TypedNet, Path]]:
    """A network, written in each of these ways."""
    for number, way in enumerate(WAYS):
        net = TypedNet(seed)
        for name, value in way.items():
            setattr(net.w, name, value)
        yield net, net.w.save(folder / f"{seed}_{number}.tflite")
