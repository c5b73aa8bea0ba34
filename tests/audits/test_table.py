"""CSV as a plan and back."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from planners.audits.foreign import ForeignPlan, ForeignTensor
from planners.audits.readers.table import read_table, write_table
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
