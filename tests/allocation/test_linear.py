"""Offsets of blocks that may overlap, against all offsets tried."""

from __future__ import annotations

import itertools
import random
from math import inf

import pytest

from planners.allocation.overlapping.exact import pack_overlapping
from planners.allocation.overlapping.model import PoolBlock, PoolProblem


def random_problem(seed: int) -> PoolProblem:
    """Three steps that make one of a few small blocks each, over some that die; a workspace."""
    rng = random.Random(seed)
    sizes = [rng.randint(1, 3) for _ in range(4)]
    first, last = [0] * 4, [0, 0, 0, 3]
    distances = {}
    for step in range(3):
        for read in dict.fromkeys([step, rng.randrange(step + 1)]):
            last[read] = step
            if rng.random() < 0.8:
                distances[f"t{step + 1}", f"t{read}"] = rng.randint(0, 3)
        first[step + 1] = step
    blocks = [PoolBlock(f"t{i}", sizes[i], first[i], last[i]) for i in range(4)]
    if rng.random() < 0.7:
        blocks.append(PoolBlock("buffer", rng.randint(1, 2), 1, 1))
    return PoolProblem(blocks, distances)


def least_by_force(problem: PoolProblem) -> int:
    """The least extent over all offsets."""
    blocks, best = problem.blocks, inf
    most = sum(block.size for block in blocks)
    for offsets in itertools.product(*(range(most - b.size + 1) for b in blocks)):
        extent = max(at + b.size for at, b in zip(offsets, blocks, strict=True))
        if extent < best and all(
            _apart(problem, a, x, b, y)
            for (a, x), (b, y) in itertools.combinations(zip(blocks, offsets, strict=True), 2)
        ):
            best = extent
    return int(best)


def _apart(problem: PoolProblem, a: PoolBlock, x: int, b: PoolBlock, y: int) -> bool:
    if a.last < b.first or b.last < a.first:
        return True
    if x + a.size <= y or y + b.size <= x:
        return True
    over = problem.distances.get((a.name, b.name)) if a.first == b.last else None
    under = problem.distances.get((b.name, a.name)) if b.first == a.last else None
    return (over is not None and x + over <= y) or (under is not None and y + under <= x)


@pytest.mark.parametrize("seed", range(40))
def test_packing_equals_all_offsets(seed: int) -> None:
    problem = random_problem(seed)
    packed = pack_overlapping(problem)
    assert packed is not None
    assert packed.size_bytes == packed.bound_bytes == least_by_force(problem)
