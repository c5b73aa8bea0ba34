"""CSV as a plan and back."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import planners as sp
from planners.audits.foreign import ForeignPlan, ForeignTensor
from planners.audits.readers.by_format import read_table, write_table
from planners.core.errors import BadInput


def test_only_offsets(tmp_path: Path) -> None:
    path = tmp_path / "plan.csv"
    path.write_text("id,lower,upper,size,offset\na,0,2,8,4\nb,1,3,4,\n")
    plan = read_table(path)
    assert plan.tensors == (ForeignTensor("a", 0, 2, 8, 4), ForeignTensor("b", 1, 3, 4))
    assert plan.memories == ("",)


@pytest.mark.parametrize("seed", range(20))
def test_there_and_back(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    tensors = tuple(
        ForeignTensor(
            f"t,{k}",
            k,
            k + rng.randint(1, 4),
            rng.randint(0, 99),
            rng.choice([None, rng.randint(0, 99)]),
            rng.choice([1, 16]) if seed % 2 else 1,
            rng.choice(["", "sram"]) if seed % 3 else "",
            rng.choice(["", "one"]) if seed % 5 else "",
        )
        for k in range(rng.randint(1, 9))
    )
    path = tmp_path / "plan.csv"
    with path.open("w") as file:
        write_table(file, tensors)
    assert read_table(path) == ForeignPlan("CSV", str(path), tensors)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("id,lower,upper,size,address\na,0,1,2,3\n", "line 1: the header must be"),
        ("id,lower,upper,size,offset,offset\na,0,1,2,3,3\n", "line 1: the header must be"),
        ("id,lower,upper,size,offset\na,0,1,2,-3\n", "line 2: offset must not be negative"),
        ("id,lower,upper,size,alignment\na,0,1,2,0\n", "line 2: .*alignment 0"),
        ("id,lower,upper,size,alignment\na,0,1,2,9999999999\n", "aligned to 9999999999"),
        ("id,lower,upper,size\na,0,1,9999999999999999999\n", "cannot have"),
    ],
)
def test_what_is_wrong(text: str, why: str, tmp_path: Path) -> None:
    path = tmp_path / "plan.csv"
    path.write_text(text)
    with pytest.raises(BadInput, match=why):
        read_table(path)


@pytest.mark.parametrize("seed", range(60))
def test_bytes_that_are_changed_or_cut_are_refused_or_judged(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    rows = ["id,lower,upper,size,offset,alignment,memory,alias"]
    for k in range(8):
        size, at = rng.randint(1, 99), rng.randint(0, 300)
        rows.append(f"t{k},{k},{k + rng.randint(1, 4)},{size},{at},{rng.choice([1, 16])},m,")
    data = bytearray("\n".join(rows).encode())
    if seed % 4 == 0:
        del data[rng.randrange(len(data)) :]
    for _ in range(rng.randint(0, 6)):
        data[rng.randrange(len(data))] = rng.choice(b'0123456789,,"\n-\x00\xffx')
    path = tmp_path / "plan.csv"
    path.write_bytes(data)
    assert said(path)


def said(path: Path) -> str:
    """What an audit ends in: a verdict, or a refusal, in one line. Any other error goes on."""
    try:
        words = sp.audit(path, time_limit=2).sentence()
    except BadInput as error:
        words = str(error)
    return words if "\n" not in words else ""


def test_the_largest_numbers_that_are_read_are_judged(tmp_path: Path) -> None:
    path = tmp_path / "plan.csv"
    large, late = 2**58, 10**18
    path.write_text(
        f"id,lower,upper,size,offset,alignment\na,0,{late},{large},0,{2**30}\n"
        f"b,{late - 1},{late + 1},{large + 1},{large},8\nc,5,9,0,77,3\n"
    )
    found = sp.audit(path, time_limit=2)
    assert found.floor_bytes == found.bound_bytes == 2 * large + 1
    assert found.floor_bytes <= found.least_bytes <= 2 * large + 2**30
    assert found.memories[0].misaligned == ("c",)
