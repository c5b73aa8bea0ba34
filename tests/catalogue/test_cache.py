"""The cache on disk: found again, made again where damaged, done without where it cannot be."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planners.catalogue import cache, load, loading
from planners.core.errors import BadInput
from planners.core.graph import Graph, Operator, Tensor
from planners.core.sources import source_hash

ROOT = Path(__file__).parents[2]


def tiny() -> Graph:
    tensors = {n: Tensor(n, (1,), k) for n, k in (("x", "input"), ("y", "activation"))}  # type: ignore
    operators = (Operator("f", "relu", ("x",), ("y",)),)
    return Graph("tiny", tensors, operators, ("x",), ("y",))


@pytest.fixture
def traced(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """An empty cache, nothing shipped, and the names imported since, without torch."""
    found: list[str] = []

    def trace(name: str, *_: object) -> Graph:
        found.append(name)
        return tiny()

    monkeypatch.setenv("SPILLWAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(loading, "trace", trace)
    monkeypatch.setattr(loading, "_shipped", lambda *_: None)
    return found


def test_second_load_comes_from_disk(traced: list[str]) -> None:
    assert load("vgg11") == load("vgg11") == load("vgg11", bytes_per_element=1)
    assert load("vgg11", bytes_per_element=4) == tiny().with_bytes_per_element(4)
    assert traced == ["vgg11"]
    load("vgg11", granularity="aten")
    load("vgg11", input_shape=(1, 3, 64, 64))
    load("timm:other")
    assert len(traced) == 4
    assert len(list(cache.directory().iterdir())) == 4


@pytest.mark.parametrize("damage", [b"", b"not gzip", b"\x1f\x8b\x08\x00", None])
def test_damaged_entries_are_made_again(traced: list[str], damage: bytes | None) -> None:
    load("vgg11")
    (entry,) = cache.directory().iterdir()
    entry.write_bytes(entry.read_bytes()[:-9] if damage is None else damage)
    assert load("vgg11") == load("vgg11") == tiny()
    assert len(traced) == 2


def test_an_unwritable_cache_warns_once(
    traced: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SPILLWAY_CACHE", str(tmp_path / "file" / "below"))
    with pytest.warns(UserWarning, match="graphs are not cached: cannot write"):
        assert load("vgg11") == tiny()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert load("vgg11") == tiny()
    assert len(traced) == 2


PUT_AND_GET = """
from planners.catalogue import cache
from planners.core.graph import Graph, Operator, Tensor

tensors = {n: Tensor(n, (1,), k) for n, k in (("x", "input"), ("y", "activation"))}
tiny = Graph("tiny", tensors, (Operator("f", "relu", ("x",), ("y",)),), ("x",), ("y",))
for _ in range(25):
    cache.put("one", tiny)
    assert cache.get("one") == tiny
"""


def test_many_at_once(tmp_path: Path) -> None:
    place = {**os.environ, "SPILLWAY_CACHE": str(tmp_path / "cache")}
    run = [sys.executable, "-W", "error", "-c", PUT_AND_GET]
    started = [subprocess.Popen(run, env=place, cwd=ROOT) for _ in range(3)]
    assert [process.wait() for process in started] == [0, 0, 0]
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["one.json.gz"]


def test_where_it_lies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    monkeypatch.delenv("SPILLWAY_CACHE", raising=False)
    assert cache.directory() == Path("/x/spillway")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setattr("sys.platform", "darwin")
    assert cache.directory() == Path("/home/me/Library/Caches/spillway")
    monkeypatch.setattr("sys.platform", "linux")
    assert cache.directory() == Path("/home/me/.cache/spillway")


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(data=st.binary(max_size=40))
def test_only_graphs_are_decoded(data: bytes) -> None:
    assert cache.decode(cache.encode(tiny())) == tiny()
    with pytest.raises(BadInput):
        cache.decode(data)


def test_graphs_of_an_older_importer_are_not_served(
    traced: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    load("vgg11")
    monkeypatch.setattr(cache, "_readers", lambda: "an edited reader")
    load("vgg11")
    assert traced == ["vgg11", "vgg11"]


def test_an_edit_in_any_folder_changes_the_hash(tmp_path: Path) -> None:
    one, other = tmp_path / "a" / "one.py", tmp_path / "b" / "deep" / "other.py"
    for file in (one, other):
        file.parent.mkdir(parents=True)
        file.write_text("x = 1\n")
    hashes = {source_hash(tmp_path, ("a", "b"), (".py",))}
    for file in (one, other):
        file.write_text("x = 2\n")
        hashes.add(source_hash(tmp_path, ("a", "b"), (".py",)))
    one.rename(one.with_name("two.py"))
    hashes.add(source_hash(tmp_path, ("a", "b"), (".py",)))
    assert len(hashes) == 4
    (tmp_path / "a" / "notes.txt").write_text("no source")
    assert source_hash(tmp_path, ("a", "b"), (".py",)) in hashes
