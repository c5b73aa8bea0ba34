"""Inputs by chance on everything that reads a stranger's, ten thousand with `--all`: none fails.

A million in a night: `python -m tests.fuzz --inputs 1000000 --seed 1 --failures DIR`.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from random import Random
from typing import Any

import onnx
import pytest

import planners as sp
from app.links.url import from_query, pinned_in
from tests.fuzz import loaders, run
from tests.fuzz.corpus import HERE, inputs
from tests.fuzz.loaders import LOADERS, is_right, own_folder
from tests.fuzz.mutate import mutated
from tests.fuzz.run import FAILED, REFUSED, RIGHT, Bounds, _batch, made, shares

ROOT = Path(__file__).parents[2]
SOME = 200


@pytest.fixture(scope="module")
def all_is_imported() -> None:
    """What readers import is there before a process is forked for each."""
    with own_folder():
        for loader in LOADERS:
            run.warm(loader)


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
@pytest.mark.usefixtures("all_is_imported")
@pytest.mark.parametrize("loader", LOADERS)
def test_some_inputs_of_each_kind(
    loader: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPILLWAY_CACHE", str(tmp_path / "cache"))
    count = shares(list(LOADERS), SOME)[loader]
    tally = run.run(loader, count, 0, Bounds(), tmp_path / "failures")
    assert tally.failures == {}
    assert tally.counts[RIGHT] + tally.counts[REFUSED] == count
    assert tally.counts[RIGHT] > 0


@pytest.mark.long
def test_ten_thousand_inputs(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.fuzz", "--inputs", "10000", "--failures", str(tmp_path)]
    quiet = {**os.environ, "SPILLWAY_CACHE": str(tmp_path / "cache")}
    done = subprocess.run(command, cwd=ROOT, env=quiet, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    name, right, refused, failed, _ = done.stdout.splitlines()[-1].replace(",", "").split()
    assert (name, int(right) + int(refused), failed) == ("all", 10_000, "0")
    assert int(right) > 1000
    assert int(refused) > 1000


def test_the_corpus_is_small_and_for_every_loader() -> None:
    assert {path.name for path in HERE.iterdir()} == set(LOADERS)
    assert sum(path.stat().st_size for path in HERE.rglob("*.*")) < 150_000


def test_an_input_follows_from_its_number() -> None:
    for loader in LOADERS:
        assert made(loader, 1, 99) == made(loader, 1, 99)
        data = inputs(loader)[0]
        assert {mutated(loader, data, Random(k)) for k in range(9)} != {data}
    assert sum(shares(list(LOADERS), 12_345).values()) == 12_345


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
def test_what_fails_is_counted_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error, memory, time and a process that ends: each is one failure, the rest goes on."""
    corpus = [b"right", b"refused", b"error", b"memory", b"time", b"end", b"right"]

    def read(data: bytes) -> None:
        if data == b"refused":
            raise sp.BadInput("no")
        if data == b"error":
            raise KeyError("x")
        if data == b"memory":
            bytearray(2**31)  # more than a process of many tests may have to give back
        while data == b"time":
            pass
        if data == b"end":
            os._exit(3)

    monkeypatch.setattr(run, "inputs", lambda loader: corpus)
    monkeypatch.setattr(loaders, "LOADERS", {"own": read})
    tally = run.run("own", len(corpus), 0, Bounds(2**26, 0.2), tmp_path / "kept")
    assert tally.counts == {RIGHT: 2, REFUSED: 1, FAILED: 4}
    said = [tally.failures[k].strip().splitlines()[-1] for k in (2, 3, 4, 5)]
    assert said[:2] == ["KeyError: 'x'", "MemoryError"]
    assert said[2].endswith("TooSlow")
    assert "its process ended (3)" in said[3]
    assert (tmp_path / "kept" / "own-0-5").read_bytes() == b"end"


# ---- what was found, and is mended ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("loader", "old", "new"),
    [
        ("machine", b"clock_hz", b"clock_" + b"a" * 3000),
        ("plan", b'"version":1', b'"version":"' + b"9" * 3000 + b'"'),
    ],
)
def test_a_message_is_of_one_line_whatever_it_quotes(loader: str, old: bytes, new: bytes) -> None:
    data = inputs(loader)[0]
    assert old in data
    with own_folder():
        assert not is_right(loader, data.replace(old, new))


