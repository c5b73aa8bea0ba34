"""Sizes that a file computes from its shapes by arithmetic, drawn by chance, beside onnx's runs.

python -m tests.importers.size_chains [COUNT]   # counts what is read as it runs
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import planners as sp

F, I32, I64 = TensorProto.FLOAT, TensorProto.INT32, TensorProto.INT64
TYPES = {F: np.float32, I32: np.int32, I64: np.int64}


class SizeChain:
    """A map cut to sizes that are computed from its own, as converters clip and round them."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.nodes: list[Any] = []
        self.weights: dict[str, Any] = {}
        self.shape = tuple(self.rng.randint(2, 6) for _ in range(self.rng.randint(1, 3)))
        self.at, self.type = self.node("Shape", "x"), I64
        for _ in range(self.rng.randint(2, 6)):
            self.rng.choice((self.arithmetic, self.cast, self.chosen, self.rounded, self.joined))()
        self.cast(I64)
        ends = self.node("Max", self.node("Abs", self.at), self.number(1, I64))
        axes = self.numbers(list(range(len(self.shape))), I64)
        starts = self.numbers([0] * len(self.shape), I64)
        self.nodes.append(helper.make_node("Relu", ["x"], ["z"]))
        self.nodes.append(helper.make_node("Slice", ["z", starts, ends, axes], ["y"]))

    def node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def numbers(self, numbers: Any, kind: int) -> str:
        name = f"w{len(self.weights)}"
        self.weights[name] = np.asarray(numbers, TYPES[kind])
        return name

    def number(self, number: Any, kind: int) -> str:
        """One for all, or one for each axis, which are then alike but for one."""
        count = self.rng.choice((0, 1, len(self.shape)))
        return self.numbers([number] * count if count else number, kind)

    def other(self) -> str:
        """Numbers of the type that there is."""
        several = [self.rng.randint(1, 4) for _ in self.shape]
        return self.rng.choice(
            (self.number(several[0], self.type), self.numbers(several, self.type))
        )

    def arithmetic(self) -> None:
        kind = self.rng.choice(("Add", "Sub", "Mul", "Div", "Max", "Min"))
        pair = [self.at, self.other()]
        if kind != "Div" and self.rng.random() < 0.3:
            pair.reverse()
        self.at = self.node(kind, *pair)

    def cast(self, kind: int | None = None) -> None:
        self.type = kind or self.rng.choice((F, F, I32, I64))
        self.at = self.node("Cast", self.at, to=self.type)

    def chosen(self) -> None:
        kind = self.rng.choice(("Equal", "Less", "Greater"))
        first = self.node(kind, self.at, self.other())
        if self.rng.random() < 0.4:
            first = self.node("And", first, self.node("Less", self.at, self.other()))
        self.at = self.node("Where", first, self.other(), self.at)

    def rounded(self) -> None:
        if self.type != F:
            self.cast(F)
        self.at = self.node("Mul", self.at, self.number(self.rng.choice((0.5, 0.75, 1.5)), F))
        self.at = self.node(self.rng.choice(("Floor", "Ceil", "Round")), self.at)

    def joined(self) -> None:
        """The first axis' number beside others for the rest."""
        first = self.node("Gather", self.at, self.numbers([0], I64))
        if len(self.shape) > 1:
            rest = [self.rng.randint(1, 5) for _ in self.shape[1:]]
            first = self.node("Concat", first, self.numbers(rest, self.type), axis=0)
        self.at = first

    def model(self) -> Any:
        start = helper.make_tensor_value_info("x", F, self.shape)
        held = [numpy_helper.from_array(a, n) for n, a in self.weights.items()]
        end = helper.make_empty_tensor_value_info("y")
        graph = helper.make_graph(self.nodes, "sizes", [start], [end], held)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def examined(seed: int, path: Path) -> str:
    """What came of one: right, or what differs."""
    chain = SizeChain(seed)
    path.write_bytes(chain.model().SerializeToString())
    runs = ReferenceEvaluator(chain.model()).run(["y"], {"x": np.zeros(chain.shape, np.float32)})
    try:
        graph = sp.from_onnx(path, granularity="aten")
    except sp.SpillwayError as error:
        return f"refused: {error}"
    found = graph.tensors["y"].shape if "y" in graph.tensors else chain.shape
    left = {op.kind for op in graph.operators} - {"relu", "slice"}  # no arithmetic on sizes
    wrong = found != runs[0].shape or graph.inputs != ("x",) or left
    return f"wrong: {found}, not {runs[0].shape}, {left}" if wrong else "right"


def main() -> None:
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(int(sys.argv[1]) if sys.argv[1:] else 500):
            came = examined(seed, Path(folder) / "sizes.onnx")
            counts[came.split(":")[0]] += 1
            if came != "right":
                print(seed, came.replace(folder, ""))
    print(dict(counts))


if __name__ == "__main__":
    main()
