"""How far a machine's seconds were from what judged them, and what is told apart by that."""

from __future__ import annotations

import tomllib
from dataclasses import replace

import pytest

import planners as sp
from planners.core.errors import BadInput
from planners.core.machine import Machine, with_numbers, with_scratchpad

U55 = sp.load_machine("ethos_u55_high_end")


def test_a_time_may_be_more_and_less() -> None:
    """Seconds that were 0.79 to 1.25 of the judge's are 0.8 to 1.27 of what he says now."""
    assert U55.seconds_band == (0.79, 1.25)
    assert U55.between_s(1.0) == pytest.approx((0.8, 1 / 0.79))
    assert U55.tells_apart(1.0, 1.6)
    assert U55.tells_apart(1.6, 1.0)
    assert not U55.tells_apart(1.0, 1.5)
    ideal = sp.load_machine("npu_ideal")
    assert ideal.between_s(1.0) == (1.0, 1.0)
    assert ideal.tells_apart(1.0, 1.001)


def test_it_is_written_and_read_and_makes_no_other_machine() -> None:
    for again in (
        Machine.from_json(U55.to_json()),
        Machine.from_json(tomllib.loads(U55.to_toml())),
    ):
        assert again.seconds_band == U55.seconds_band
    bare = replace(U55, seconds_band=(), sources={})
    assert bare == replace(U55, sources={})
    assert "seconds_band" not in bare.to_json()


def test_another_machine_was_not_judged() -> None:
    assert with_numbers(U55, {"clock_hz": 1e9}).seconds_band == ()
    assert with_numbers(U55, {"scratchpad.size_bytes": 4096}).seconds_band == U55.seconds_band
    assert with_scratchpad(U55, 4096).seconds_band == U55.seconds_band


@pytest.mark.parametrize(
    "band", [[1], [1.2, 0.8], [0, 1], ["a", "b"], 3, [True, 2], [float("nan"), 1.0]]
)
def test_a_band_that_is_none(band: object) -> None:
    with pytest.raises(BadInput, match="seconds_band must be two shares"):
        Machine.from_json({**U55.to_json(), "seconds_band": band})


def test_a_band_needs_its_judge() -> None:
    data = U55.to_json()
    del data["sources"]["seconds_band"]
    with pytest.raises(BadInput, match="seconds_band is missing: what judged"):
        Machine.from_json(data)


@pytest.mark.parametrize("told", ["", "two\nlines", "\x1b[31m", "long" * 100])
def test_a_judge_is_a_line_or_is_not_told(told: str) -> None:
    bare = replace(U55, sources={"seconds_band": told} if told else {})
    assert bare.judge == "its machine file"
    assert U55.judge.startswith("benchmarks/vela.py")
