"""A small decoder of text: a prompt and ten steps, its cache as state, planned and executed.

    python benchmarks/decoder.py [--limit 5] [--steps 10] [--planners cosma ...] [DECODER.onnx]

Each by each planner in the least that it says it needs, in MP and in twice that; plans are checked
and run on numbers beside PyTorch, which then goes on: the next step finds the cache that it left.
`-`: the planner has no plan for this graph at any size. With a file that onnxruntime-genai wrote
its prompt and its steps are planned and checked too (files have no kernels to run).
Ends with 1 where one is wrong.
"""

from __future__ import annotations

import argparse
import copy
import sys
from collections.abc import Iterator
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))

import planners as sp
from tests.decoder import budgets, graph_of, made

PROMPT = 16
NEAR = 1e-4
"""Of a result beside PyTorch's, in float32."""


def turns(steps: int) -> Iterator[tuple[int, int]]:
    """Words seen before, and words of this turn."""
    yield 0, PROMPT
    for step in range(steps):
        yield PROMPT + step, 1


def executed(steps: int, planners: list[str], limit_s: float) -> bool:
    decoder, words = made(2, PROMPT + steps)
    right = True
    for seen, length in turns(steps):
        given = words[:, seen : seen + length]
        graph = graph_of(decoder.at(seen), given)
        for planner in planners:
            errors = []
            for budget in budgets(graph, planner, limit_s):
                plan = sp.plan(graph, planner, budget, time_limit=limit_s)
                done = sp.execute(plan, copy.deepcopy(decoder), (given,))
                errors.append(done.max_abs_error)
                right &= sp.check(plan).peak_bytes <= budget and done.max_abs_error < NEAR
                print(f"{seen:4} {length:3} {planner:10} {budget:8} B  {done.max_abs_error:.1e}")
            if not errors:
                print(f"{seen:4} {length:3} {planner:10}        -")
        with torch.no_grad():
            decoder(given)
    return right


def planned(path: Path, steps: int, planners: list[str], limit_s: float) -> None:
    for seen, length in turns(steps):
        sizes = {"batch_size": 1, "sequence_length": length, "past_sequence_length": seen}
        graph = sp.load(path, input_shape={**sizes, "total_sequence_length": seen + length})
        for planner in planners:
            for budget in budgets(graph, planner, limit_s):
                plan = sp.plan(graph, planner, budget, time_limit=limit_s)
                print(f"{seen:4} {length:3} {planner:10} {sp.check(plan).peak_bytes} of {budget} B")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, nargs="?")
    parser.add_argument("--limit", type=float, default=5.0)
    parser.add_argument("--steps", type=int, default=10)
    named = ["cosma", "fusion", "overlap", "streaming", "joined"]
    parser.add_argument("--planners", nargs="+", default=named)
    asked = parser.parse_args()
    right = executed(asked.steps, asked.planners, asked.limit)
    if asked.file:
        planned(asked.file, asked.steps, asked.planners, asked.limit)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
