"""Hostile files of each format that is audited: one line, nothing else read, nothing written."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from threading import get_ident
from typing import Any

import pytest

import planners as sp
from planners.audits.readers.by_format import read_plan
from tests.fuzz.corpus import DATA, inputs
from tests.fuzz.mutate import mutated

FORMATS = {
    "tflite": "net.tflite",
    "pte": "net.pte",
    "vela": "listing.txt",
    "xla": "m-buffer-assignment.txt",
    "table": "table.csv",
}
BESIDE = {"xla": ("m-live-range.txt", "xla_block-live-range.txt")}
"""What lies beside a file by its format, and is a part of it."""
EACH = 60
CODE = tuple({str(Path(sp.__file__).parents[1]), sys.prefix, sysconfig.get_path("stdlib")})
"""Where our own code and that of packages may be read: modules are loaded when they are needed."""
HARMFUL = (
    "os.",
    "shutil.",
    "subprocess.",
    "socket.",
    "ctypes.",
    "pickle.",
    "marshal.loads",
    "exec",
)
HARMLESS = ("os.listdir", "os.scandir", "os.fwalk", "os.walk", "os.putenv", "os.unsetenv", "exec")

watched: list[tuple[str, Any]] | None = None
listener = 0  # the thread: others of this process do as they like


def _hear(event: str, given: tuple[Any, ...]) -> None:
    if watched is None or get_ident() != listener:
        return
    if event == "open" or (event.startswith(HARMFUL) and event not in HARMLESS):
        watched.append((event, given))


sys.addaudithook(_hear)  # It stays for good, and hears nothing but here.


@contextmanager
def listening() -> Iterator[list[tuple[str, Any]]]:
    """All that is opened, written, started or connected meanwhile."""
    global watched, listener
    watched, listener = (found := []), get_ident()
    try:
        yield found
    finally:
        watched = None


def outside(found: list[tuple[str, Any]], own: set[str]) -> list[tuple[str, Any]]:
    """What is neither a file of these, read, nor code that is loaded."""
    return [item for item in found if not _is_own(*item, own)]


def _is_own(event: str, given: tuple[Any, ...], own: set[str]) -> bool:
    if event != "open" or isinstance(given[0], int):
        return event == "open"
    path, mode, flags = os.path.abspath(os.fsdecode(given[0])), given[1] or "", given[2] or 0
    if "__pycache__" in path:
        return True
    if set(mode) & set("wax+") or flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
        return False
    return path in own or path.startswith(CODE)


def end_of(path: Path) -> str:
    """How reading a file ends: the name of its tool, or one line."""
    try:
        return read_plan(path).tool
    except sp.BadInput as error:
        return str(error)


@pytest.mark.parametrize("format", FORMATS)
def test_nothing_else_is_read_and_nothing_written(format: str, tmp_path: Path) -> None:
    path, rng = tmp_path / FORMATS[format], Random(format)
    own = {str(path)}
    if format in BESIDE:
        beside = tmp_path / BESIDE[format][0]
        beside.write_bytes((DATA / BESIDE[format][1]).read_bytes())
        own.add(str(beside))
    there = sorted(p.name for p in (path, *tmp_path.iterdir()))
    said, kept = [], inputs(format)
    for turn in range(EACH):
        data = kept[turn % len(kept)] if turn < 2 else mutated(format, rng.choice(kept), rng)
        path.write_bytes(data)
        with listening() as found:
            said.append(end_of(path))
        assert outside(found, own) == []
        assert ("open", str(path)) in {(event, str(given[0])) for event, given in found}
        assert path.read_bytes() == data
        assert sorted(p.name for p in tmp_path.iterdir()) == sorted(set(there))
    assert all(0 < len(line) <= 1000 + len(str(path)) and "\n" not in line for line in said)
    assert len({line for line in said if str(path) in line or format == "table"}) > 1


def test_what_would_be_harmful_is_heard(tmp_path: Path) -> None:
    """The listener itself: what it is to find, it finds."""
    other = tmp_path / "other"
    other.write_text("x")
    with listening() as found:
        other.read_text()
        (tmp_path / "new").write_text("y")
        os.rename(tmp_path / "new", tmp_path / "old")
    assert [event for event, _ in outside(found, set())] == ["open", "open", "os.rename"]
    assert outside(found, {str(other)})[0][1][0] == str(tmp_path / "new")
