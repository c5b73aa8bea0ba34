"""Loops and scans whose rounds follow from numbers and sizes, drawn by chance.

python -m tests.importers.onnx_rounds [COUNT]   # where onnxruntime is, beside what it gives
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

import planners as sp

try:
    import onnxruntime
except ImportError:  # it is no need of ours
    onnxruntime = None

F, B, I64 = TensorProto.FLOAT, TensorProto.BOOL, TensorProto.INT64


def _info(name: str, kind: int = F) -> Any:
    """Of numbers and conditions the runtime wants to know that they are one."""
    return helper.make_tensor_value_info(name, kind, None if kind == F else [])


class Rounds:
    """One product in each round, of what is carried or of a row; what rounds give is stacked."""

    def __init__(self, seed: int) -> None:
        self.rng, self.weights = Random(seed), dict[str, Any]()
        self.wide, self.rows = self.rng.randint(1, 4), self.rng.randint(1, 4)
        self.count = self.rng.randint(1, 5)
        self.kind = self.rng.choice(("counted", "while", "of sizes", "scan", "scan"))
        self.stacks = self.kind == "scan" or self.rng.random() < 0.6
        self.shape = (self.count, self.rows, self.wide)
        self.held("w", np.ones((self.wide, self.wide), np.float32))
        self.nodes = self._scan() if self.kind == "scan" else self._loop()
        ends = ["last", *["all"] * self.stacks]
        graph = helper.make_graph(
            self.nodes,
            "rounds",
            [helper.make_tensor_value_info("x", F, self.shape)],
            [_info(name) for name in ends],
            [numpy_helper.from_array(np.asarray(a), n) for n, a in self.weights.items()],
        )
        self.model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        self.macs = self.count * self.rows * self.wide * self.wide
        self.gives = {"last": self.shape[1:]} | ({"all": self.shape} if self.stacks else {})

    def held(self, name: str, array: Any) -> str:
        self.weights[name] = array
        return name

    def _start(self) -> list[Any]:
        """What is carried begins as the first of the rows."""
        self.held("zero", np.int64(0))
        return [helper.make_node("Gather", ["x", "zero"], ["begin"], axis=0)]

    def _body(self, reads: str, more: list[Any], starts: list[Any], ends: list[Any]) -> Any:
        own = self.rng.random() < 0.5  # weights of the body's own, or of the graph around it
        weight = numpy_helper.from_array(self.weights["w"], "w_in")
        nodes = [
            helper.make_node("MatMul", [reads, "w_in" if own else "w"], ["m"]),
            helper.make_node("Add", ["m", "state"], ["next"]),
            *more,
        ]
        if self.stacks:
            nodes.append(helper.make_node("Relu", ["next"], ["row"]))
            ends = [*ends, _info("row")]
        return helper.make_graph(nodes, "body", starts, ends, [weight] if own else [])

    def _loop(self) -> list[Any]:
        nodes, most, runs, more, cond = self._start(), "", "", [], "go"
        if self.kind == "counted":
            most = self.held("most", np.int64(self.count))
        elif self.kind == "of sizes":
            nodes += [
                helper.make_node("Shape", ["x"], ["sizes"]),
                helper.make_node("Gather", ["sizes", "zero"], ["most"], axis=0),
            ]
            most = "most"
        else:  # as converters write `while`: so long as the next number is less
            runs = self.held("runs", np.array(True))
            most = self.rng.choice(("", self.held("most", np.int64(2**63 - 1))))
            self.held("one", np.int64(1))
            self.held("count", np.int64(self.count))
            more = [
                helper.make_node("Add", ["i", "one"], ["after"]),
                helper.make_node("Less", ["after", "count"], ["goes"]),
            ]
            cond = "goes"
        if cond == "go":
            more = [helper.make_node("Identity", ["go"], ["goes"])]
        starts = [_info("i", I64), _info("go", B), _info("state")]
        body = self._body("state", more, starts, [_info("goes", B), _info("next")])
        gives = ["last", *["all"] * self.stacks]
        return [*nodes, helper.make_node("Loop", [most, runs, "begin"], gives, body=body)]

    def _scan(self) -> list[Any]:
        body = self._body("part", [], [_info("state"), _info("part")], [_info("next")])
        node = helper.make_node(
            "Scan", ["begin", "x"], ["last", "all"], body=body, num_scan_inputs=1
        )
        return [*self._start(), node]


def examined(seed: int, path: Path) -> str:
    """What came of one: right, or what differs."""
    rounds = Rounds(seed)
    path.write_bytes(rounds.model.SerializeToString())
    if onnxruntime is not None:
        model = rounds.model.SerializeToString()
        session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
        found = session.run(list(rounds.gives), {"x": np.ones(rounds.shape, np.float32)})
        if [value.shape for value in found] != list(rounds.gives.values()):
            return f"drawn wrong: {[value.shape for value in found]}"
    try:
        graph = sp.from_onnx(path, granularity="aten")
    except sp.SpillwayError as error:
        return f"refused: {error}"
    shapes = {name: graph.tensors[name].shape for name in graph.outputs}
    if graph.macs != rounds.macs:
        return f"wrong: {graph.macs} MACs, not {rounds.macs}"
    sizes = [*shapes.values()]
    return "right" if sizes == [*rounds.gives.values()] else f"wrong: {shapes}, not {rounds.gives}"


def main() -> None:
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(int(sys.argv[1]) if sys.argv[1:] else 300):
            came = examined(seed, Path(folder) / "rounds.onnx")
            counts[came.split(":")[0]] += 1
            if came != "right":
                print(seed, came.replace(folder, ""))
    print(dict(counts))


if __name__ == "__main__":
    main()
