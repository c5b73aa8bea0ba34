"""Plans of other tools: conflicts against brute force over bytes and steps; what no plan can be."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from planners.allocation.problem.model import Gap
from planners.audits.conflicts import conflicts
from planners.audits.foreign import ForeignPlan, ForeignTensor
from planners.core.errors import BadInput


def some(rng: random.Random, count: int) -> list[ForeignTensor]:
    tensors = []
    for number in range(count):
        lower = rng.randrange(12)
        upper, size = lower + rng.randint(1, 5), rng.randint(0, 6)
        offset = rng.choice([None, rng.randrange(20), rng.randrange(20)])
        branches = ((0, rng.choice("ab")),) if rng.random() < 0.2 else ()
        tensor = ForeignTensor(f"t{number}", lower, upper, size, offset, branches=branches)
        if upper - lower > 2 and rng.random() < 0.5:
            low = rng.randint(0, size)
            gap = Gap(lower + 1, rng.randint(lower + 2, upper), low, rng.randint(low, size))
            tensor = replace(tensor, gaps=(gap,))
        tensors.append(tensor)
    return tensors


def test_few_conflicts_of_very_many() -> None:
    """Pairs that share no bytes are not looked at one by one, nor what comes after the first."""
    row = [ForeignTensor(f"t{k}", k % 3, 9, 4, 4 * k) for k in range(20_000)]
    assert conflicts(row) == []
    (only,) = conflicts([*row, ForeignTensor("x", 2, 3, 5, 79_999)])
    assert (only.one, only.other, only.start, only.stop) == ("t19999", "x", 79_999, 80_000)
    heap = [replace(t, offset=0) for t in row]
    assert len(conflicts(heap, most=10)) == 10


@pytest.mark.parametrize("seed", range(100))
def test_conflicts_are_bytes_held_twice(seed: int) -> None:
    tensors = some(random.Random(seed), 8 if seed % 2 else 16)
    held: dict[tuple[int, int], list[str]] = {}
    for tensor in tensors:
        if tensor.offset is not None:
            for part in tensor.lifetime.held_parts():
                for step in range(part.lower, part.upper):
                    for byte in range(tensor.offset + part.low, tensor.offset + part.high):
                        held.setdefault((step, byte), []).append(tensor.id)
    sides = {t.id: dict(t.branches) for t in tensors}
    wanted: dict[frozenset[str], set[tuple[int, int]]] = {}
    for place, ids in held.items():
        for k, one in enumerate(ids):
            for other in ids[:k]:
                both = sides[one].keys() & sides[other].keys()
                if any(sides[one][step] != sides[other][step] for step in both):
                    continue
                wanted.setdefault(frozenset((one, other)), set()).add(place)
    found = conflicts(tensors)
    assert {frozenset((c.one, c.other)) for c in found} == set(wanted)
    for conflict in found:
        places = wanted[frozenset((conflict.one, conflict.other))]
        assert conflict.step == min(step for step, _ in places)
        shared = {byte for step, byte in places if step == conflict.step}
        assert shared == set(range(conflict.start, conflict.stop))
    assert [c.step for c in found] == sorted(c.step for c in found)


def test_tensors_of_one_alias_are_one() -> None:
    one = ForeignTensor("one", 0, 2, 8, 16, 4, "m", "same")
    other = ForeignTensor("other", 1, 5, 12, 16, 8, "m", "same")
    apart = ForeignTensor("apart", 0, 5, 4, 28, 4, "m")
    plan = ForeignPlan("a tool", "a file", (one, other, apart))
    merged, alone = plan.inside("m")
    assert (merged.lower, merged.upper, merged.size_bytes, merged.alignment) == (0, 5, 12, 8)
    assert alone == apart
    assert conflicts([one, other])  # By themselves they are two.
    assert not conflicts(plan.inside("m"))
    broken = ForeignPlan("a tool", "a file", (one, replace(other, offset=17)))
    with pytest.raises(BadInput, match="same bytes at two addresses"):
        broken.inside("m")


def test_memories_are_apart() -> None:
    tensors = [ForeignTensor("a", 0, 2, 8, 0, 1, "fast"), ForeignTensor("b", 0, 2, 9, 0, 1, "slow")]
    plan = ForeignPlan("a tool", "a file", tuple(tensors))
    assert plan.memories == ("slow", "fast")
    assert [len(plan.inside(name)) for name in plan.memories] == [1, 1]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"upper": 0}, "never"),
        ({"size_bytes": -1}, "cannot have -1 bytes"),
        ({"size_bytes": 2**61}, "cannot have"),
        ({"offset": -4}, "cannot lie at -4"),
        ({"alignment": 0}, "aligned to 0 bytes"),
        ({"id": "other"}, "two tensors have the id 'other'"),
    ],
)
def test_what_is_no_plan(change: dict[str, int], words: str) -> None:
    good = ForeignTensor("one", 0, 2, 8, 16)
    with pytest.raises(BadInput, match=words):
        ForeignPlan("tool", "file", (replace(good, **change), replace(good, id="other")))  # type: ignore[arg-type]


def test_no_tensors_are_no_plan() -> None:
    with pytest.raises(BadInput, match="no tensors"):
        ForeignPlan("tool", "file", ())
