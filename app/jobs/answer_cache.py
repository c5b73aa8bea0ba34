"""Answers that this server has decoded: what is asked again is shown without reading it again."""

from __future__ import annotations

import contextlib
import os
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from app.jobs.protocol import Answer

MOST_BYTES = 2**19
"""Of the files of all answers that are kept: decoded, and looked at, they take a hundred times as
much."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """The answers of an entry, and how large it was and when written or used last."""

    answers: tuple[Answer, ...]
    size_bytes: int
    used_ns: int


class DecodedAnswers:
    """The answers of the entries used last, as long as these are on disk as they were.

    Safe to use from any thread.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self.most_bytes = most_bytes
        self._kept: OrderedDict[Path, Decoded] = OrderedDict()
        self._lock = threading.RLock()

    def find(self, path: Path) -> tuple[Answer, ...]:
        """The answers of an entry, which counts as used; none where it is not known, or another."""
        with self._lock, contextlib.suppress(OSError):
            decoded = self._kept.pop(path, None)
            entry = path.stat()
            if decoded and (entry.st_size, entry.st_mtime_ns) == (
                decoded.size_bytes,
                decoded.used_ns,
            ):
                os.utime(path)
                self.keep(path, decoded.answers)
                return decoded.answers
        return ()

    def keep(self, path: Path, answers: Sequence[Answer]) -> None:
        """Keep the answers of an entry as it is now; those used longest ago make room."""
        with self._lock, contextlib.suppress(OSError):
            self._kept.pop(path, None)
            entry = path.stat()
            self._kept[path] = Decoded(tuple(answers), entry.st_size, entry.st_mtime_ns)
            while sum(decoded.size_bytes for decoded in self._kept.values()) > self.most_bytes:
                self._kept.popitem(last=False)

    def forget(self) -> None:
        """Keep nothing: what is asked next is read from its file."""
        with self._lock:
            self._kept.clear()
