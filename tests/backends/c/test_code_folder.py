"""The folder that `spillway code` writes: nobody else's work is ever in its way."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from planners.backends.c import write_code
from planners.backends.c.folder import MANIFEST
from planners.backends.int8.net import QNet
from planners.backends.int8.random_net import random_net
from planners.core.details.pool import PoolLayout
from planners.core.errors import BadInput
from tests.overlap.small_nets import Builder, apart


@pytest.fixture
def written(tmp_path: Path) -> tuple[QNet, PoolLayout, Path]:
    """A network, its layout, and the folder where its code was written."""
    b = Builder((1, 2, 3, 3))
    graph = b.graph(b.conv("x", 2, activation="relu"))
    net, layout = random_net(graph, 0), apart(graph, 0)
    folder = tmp_path / "deep" / "code"
    write_code(net, layout, folder)
    return net, layout, folder


def entries(folder: Path) -> dict[str, bytes]:
    """Every file under a folder."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_a_folder_of_code_is_replaced(written: tuple[QNet, PoolLayout, Path]) -> None:
    net, layout, folder = written
    before = entries(folder)
    for name in ("model.o", "model", "kernels.su"):
        (folder / name).write_text("built")
    (folder / "arm").mkdir()
    (folder / "arm" / "model.o").write_text("built")
    names = write_code(net, layout, folder)
    assert entries(folder) == before
    assert {*names, MANIFEST} == set(before)
    with pytest.raises(BadInput, match="does not run each operator"):
        write_code(net, replace(layout, runs=layout.runs[1:]), folder)
    assert entries(folder) == before
    assert [path.name for path in folder.parent.iterdir()] == ["code"]


def test_an_empty_folder_is_written_into(
    written: tuple[QNet, PoolLayout, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    net, layout, folder = written
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    write_code(net, layout, ".")
    assert entries(Path.cwd()) == entries(folder)


@pytest.mark.parametrize(
    "mine",
    ["main.py", ".git/HEAD", "model.h", "arm/notes.txt", "sub/model.o", "kernels.c"],
)
def test_nothing_of_others_is_taken_away(
    written: tuple[QNet, PoolLayout, Path], tmp_path: Path, mine: str
) -> None:
    """Neither from a folder of others that has a `model.h`, nor from one of ours with more in."""
    net, layout, ours = written
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "model.h").write_text("#define MY_MODEL")
    for folder in (theirs, ours):
        (folder / mine).parent.mkdir(exist_ok=True)
        (folder / mine).write_text("weeks of work")
        before = entries(folder)
        with pytest.raises(BadInput, match="is not touched.*name a new or an empty folder"):
            write_code(net, layout, folder)
        assert entries(folder) == before


def test_links_and_files_are_not_written_through(
    written: tuple[QNet, PoolLayout, Path], tmp_path: Path
) -> None:
    net, layout, folder = written
    (tmp_path / "notes.txt").write_text("keep")
    with pytest.raises(BadInput, match="is a file: name a new or an empty folder"):
        write_code(net, layout, tmp_path / "notes.txt")
    (folder / "main.c").unlink()
    (folder / "main.c").symlink_to(tmp_path / "notes.txt")
    with pytest.raises(BadInput, match="'main.c' in it was not written"):
        write_code(net, layout, folder)
    assert (tmp_path / "notes.txt").read_text() == "keep"
