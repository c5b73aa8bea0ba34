"""Places in a circular pool, against all places there are."""

from __future__ import annotations

import itertools
import random
import subprocess
import sys

import pytest

from planners.allocation.overlapping.circular import keeps, search, tightest
from planners.allocation.overlapping.exact import improve
from planners.allocation.overlapping.model import Places, PoolBlock, PoolProblem, joined
from planners.core.progress import Clock


def random_part(rng: random.Random, blocks: int) -> PoolProblem:
    """Blocks of 1 to 4 bytes; an output that begins where an input ends may lie on it."""
    found = []
    for i in range(blocks):
        first = rng.randint(0, 3)
        found.append(PoolBlock(f"t{i}", rng.randint(1, 4), first, first + rng.randint(0, 2)))
    distances = {
        (a.name, b.name): rng.randint(0, a.size - 1)
        for a, b in itertools.permutations(found, 2)
        if a.first == b.last and b.first < a.first and rng.random() < 0.7
    }
    return PoolProblem(found, distances, 1, 1)


def right(part: PoolProblem, places: Places, pool: int) -> bool:
    return all(keeps(pair, places[pair.b] - places[pair.a], pool) for pair in part.pairs)


def brute_force(part: PoolProblem) -> int:
    """The least pool of all, by trying all places."""
    pool = max(block.size for block in part.blocks)
    while not any(
        right(part, (0, *rest), pool)
        for rest in itertools.product(range(pool), repeat=len(part.blocks) - 1)
    ):
        pool += 1
    return pool


@pytest.mark.parametrize("overlaps", [False, True])
def test_gaps_are_those_of_bytes_in_a_ring(overlaps: bool) -> None:
    """Apart, no byte is common; at a distance, no element is overwritten that is still read."""
    for size, other, pool in itertools.product((1, 2, 3), (1, 2, 4), (4, 5, 7)):
        for d in range(size) if overlaps else (size,):
            blocks = (PoolBlock("out", size, 1, 1), PoolBlock("in", other, 0, 1))
            (pair,) = PoolProblem(blocks, {("out", "in"): d} if overlaps else {}, 0, 1).pairs
            for ahead in range(pool):  # of the input, from the output's beginning
                common = [
                    (t, u)
                    for t, u in itertools.product(range(size), range(other))
                    if (u + ahead) % pool == t
                ]
                # Element u was read for the last time when element u + d of the output was made.
                lost = [(t, u) for t, u in common if t < u + d or not overlaps]
                between = ahead if blocks[pair.a].name == "out" else -ahead
                assert keeps(pair, between, pool) == (not lost), (size, other, pool, d, ahead)


@pytest.mark.parametrize("seed", range(40))
def test_places_found_are_right_and_the_exact_ones_the_least(seed: int) -> None:
    part = random_part(random.Random(seed), 4)
    least = brute_force(part)
    pool, places = tightest(part, 1, Clock(5))
    assert right(part, places, pool)
    assert least <= pool
    found, exact, bound = improve(part, 1, pool, places, Clock(5))
    assert right(part, exact, found)
    assert found == least
    assert bound in (least, part.floor)
    assert search(part, least - 1, Clock(5)) is None


def test_something_is_found_without_any_time() -> None:
    part = random_part(random.Random(1), 12)
    pool, places = tightest(part, 1, Clock(0))
    assert right(part, places, pool)
    assert improve(part, 1, pool, places, Clock(0)) == (pool, places, part.floor)


def test_the_exact_search_is_left_out_beside_highspy() -> None:
    code = (
        "import sys; sys.modules['highspy'] = None\n"
        "from planners.allocation.overlapping.exact import improve\n"
        "from planners.allocation.overlapping.model import PoolBlock, PoolProblem\n"
        "from planners.core.progress import Clock\n"
        "part = PoolProblem([PoolBlock('a', 2, 0, 1), PoolBlock('b', 3, 1, 1)], {}, 1, 1)\n"
        "assert improve(part, 1, 9, (0, 2), Clock(5)) == (9, (0, 2), 1)\n"
        "assert not any(name.startswith('ortools') for name in sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_parts_are_turned_so_that_what_they_share_stays() -> None:
    parts = [{"a": 2, "b": 5}, {"b": 0, "c": 6}, {"d": 3}]
    assert joined(parts, 10) == {"a": 2, "b": 5, "c": 1, "d": 3}
    assert joined(parts, 10, from_zero=True) == {"a": 0, "b": 3, "c": 9, "d": 0}
