"""Programs that take several times the limit are refused in a line that says what to do."""

from __future__ import annotations

import re

import pytest

import planners as sp
from planners.core.errors import ProgramTooLong
from planners.core.program_size import (
    GRACE_S,
    MOST_WRITTEN,
    SEVERAL,
    refuse_too_long,
    refuse_too_slow,
)


def test_what_takes_several_times_the_limit_is_refused() -> None:
    most = int((SEVERAL * 2.0 + GRACE_S) / 1e-5)
    refuse_too_slow(most - 1, 1e-5, 2.0)
    with pytest.raises(ProgramTooLong, match=r"100,000,000 instructions.* time limit of 334 s"):
        refuse_too_slow(100_000_000, 1e-5, 2.0)


def test_what_is_longer_than_any_program_is_refused() -> None:
    refuse_too_long(MOST_WRITTEN, "a larger budget")
    with pytest.raises(ProgramTooLong, match="a larger budget"):
        refuse_too_long(MOST_WRITTEN + 1, "a larger budget")


@pytest.mark.usefixtures("long_looks")
def test_a_first_plan_that_is_too_slow_to_write_is_a_row_of_a_sweep(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As if this machine wrote an instruction in a second; and with the options of a sweep."""
    monkeypatch.setattr("planners.fusion.latency.search.EACH_S", 1.0)
    table = sp.sweep(
        [sp.load("squeezenet1_0")],
        ["fusion:objective=latency"],
        ["64KiB"],
        weights="counted",
        time_limit=4.0,
    )
    (row,) = table.to_dict("records")
    assert row["status"] == "none found"
    assert re.search(r"\d{4,} s to write", row["reason"])
    assert "time limit of" in row["reason"]
