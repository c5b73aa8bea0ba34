"""Where visitors' files are kept: within bounds, whole or not at all, in a folder of ours alone."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

import planners as sp
from app.model.upload_store import folder, keep, there


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SPILLWAY_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "uploads"


def brought(number: int) -> str:
    return keep("x.json", f'{{"n": "{number:0900}"}}'.encode())


def test_a_flood_of_files_ends_at_the_room_that_there_is(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPILLWAY_UPLOADS", "3000")
    tokens = [brought(n) for n in range(3)]
    with pytest.raises(sp.BadInput, match="no room for more files"):
        brought(3)
    assert all(map(there, tokens))
    for used, token in enumerate(tokens[:2]):
        os.utime(place / token, (used, used))
    last = brought(4)
    assert [there(token) for token in (*tokens, last)] == [False, True, True, True]
    assert sum(path.stat().st_size for path in place.iterdir()) <= 3000


def test_a_file_that_cannot_be_written_leaves_nothing(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(sp.BadInput, match="cannot be kept in .*: No space left on device"):
        brought(1)
    assert not list(place.iterdir())


def test_a_folder_that_others_made_first_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SPILLWAY_CACHE", str(tmp_path / "file"))
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    assert folder().stat().st_mode & 0o777 == 0o700
    folder().chmod(0o777)
    with pytest.raises(sp.BadInput, match="others can write to it"):
        folder()
    folder_of_ours = tmp_path / f"spillway-uploads-{os.getuid()}"
    folder_of_ours.rmdir()
    folder_of_ours.symlink_to(tmp_path)
    with pytest.raises(sp.BadInput, match="others can write to it"):
        folder()
