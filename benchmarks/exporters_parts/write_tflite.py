"""Files of TensorFlow's converter, of Keras networks and of functions, quantised in its ways."""

from __future__ import annotations

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import tensorflow as tf
from keras_networks import NETWORKS, made
from making import Write, write_all
from tf_networks import FUNCTIONS
from tflite_oracle import oracle

tf.get_logger().setLevel("ERROR")
WHOLE = tf.lite.OpsSet.TFLITE_BUILTINS_INT8
WAYS = ("float", "half", "range", "int8", "int8_inside", "int16")


def _quantise(converter: Any, way: str, specs: list[Any]) -> None:
    def samples() -> Iterator[list[Any]]:
        chance = np.random.default_rng(0)
        for _ in range(4):
            yield [_some(spec, chance) for spec in specs]

    if way == "float":
        return
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    if way == "half":
        converter.target_spec.supported_types = [tf.float16]
    elif way == "int8":
        converter.representative_dataset = samples
        converter.target_spec.supported_ops = [WHOLE]
        converter.inference_input_type = converter.inference_output_type = tf.int8
    elif way == "int8_inside":
        converter.representative_dataset = samples
    elif way == "int16":
        both = tf.lite.OpsSet.EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8
        converter.representative_dataset = samples
        converter.target_spec.supported_ops = [both, tf.lite.OpsSet.TFLITE_BUILTINS]


def _some(spec: Any, chance: np.random.Generator) -> Any:
    shape = [n or 1 for n in spec.shape]
    if spec.dtype == tf.float32:
        return chance.standard_normal(shape).astype(np.float32)
    return chance.integers(0, 3, shape).astype(np.int32)


def convert(name: str, draw: Random, way: str) -> bytes:
    """A network as the bytes of a file."""
    module = tf.Module()
    if name in FUNCTIONS:
        run, specs = FUNCTIONS[name](draw)
    else:
        model = made(name, draw)
        specs = [tf.TensorSpec((1, *x.shape[1:]), x.dtype) for x in model.inputs]
        run = lambda *x: model(x[0] if len(x) == 1 else list(x), training=False)  # noqa: E731
    module.run = tf.function(run, input_signature=list(specs))
    concrete = module.run.get_concrete_function()
    converter = tf.lite.TFLiteConverter.from_concrete_functions([concrete], module)
    _quantise(converter, way, list(specs))
    return bytes(converter.convert())


def open_batch(name: str, draw: Random, way: str) -> bytes:
    """As Keras itself hands a network over: its batch is open, and it has a signature."""
    model = made(name, draw)
    converter = tf.lite.TFLiteConverter.from_keras_model(model)
    _quantise(converter, way, [tf.TensorSpec((1, *x.shape[1:]), x.dtype) for x in model.inputs])
    return bytes(converter.convert())


def _write(name: str, way: str, made_by: Callable[[str, Random, str], bytes] = convert) -> Write:
    def write(draw: Random, path: Path) -> dict[str, Any]:
        file = path.with_suffix(".tflite")
        file.write_bytes(made_by(name, draw, way))
        return oracle(file)

    return write


if __name__ == "__main__":
    write_all(
        {f"{name}-{way}": _write(name, way) for name in (*NETWORKS, *FUNCTIONS) for way in WAYS}
        | {f"open-{way}": _write("conv", way, open_batch) for way in WAYS}
    )
