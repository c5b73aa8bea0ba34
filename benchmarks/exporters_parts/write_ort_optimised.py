"""Files that onnxruntime's optimiser writes of float and of quantised networks, at each level."""

from __future__ import annotations

import logging
from pathlib import Path
from random import Random
from tempfile import mkdtemp
from typing import Any

import onnx
import onnxruntime
from making import Write, write_all
from onnx_oracle import oracle
from write_ort import SOURCES, WAYS, source

LEVELS = onnxruntime.GraphOptimizationLevel
BEFORE = ("float", "qdq", "qoperator", "dynamic", "four_bits", "half")
"""What is done to a network before."""


def optimise(before: Path, after: Path, level: Any) -> None:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = level
    options.optimized_model_filepath = str(after)
    options.log_severity_level = 4
    onnxruntime.InferenceSession(str(before), options, providers=["CPUExecutionProvider"])


def transformer(before: Path, after: Path) -> None:
    """The optimiser for transformers, a Python program that comes with the runtime."""
    from onnxruntime.transformers.optimizer import optimize_model

    model = optimize_model(str(before), "bert", num_heads=0, hidden_size=0, opt_level=0)
    model.save_model_to_file(str(after))


def _write(name: str, way: str, level: str) -> Write:
    def write(draw: Random, path: Path) -> dict[str, Any]:
        logging.disable(logging.ERROR)
        ready, arrays = source(name, f"{draw.random()}", 18)
        if way != "float":
            names = [v.name for v in onnx.load(ready).graph.input]
            made = Path(mkdtemp()) / "quantised.onnx"
            WAYS[way](ready, made, dict(zip(names, arrays, strict=True)))
            ready = made
        after = path.with_suffix(".onnx")
        if level == "transformer":
            transformer(ready, after)
        else:
            optimise(ready, after, getattr(LEVELS, f"ORT_ENABLE_{level}"))
        return oracle(after, arrays)

    return write


if __name__ == "__main__":
    write_all(
        {
            f"{name}-{way}-{level.lower()}": _write(name, way, level)
            for name in SOURCES
            for way in BEFORE
            for level in ("BASIC", "EXTENDED", "ALL", "transformer")
            if level != "transformer" or way == "float"
        }
    )
