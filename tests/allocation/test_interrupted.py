"""Lifetimes with gaps: the least of all offsets, by a look at every byte of every step."""

from __future__ import annotations

import io
from collections.abc import Sequence
from itertools import combinations, product
from pathlib import Path
from random import Random

import pytest

from planners.allocation import Lifetime, check_packing, pack, read_lifetimes, write_offsets
from planners.allocation.banks.model import Bank, BankProblem
from planners.allocation.min_capacity import pack_tightest
from planners.allocation.problem.model import Gap
from planners.audits.readers.by_format import read_plan
from planners.audits.verdict.audit import audit_plan
from planners.core.errors import BadInput, InvalidPlan
from tests.cases import cases

STEPS = 12


def interrupted(rng: Random, count: int, alignments: Sequence[int] = (1, 1, 1, 2, 3)) -> Lifetime:
    """Any lifetime: gaps may begin with it, touch, leave nothing, some or all of its bytes."""
    lower = rng.randint(0, 4)
    upper, size = lower + rng.randint(1, 6), rng.randint(1, 5)
    gaps, at = [], lower
    while at < upper and rng.random() < 0.6:
        first = rng.randint(at, upper - 1)
        at = rng.randint(first + 1, upper)
        low = rng.randint(0, size)
        gaps.append(Gap(first, at, low, rng.choice((low, rng.randint(low, size)))))
    return Lifetime(f"t{count}", lower, upper, size, rng.choice(alignments), tuple(gaps))


def bytes_held(item: Lifetime, offset: int, step: int) -> range:
    """The addresses that a lifetime holds in a step."""
    if not item.lower <= step < item.upper:
        return range(0)
    for gap in item.gaps:
        if gap.lower <= step < gap.upper:
            return range(offset + gap.low, offset + gap.high)
    return range(offset, offset + item.size_bytes)


def is_right(items: Sequence[Lifetime], offsets: Sequence[int]) -> bool:
    """Whether no byte is held by two in any step."""
    for (one, at), (other, its) in combinations(zip(items, offsets, strict=True), 2):
        for step in range(STEPS):
            mine, theirs = bytes_held(one, at, step), bytes_held(other, its, step)
            if max(mine.start, theirs.start) < min(mine.stop, theirs.stop):
                return False
    return True


def least_of_all(items: Sequence[Lifetime]) -> int:
    extent = max(item.size_bytes for item in items)
    while True:
        places = (range(0, extent - t.size_bytes + 1, t.alignment) for t in items)
        if any(is_right(items, offsets) for offsets in product(*places)):
            return extent
        extent += 1


@pytest.mark.parametrize("seed", range(cases(40, 2000)))
def test_the_least_of_all_offsets_is_found_and_proven(seed: int) -> None:
    rng = Random(seed)
    items = [interrupted(rng, k) for k in range(rng.randint(1, 4))]
    least = least_of_all(items)
    found = pack_tightest(items, time_limit_s=60)
    assert found.extent_bytes == found.bound_bytes == least
    check_packing(items, found.offsets, least)
    assert is_right(items, [found.offsets[item.id] for item in items])
    assert pack(items, least, time_limit_s=60).status == "packed"
    below = pack(items, least - 1, time_limit_s=60)
    assert below.status == "infeasible"
    assert below.conflict


@pytest.mark.parametrize("seed", range(cases(20, 500)))
def test_the_check_sees_every_byte(seed: int) -> None:
    rng = Random(seed)
    items = [interrupted(rng, k, (1,)) for k in range(3)]
    for _ in range(20):
        offsets = [rng.randint(0, 6) for _ in items]
        named = {item.id: at for item, at in zip(items, offsets, strict=True)}
        if is_right(items, offsets):
            check_packing(items, named, 20)
            continue
        with pytest.raises(InvalidPlan, match="overlaps"):
            check_packing(items, named, 20)


def test_one_lies_in_what_another_leaves_on_both_sides() -> None:
    """MiniMalloc 9f5cf81 has 10 here: one of two begins behind all that the other ever holds."""
    text = "id,lower,upper,size,gaps\nt0,1,10,6,6-9@2:6\nt1,6,10,2,8-9@0:2\nt2,6,9,2,7-8\n"
    items = read_lifetimes(io.StringIO(text))
    assert pack_tightest(items).extent_bytes == 8 == least_of_all(items)


