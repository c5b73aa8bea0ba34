"""Whole files by our kernels beside LiteRT's reference kernels and its optimised ones.

python -m tests.importers.tflite_litert FILE...   # needs pip install --no-deps ai-edge-litert
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from planners.core.errors import BadInput
from planners.importers.tflite.source_model import TfliteModel

INPUTS = 3


def theirs(path: str, resolver: str, inputs: list[list[Any]]) -> list[list[np.ndarray]]:
    """The outputs for each of these inputs, variables as in the beginning."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    kind = getattr(OpResolverType, resolver)
    interpreter = Interpreter(model_path=path, experimental_op_resolver_type=kind)
    interpreter.allocate_tensors()
    made = []
    for given in inputs:
        interpreter.reset_all_variables()
        for detail, value in zip(interpreter.get_input_details(), given, strict=True):
            interpreter.set_tensor(detail["index"], value)
        interpreter.invoke()
        details = interpreter.get_output_details()
        made.append([interpreter.get_tensor(detail["index"]) for detail in details])
    return made


def row(path: str) -> str:
    """A line: how many elements of the outputs are the same, and the largest difference."""
    model = TfliteModel(path)
    inputs = [model.random_inputs(seed) for seed in range(INPUTS)]
    ours = [list(model.outputs(model.input_values(given))) for given in inputs]
    count = sum(value.size for each in ours for value in each)
    cells = []
    for resolver in ("BUILTIN_REF", "BUILTIN"):
        pairs = [
            (a, b)
            for own, other in zip(ours, theirs(path, resolver, inputs), strict=True)
            for a, b in zip(own, other, strict=True)
        ]
        same = sum(int((a == b).sum()) for a, b in pairs)
        furthest = max(float(np.abs(a.astype(np.float64) - b).max()) for a, b in pairs)
        cells.append("all" if same == count else f"{same:,}, {furthest:.2g} apart")
    largest = max(float(np.abs(value).max()) for each in ours for value in each)
    return f"| `{Path(path).stem}` | {count:,} | {largest:.4g} | {' | '.join(cells)} |"


def main(paths: list[str]) -> None:
    print("| file | elements | largest | same as its reference kernels | as its optimised ones |")
    print("|---|--:|--:|--:|--:|")
    for path in paths:
        try:
            print(row(path), flush=True)
        except (BadInput, ValueError, RuntimeError) as error:
            words = " ".join(str(error).split())[:120]
            print(f"| `{Path(path).stem}` | | | {words} | |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
