"""Instructions by position are those of the expansion."""

from __future__ import annotations

import pytest

import planners as sp
from planners.core.by_position import ByPosition
from planners.core.loops import expanded, items_of
from planners.core.program import Barrier, Item, Repeat

NESTED: list[tuple[Item, ...]] = [
    (),
    (Barrier(3),),
    (Repeat(0, (Barrier(1),), ((1,),)), Barrier(9)),
    (Barrier(8), Repeat(3, (), ()), Barrier(9), Repeat(2, (), ())),
    (
        Barrier(0),
        Repeat(
            3,
            (
                Barrier(1),
                Repeat(2, (Barrier(2), Repeat(2, (Barrier(3),), ((5,),))), ((7,), ((11,),))),
            ),
            ((100,), ((1000,), ((10_000,),))),
        ),
        Barrier(1),
    ),
]


@pytest.mark.parametrize("items", NESTED)
def test_loops_in_loops(items: tuple[Item, ...]) -> None:
    found, expected = ByPosition(items), list(expanded(items))
    assert len(found) == len(expected)
    assert [found[at] for at in range(len(found))] == expected == list(found)
    assert found[1:-1] == expected[1:-1]
    for outside in (len(expected), -len(expected) - 1):
        with pytest.raises(IndexError, match="instructions"):
            _ = found[outside]


@pytest.mark.parametrize(
    ("planner", "name"),
    [
        ("fusion", "squeezenet1_0"),
        ("overlap", "vmcu:S3"),
        pytest.param("overlap", "mcunet_vww1", marks=pytest.mark.long),
    ],
)
def test_programs_of_planners(planner: str, name: str) -> None:
    program = sp.plan(sp.load(name), planner, "256KiB", replay=False).program
    items = tuple(items_of(program))
    found, expected = ByPosition(items), list(expanded(items))
    assert len(items) < len(expected) == len(found)
    assert [found[at] for at in range(0, len(found), 7)] == expected[::7]