def test_many_are_packed_in_time() -> None:
    rng = Random(3)
    items = []
    for k in range(200):
        lower, size = rng.randint(0, 140), 16 * rng.randint(1, 40)
        gaps = (Gap(lower + 2, lower + 5, 0, rng.choice((0, size // 2))),)
        items.append(Lifetime(f"t{k}", lower, lower + 7 + rng.randint(0, 9), size, 1, gaps))
    found = pack_tightest(items, time_limit_s=0.4)
    check_packing(items, found.offsets, found.extent_bytes)
    assert found.bound_bytes <= found.extent_bytes < 1.5 * found.bound_bytes


def test_very_many_at_once_have_their_bytes_in_their_gaps_too() -> None:
    items = [Lifetime(f"t{k}", k % 3, 9, 16, 1, (Gap(4, 6),)) for k in range(1000)]
    found = pack_tightest(items, time_limit_s=0.4)
    check_packing(items, found.offsets, found.extent_bytes)
    assert found.extent_bytes == found.bound_bytes == 16_000


def test_gaps_of_a_file_are_read_and_written_as_minimalloc_has_them() -> None:
    text = "id,lower,upper,size,gaps,offset\na,0,9,4,2-7@1:3 8-9,0\nb,2,7,4,,0\n"
    items = read_lifetimes(io.StringIO(text.replace(",offset", ",hint")))
    assert items == [
        Lifetime("a", 0, 9, 4, 1, (Gap(2, 7, 1, 3), Gap(8, 9))),
        Lifetime("b", 2, 7, 4),
    ]
    out = io.StringIO()
    write_offsets(out, items, {"a": 0, "b": 0})
    assert out.getvalue() == text
    older = "buffer,start,end,size,gaps\na,0,8,4,2-6@1:3 8-8\nb,2,6,4,\n"
    assert read_lifetimes(io.StringIO(older)) == items


@pytest.mark.parametrize(
    ("gaps", "why"),
    [
        ("2", "line 2: a gap is written 2-7 or 2-7@0:16, found '2'"),
        ("2-7@1", "found '2-7@1'"),
        ("2-7@1:9", "must lie within its 4 bytes, found 1:9"),
        ("2-7@3:1", "must lie within its 4 bytes, found 3:1"),
        ("7-2", r"within \[0, 9\), one after another, found \[7, 2\)"),
        ("2-5 4-6", r"one after another, found \[4, 6\)"),
        ("2-10", r"found \[2, 10\)"),
    ],
)
def test_wrong_gaps_are_said_with_their_line(gaps: str, why: str) -> None:
    with pytest.raises(BadInput, match=why):
        read_lifetimes(io.StringIO(f"id,lower,upper,size,gaps\na,0,9,4,{gaps}\n"))


def test_several_memories_take_no_gaps() -> None:
    gapped = Lifetime("a", 0, 9, 4, 1, (Gap(2, 7),))
    with pytest.raises(BadInput, match="'a' has gaps"):
        BankProblem([gapped], [Bank("ram", 8)])


def audited(path: Path, rows: str) -> str:
    path.write_text("id,lower,upper,size,gaps,offset\n" + rows)
    return audit_plan(read_plan(path), time_limit=5).sentence()


def test_a_plan_with_gaps_is_audited(tmp_path: Path) -> None:
    path = tmp_path / "plan.csv"
    assert "at the proven minimum of 4 bytes" in audited(path, "a,0,9,4,2-7,0\nb,2,7,4,,0\n")
    assert "at the proven minimum of 6 bytes" in audited(path, "a,0,9,4,2-7@0:2,0\nb,2,7,4,,2\n")
    wrong = audited(path, "a,0,9,4,2-7@0:2,0\nb,2,7,4,,1\n")
    assert "first 'a' and 'b' in step 2, 1 bytes from 1" in wrong
    with pytest.raises(BadInput, match="'a' has gaps in which others have its bytes"):
        audit_plan(read_plan(path), time_limit=5).as_plan()
    path.write_text("id,lower,upper,size,gaps,alias\na,0,9,4,2-7,x\nb,2,7,4,,x\n")
    with pytest.raises(BadInput, match="leave out gaps"):
        audit_plan(read_plan(path), time_limit=5)
