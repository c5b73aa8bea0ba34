"""HiGHS in the tests' own process: a process of its own takes a second to import SciPy."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from planners.cosma.ilp import solve


class Done:
    """A process that has ended."""

    returncode = 0

    def wait(self, _limit_s: float | None = None) -> int:
        return 0

    def poll(self) -> int:
        return 0


def run(command: list[str], **_how: Any) -> Done:
    """What `python -c` would run, at once."""
    _, _, program, *arguments = command
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["-c", *arguments])
        exec(program, {})
    return Done()


@contextmanager
def ilp_here() -> Iterator[None]:
    """Programs that HiGHS solves begin no process."""
    there = SimpleNamespace(Popen=run, DEVNULL=subprocess.DEVNULL)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(solve, "subprocess", there)
        yield
