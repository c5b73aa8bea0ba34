"""Files of ai-edge-quantizer, of what TensorFlow's converter writes."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from random import Random
from tempfile import mkdtemp
from typing import Any

import numpy as np
from ai_edge_quantizer import quantizer, recipe
from keras_networks import NETWORKS
from making import Write, write_all
from tflite_oracle import oracle
from write_tflite import open_batch

WAYS = (
    *("dynamic_wi8_afp32", "dynamic_wi4_afp32", "weight_only_wi8_afp32", "weight_only_wi4_afp32"),
    *("static_wi8_ai8", "static_wi8_ai16", "dynamic_wi2c_afp32", "dynamic_wi4b32_afp32"),
)


def _samples(source: Path) -> dict[str, list[dict[str, Any]]]:
    """A few inputs by the signature's names."""
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(model_path=str(source))
    chance = np.random.default_rng(0)
    found = {}
    for key in interpreter.get_signature_list():
        details = interpreter.get_signature_runner(key).get_input_details()
        found[key] = [
            {
                name: chance.standard_normal(d["shape"]).astype(d["dtype"])
                if np.dtype(d["dtype"]).kind == "f"
                else chance.integers(0, 3, d["shape"]).astype(d["dtype"])
                for name, d in details.items()
            }
            for _ in range(3)
        ]
    return found


@cache
def _source(name: str, chance: str) -> Path:
    """The file that is quantised."""
    path = Path(mkdtemp()) / "source.tflite"
    path.write_bytes(open_batch(name, Random(chance), "float"))
    return path


def _write(name: str, way: str) -> Write:
    def write(draw: Random, path: Path) -> dict[str, Any]:
        source = _source(name, f"{draw.random()}")
        made = quantizer.Quantizer(str(source))
        made.load_quantization_recipe(getattr(recipe, way)())
        calibrated = (
            made.calibrate(_samples(source), num_threads=1) if made.need_calibration else None
        )
        file = path.with_suffix(".tflite")
        made.quantize(calibrated, enable_progress_report=False).export_model(
            str(file), overwrite=True
        )
        return oracle(file)

    return write


if __name__ == "__main__":
    write_all({f"{n}-{way}": _write(n, way) for n in NETWORKS for way in WAYS})
