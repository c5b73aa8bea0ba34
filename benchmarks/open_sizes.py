"""Exported programs with open sizes, at other sizes than their examples': as the module is there?

    python benchmarks/open_sizes.py [--count 25] [--first 0]

Networks of `exporters_parts/torch_networks.py` whose axes are open are drawn by chance, exported
once, and read at two other sizes within their range, in memory and from their file. What the module
itself gives when it is exported at those sizes is what is right: MACs, shapes of outputs, MR in
four bytes an element. Exits 1 for any that is wrong or refused where eager PyTorch runs.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent / "exporters_parts"))

from torch_networks import made

import planners as sp

NETWORKS = ("dynamic_conv", "dynamic_length", "dynamic_lstm")


def resized(inputs: tuple[Any, ...], axes: Any, draw: Random) -> tuple[Any, ...]:
    """Inputs with other sizes along the open axes, one for each name."""
    sizes: dict[str, int] = {}
    found = []
    for value, named in zip(inputs, axes.values() if isinstance(axes, dict) else axes, strict=True):
        shape = list(value.shape)
        for axis, dim in (named or {}).items():
            shape[axis] = sizes.setdefault(str(dim), draw.randint(2, 9))
        floats = value.dtype.is_floating_point
        found.append(torch.randn(shape) if floats else torch.zeros(shape, dtype=value.dtype))
    return tuple(found)


def facts(graph: sp.Graph) -> tuple[Any, ...]:
    shapes = [graph.tensors[name].shape for name in graph.outputs]
    return graph.macs, shapes, sp.budgets(graph.with_bytes_per_element(4)).MR


def examine(name: str, seed: int, file: Path, counts: Counter[str]) -> None:
    draw = Random(f"{name} {seed}")
    module, inputs, axes = made(name, draw)
    program = torch.export.export(module, inputs, dynamic_shapes=axes)
    torch.export.save(program, file)
    for _ in range(2):
        given = resized(inputs, axes, draw)
        try:
            with torch.no_grad():
                module(*given)
        except (RuntimeError, ValueError):
            counts["eager refuses"] += 1
            continue
        shapes = [list(value.shape) for value in given]
        right = facts(sp.from_torch(module, given))
        for where in ("memory", "file"):
            try:
                graph = (
                    sp.from_torch(program, given)
                    if where == "memory"
                    else sp.load(file, input_shape=shapes)
                )
                came = "right" if facts(graph) == right else f"wrong: {facts(graph)}, not {right}"
            except sp.SpillwayError as error:
                came = f"refused: {error}"
            counts[f"{where} {came.split(':')[0]}"] += 1
            if came != "right":
                print(f"{name} {seed} {where} {shapes} {came}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=25)
    parser.add_argument("--first", type=int, default=0)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(asked.first, asked.first + asked.count):
            for name in NETWORKS:
                examine(name, seed, Path(folder) / "open.pt2", counts)
    print(dict(counts))
    return any("wrong" in what or "refused" in what for what in counts)


if __name__ == "__main__":
    raise SystemExit(main())
