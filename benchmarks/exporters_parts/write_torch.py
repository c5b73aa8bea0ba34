"""Files of `torch.onnx.export(dynamo=True)`."""

from __future__ import annotations

import logging
from pathlib import Path
from random import Random
from typing import Any

import torch
from making import Write, write_all
from onnx_oracle import oracle
from torch_networks import NETWORKS, made


def as_arrays(inputs: tuple[Any, ...]) -> list[Any]:
    return [(x.float() if x.dtype == torch.bfloat16 else x).numpy() for x in inputs]


def export(name: str, draw: Random, path: Path, **given: Any) -> tuple[Path, tuple[Any, ...]]:
    """The file, and inputs for it."""
    logging.disable(logging.WARNING)
    module, inputs, axes = made(name, draw)
    file = path.with_suffix(".onnx")
    given = {"dynamo": True, "external_data": False, "verbose": False} | given
    with torch.no_grad():
        torch.onnx.export(module, inputs, file, dynamic_shapes=axes, **given)
    return file, inputs


def _write(name: str, **given: Any) -> Write:
    def write(draw: Random, path: Path) -> dict[str, Any]:
        file, inputs = export(name, draw, path, **given)
        return oracle(file, as_arrays(inputs))

    return write


MORE = {"attention": 23, "sdpa": 23, "gqa": 23, "norms": 23, "encoder": 22, "conv": 20, "half": 24}
"""Operator sets that some are written for, too."""

if __name__ == "__main__":
    write_all(
        {name: _write(name) for name in NETWORKS}
        | {f"{n}-opset{k}": _write(n, opset_version=k) for n, k in MORE.items()}
        | {"conv-unoptimised": _write("conv", optimize=False)}
    )
