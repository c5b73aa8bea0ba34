"""What LiteRT has for each tensor of a file when it runs it, and MACs by these shapes."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType

MATRICES = {
    "UNIDIRECTIONAL_SEQUENCE_LSTM": range(1, 9),
    "BIDIRECTIONAL_SEQUENCE_LSTM": (*range(1, 9), *range(18, 26)),
    "UNIDIRECTIONAL_SEQUENCE_RNN": range(1, 3),
}


def oracle(path: Path, seed: int = 0, resized: Any = None) -> dict[str, Any]:
    """Shapes and types of all tensors of the first subgraph, in the file's order.

    `resized` are the shapes of its inputs where they are not the file's own.
    """
    interpreter = Interpreter(
        model_path=str(path),
        experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
        experimental_preserve_all_tensors=True,
        num_threads=1,
    )
    for detail, shape in zip(interpreter.get_input_details(), resized or (), strict=False):
        interpreter.resize_tensor_input(detail["index"], shape, strict=True)
    interpreter.allocate_tensors()
    chance = np.random.default_rng(seed)
    for detail in interpreter.get_input_details():
        interpreter.set_tensor(detail["index"], _some(detail, chance))
    interpreter.invoke()
    details = {d["index"]: d for d in interpreter.get_tensor_details()}
    operators = interpreter._get_ops_details()
    narrow = narrow_types(path)
    shapes = {n: tuple(int(k) for k in d["shape"]) for n, d in details.items()}
    made = {int(n) for op in operators for n in op["outputs"]}
    made |= {int(d["index"]) for d in interpreter.get_input_details()}
    counts = [_macs(op, shapes) for op in operators]
    return {
        "file": path.name,
        "input_shape": resized,
        "inputs": [d["name"] for d in interpreter.get_input_details()],
        "outputs": [d["name"] for d in interpreter.get_output_details()],
        "tensors": [
            [d["name"], list(shapes[n]), narrow.get(n, np.dtype(d["dtype"]).name), n not in made]
            for n, d in sorted(details.items())
        ],
        "macs": sum(count or 0 for count in counts),
        "silent": sorted(
            {op["op_name"] for op, n in zip(operators, counts, strict=True) if n is None}
        ),
        "kinds": sorted({op["op_name"] for op in operators}),
    }


def narrow_types(path: Path) -> dict[int, str]:
    """Types that the interpreter's details call int8, or have no name for, by the file."""
    graph = schema.Model.GetRootAs(path.read_bytes(), 0).Subgraphs(0)
    kinds = {
        code: name.lower()
        for name, code in vars(schema.TensorType).items()
        if name in ("INT2", "INT4", "UINT4", "BFLOAT16") or name.startswith("FLOAT8")
    }
    found = {n: graph.Tensors(n).Type() for n in range(graph.TensorsLength())}
    return {n: kinds[code] for n, code in found.items() if code in kinds}


def _some(detail: Any, chance: np.random.Generator) -> np.ndarray:
    kind, shape = np.dtype(detail["dtype"]), detail["shape"]
    if kind.kind == "f":
        return chance.standard_normal(shape).astype(kind)
    return chance.integers(0, 2, shape).astype(kind)


def _macs(op: Any, shapes: dict[int, tuple[int, ...]]) -> int | None:
    kind = op["op_name"]
    read = [shapes.get(int(n), ()) for n in op["inputs"]]
    made = [shapes.get(int(n), ()) for n in op["outputs"]]
    if kind == "CONV_2D":  # filters (out, rows, columns, in)
        return prod(made[0]) * prod(read[1][1:])
    if kind == "CONV_3D":  # filters (depth, rows, columns, in, out)
        return prod(made[0]) * prod(read[1][:-1])
    if kind == "DEPTHWISE_CONV_2D":  # filters (1, rows, columns, out)
        return prod(made[0]) * prod(read[1][1:3])
    if kind == "TRANSPOSE_CONV":  # sizes, filters (out, rows, columns, in), data
        return prod(read[2]) * prod(read[1][:3])
    if kind == "FULLY_CONNECTED":
        return prod(made[0]) * read[1][-1]
    if kind == "BATCH_MATMUL":  # one of the first operand's last axes is the output's, one summed
        return prod(made[0]) * (prod(read[0][-2:]) // made[0][-2])
    if kind in MATRICES:
        weights = [read[n] for n in MATRICES[kind] if n < len(read) and len(read[n]) == 2]
        return prod(read[0][:-1]) * sum(map(prod, weights))
    if kind in ("WHILE", "IF", "CALL", "LSTM", "SVDF", "CONV_3D_TRANSPOSE"):
        return None
    return 0
