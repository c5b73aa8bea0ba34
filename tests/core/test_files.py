"""Files are replaced whole, and nothing is replaced that is no file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from planners.core.errors import BadInput
from planners.core.files import read_json, write_text


def test_a_file_keeps_its_mode_and_a_link_its_target(tmp_path: Path) -> None:
    secret, link = tmp_path / "secret.json", tmp_path / "link.json"
    secret.write_text("old")
    secret.chmod(0o600)
    link.symlink_to(secret)
    write_text(link, "new")
    assert (secret.read_text(), secret.stat().st_mode & 0o777) == ("new", 0o600)
    assert link.is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.json", "secret.json"]


def test_a_pipe_is_written_to_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_text(pipe, "text")
        assert os.read(reader, 9) == b"text"
    finally:
        os.close(reader)
    assert pipe.is_fifo()


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot write"):
        write_text(tmp_path, "text")
    assert tmp_path.is_dir()


def test_a_file_without_an_end_is_not_read() -> None:
    with pytest.raises(BadInput, match="cannot read /dev/zero: it has more than"):
        read_json("/dev/zero")
