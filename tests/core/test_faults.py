"""A full disk and a signal while a file is written: the file from before is whole."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from planners.core.errors import BadInput
from planners.core.files import write_bytes

FULL = """
import resource, signal, sys
from planners.core.errors import BadInput
from planners.core.files import write_bytes
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    write_bytes(sys.argv[1], bytes(5000))
except BadInput as error:
    print(error)
"""
SLOW = """
import os, signal, sys
from planners.core import files
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored by what runs in the background
def last(old, new):
    print("written", flush=True)
    sys.stdin.read()
files.os.replace = last
files.write_bytes(sys.argv[1], bytes(5000))
"""


def test_a_disk_that_is_full_leaves_the_file_from_before(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_bytes(b"before")
    command = [sys.executable, "-c", FULL, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"cannot write {path}: File too large\n"
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_leaves_the_file_from_before(number: int, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_bytes(b"before")
    command = [sys.executable, "-c", SLOW, str(path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, **pipes) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"written\n"
        child.send_signal(number)
        assert child.wait(20) != 0
    assert path.read_bytes() == b"before"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_device_that_is_full_is_told() -> None:
    with pytest.raises(BadInput, match="cannot write /dev/full: No space left on device"):
        write_bytes("/dev/full", bytes(5000))
