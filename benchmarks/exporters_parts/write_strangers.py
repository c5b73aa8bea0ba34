"""ONNX files that other projects ship in their packages, run by onnxruntime."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import onnx
from making import Write, arguments, write_all
from onnx_oracle import oracle
from packages import PACKAGES, files_of

SIDES = {4: (1, 3, 320, 320), 2: (1, 16_000)}
"""Sizes for axes that a file leaves open, by how many axes the input has."""
OTHERS = {"cls": (1, 3, 48, 192), "rec": (1, 3, 48, 320), "silero": (1, 512)}
OTHERS |= {"pnet": (1, 24, 24, 3), "rnet": (24, 24, 24, 3)}
OTHERS |= {"khmersm": (1, 24), "slovorez": (1, 20), "atspm": (3, 1), "melspectrogram": (1, 1760)}
AXES = {"D": 2, "K": 5, "N": 3, "T": 240, "S": 10, "feats_length": 10}
"""By what a file calls them."""
RATE = 16_000
"""What a whole number that is an input says: a rate, or a length."""


def _array(value: Any, name: str, rng: Any) -> Any:
    tensor = value.type.tensor_type
    axes = [
        axis.dim_value if axis.dim_value > 0 else AXES.get(axis.dim_param, 0)
        for axis in tensor.shape.dim
    ]
    other = (s for part, s in OTHERS.items() if part in name and len(s) == len(axes))
    fill = next(other, SIDES.get(len(axes), (1,) * len(axes)))
    shape = [n or m for n, m in zip(axes, fill)]
    if tensor.elem_type == onnx.TensorProto.STRING:
        return np.full(shape, "a", object)
    kind = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
    if np.issubdtype(kind, np.floating):
        return rng.standard_normal(shape).astype(kind)
    return np.full(shape, RATE if value.name == "sr" or "len" in value.name else 1, kind)


def _write(source: Path, name: str) -> Write:
    def write(draw: Random, path: Path) -> dict[str, Any]:
        file = path.parent / f"{path.name}.onnx"
        onnx.save(onnx.load(str(source)), str(file))  # weights that lie beside it are in it now
        graph = onnx.load(str(file)).graph
        held = {t.name for t in graph.initializer}
        rng = np.random.default_rng(0)
        return oracle(file, [_array(v, name, rng) for v in graph.input if v.name not in held])

    return write


def write(packages: tuple[str, ...]) -> None:
    found = files_of(arguments().out / "packages", ".onnx", packages)
    write_all({name: _write(source, name) for name, source in found})


if __name__ == "__main__":
    write(PACKAGES)
