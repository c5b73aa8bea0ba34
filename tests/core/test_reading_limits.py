"""What reading a file may take: counted before anything is made, by one limit for all readers."""

from __future__ import annotations

import json
import random
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

import planners as sp
from planners.core import reading_limits
from planners.core.reading_limits import (
    NAME,
    NamedBytes,
    json_bytes,
    limit_worker,
    most_bytes,
    most_unpacked,
    parsed_json,
    parsed_toml,
    require_room,
)


def any_json(rng: random.Random, depth: int = 0) -> Any:
    """Values by chance: mostly of one kind in a list, as files have them."""
    kinds = [
        lambda: rng.randrange(10),
        lambda: rng.randrange(10**6, 10**12),
        rng.random,
        lambda: "x" * rng.randrange(12),
        lambda: None,
    ]
    if depth < 4:
        kinds += 2 * [lambda: [any_json(rng, depth + 1) for _ in range(rng.randrange(9))]]
        kinds += 2 * [lambda: {f"k{k}": any_json(rng, depth + 1) for k in range(rng.randrange(5))}]
    one = rng.choice(kinds)
    return [one() for _ in range(rng.randrange(40))] if depth < 2 else one()


def taken_by(text: str) -> int:
    """Bytes that Python holds for JSON once it is read."""
    tracemalloc.start()
    try:
        held = json.loads(text)
        return tracemalloc.get_traced_memory()[0] if held is not None else 0
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("text", ["[],", "{},", '{"a":1},', '"",', "0,", "1.5,", "123456,"])
def test_no_less_is_counted_than_json_takes(text: str) -> None:
    whole = "[" + text * 20_000 + "0]"
    assert taken_by(whole) <= json_bytes(whole) <= 12 * taken_by(whole)


def test_no_less_is_counted_than_json_by_chance_takes() -> None:
    for seed in range(8):
        text = json.dumps([any_json(random.Random(seed)) for _ in range(30)])
        assert taken_by(text) <= json_bytes(text) + 2000


def test_the_limit_is_raised_and_lowered_by_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    require_room("a", 2**30)
    with pytest.raises(sp.BadInput, match=f"1,073,741,825 bytes, and 1,073,741,824.*{NAME}"):
        require_room("a", 2**30 + 1)
    monkeypatch.setenv(NAME, "2 GiB")
    require_room("a", 2**31)
    monkeypatch.setenv(NAME, "1 KiB")
    with pytest.raises(sp.BadInput, match="and 1,024 are the most"):
        parsed_json("[" + "0," * 1000 + "0]", "a")
    plain = json.dumps([{"kind": "compute", "operator": "conv2d_1", "offset": 1}] * 100)
    assert parsed_json(plain, "a")  # 8 KB of text are as many as they say
    monkeypatch.setenv(NAME, "some")
    with pytest.warns(UserWarning, match="the usual limit holds"):
        assert most_bytes() == 2**30


def test_a_worker_reads_no_more_than_half_of_what_it_may_hold(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reading_limits, "_worker_bytes", 0)
    limit_worker(2**29)
    assert most_bytes() == 2**28
    monkeypatch.setenv(NAME, "8 GiB")
    assert most_bytes() == 2**28
    limit_worker(0)
    assert most_bytes() == 2**33


def test_few_packed_bytes_become_few() -> None:
    assert most_unpacked(10, 2**28) == 2**24
    assert most_unpacked(2**20, 2**28) == 100 * 2**20
    assert most_unpacked(2**30, 2**28) == 2**28


def test_lists_that_are_named_again_and_again_are_counted() -> None:
    named = NamedBytes("net", 10**6)
    for _ in range(30):
        named.take(10**5)
    with pytest.raises(sp.BadInput, match="net is broken: its tables name lists of more than"):
        named.take(1)


def test_a_dotted_name_of_many_parts_is_refused(tmp_path: Path) -> None:
    assert parsed_toml("a.b.c = 1", "m")["a"]["b"]["c"] == 1
    path = tmp_path / "machine.toml"
    path.write_text(".".join(["a"] * 50_000) + " = 1")
    with pytest.raises(sp.BadInput, match="reading it takes about"):
        sp.load_machine(path)