def test_names_in_a_link_are_told_in_one_line() -> None:
    for name in ("0\nv", "a" * 3000):
        (line,) = from_query({"v": "2", name: "1"})[2]
        assert "\n" not in line
        assert len(line) < 300


def test_a_link_of_many_brackets_is_told_in_one_line() -> None:
    for name in ("wishes", "swept", "pinned"):
        asked = {"v": "2", "model": "resnet18", name: "[" * 100_000}
        (line,) = from_query(asked)[2] or pinned_in(asked, from_query(asked)[0])[1]
        assert name in line
        assert len(line) < 300


def test_a_plan_that_is_invalid_says_so_in_one_line() -> None:
    assert (
        str(sp.InvalidPlan("op does not write a\nb", step=1)) == "step 2: op does not write a\\nb"
    )


def test_an_archive_that_cannot_be_taken_apart_is_changed_byte_by_byte() -> None:
    (data,) = inputs("pt2")
    entry = data.index(b"PK\x01\x02")
    newer = data[: entry + 6] + b"\x53" + data[entry + 7 :]  # of version 8.3
    assert mutated("pt2", newer, Random(1)) != newer


def test_an_answer_of_many_brackets_is_planned_again() -> None:
    with own_folder():
        assert not is_right("result", gzip.compress(b"[" * 100_000))


@pytest.mark.parametrize("version", [2**31, 2**40])
def test_a_version_of_onnx_that_is_too_large_is_refused(version: int) -> None:
    model = onnx.ModelProto.FromString(inputs("onnx")[0])
    model.ir_version = version
    with own_folder():
        assert not is_right("onnx", model.SerializeToString())


def _pt2_with(change: dict[str, Any]) -> bytes:
    made = io.BytesIO()
    (data,) = inputs("pt2")
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(made, "w") as new:
        for entry in old.infolist():
            held = old.read(entry)
            if entry.filename.endswith("model.json"):
                program = json.loads(held)
                graph = program["graph_module"]["graph"]
                graph["inputs"] = change.pop("inputs", graph["inputs"])
                held = json.dumps(program | change).encode()
            new.writestr(entry.filename, held)
    return made.getvalue()


@pytest.mark.parametrize(
    "change",
    [
        {"inputs": [{"as_tensor": {"name": None}}]},
        {"schema_version": {"major": 99}, "torch_version": "2\n9"},
    ],
    ids=["a name that is none", "a version of two lines"],
)
def test_a_program_of_odd_names_is_refused_in_one_line(change: dict[str, Any]) -> None:
    with own_folder():
        assert is_right("pt2", _pt2_with({}))
        assert not is_right("pt2", _pt2_with(dict(change)))


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_pt2_whose_packed_program_is_corrupt_is_refused(method: int) -> None:
    made = io.BytesIO()
    (data,) = inputs("pt2")
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(made, "w") as new:
        for entry in old.infolist():
            new.writestr(zipfile.ZipInfo(entry.filename), old.read(entry), method)
        largest = max(new.infolist(), key=lambda one: one.compress_size)
    packed = bytearray(made.getvalue())
    for at in range(largest.header_offset + 100, largest.header_offset + largest.compress_size, 7):
        packed[at] ^= 0xFF
    with own_folder():
        assert not is_right("pt2", bytes(packed))


def test_a_run_goes_on_where_it_was_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.fuzz.run.BATCH", 20)
    whole = run.run("link", 60, 5, Bounds(), None)
    kept = tmp_path / "kept.json"
    assert sum(run.run("link", 40, 5, Bounds(), None, kept).counts.values()) == 40
    tried: list[int] = []
    monkeypatch.setattr("tests.fuzz.run._batch", counting(tried))
    found = run.run("link", 60, 5, Bounds(), None, kept)
    assert (tried, found.counts, found.failures) == ([40], whole.counts, whole.failures)
    assert run.run("link", 60, 5, Bounds(), None, kept).counts == whole.counts
    assert tried == [40]


def counting(tried: list[int]) -> Any:
    """Batches as they are, and where each began."""

    def batch(loader: str, numbers: range, *rest: Any) -> int:
        tried.append(numbers.start)
        return _batch(loader, numbers, *rest)

    return batch
