"""ONNX files of Keras's own `export`, with PyTorch behind it."""

from __future__ import annotations

import os

os.environ["KERAS_BACKEND"] = "torch"

import logging
from pathlib import Path
from random import Random
from typing import Any

import keras
import numpy as np
import onnx
from keras_networks import NETWORKS, made
from making import Write, write_all
from onnx_oracle import oracle

TYPES = onnx.helper.tensor_dtype_to_np_dtype


def _some(value: Any, chance: np.random.Generator) -> Any:
    """An input in the file's shape, axes that are open of three."""
    tensor = value.type.tensor_type
    shape = [axis.dim_value or 3 for axis in tensor.shape.dim]
    kind = TYPES(tensor.elem_type)
    if kind.kind == "f":
        return chance.standard_normal(shape).astype(kind)
    return chance.integers(0, 3, shape).astype(kind)


def _write(name: str) -> Write:
    def write(draw: Random, path: Path) -> dict[str, Any]:
        logging.disable(logging.WARNING)
        model = made(name, draw)
        file = path.with_suffix(".onnx")
        model([keras.ops.ones((1, *x.shape[1:]), x.dtype) for x in model.inputs])  # as export asks
        model.export(str(file), format="onnx", verbose=False)
        chance = np.random.default_rng(0)
        return oracle(file, [_some(v, chance) for v in onnx.load(file).graph.input])

    return write


if __name__ == "__main__":
    write_all({name: _write(name) for name in NETWORKS})
