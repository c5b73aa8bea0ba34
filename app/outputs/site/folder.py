"""The folder of a site: it holds what this wrote and nothing else, and knows what it holds.

A list of files with digests of their content is in it, with what was planned for them. It is
written before each file, so that a run that was ended goes on from what is there.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import planners as sp
from planners.core.files import read_bounded, write_text

LIST = ".spillway.json"
WRITTEN_BY = "spillway site"
LEFT_BEHIND = re.compile(r"\.(?P<name>.+)\.[A-Za-z0-9_]{8}")
"""What a run that was killed while it wrote may leave: `planners.core.files.write_bytes`."""


class SiteFolder:
    """A folder, new or empty or of an earlier run; `known` is what that noted of its plans."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.known: dict[str, Any] = {}
        self._digests: dict[str, list[str]] = {}
        self._kept: set[str] = set()
        self._lock = -1

    def __enter__(self) -> SiteFolder:
        """See that nothing in it is somebody else's, and that no other run writes it.

        Raises `BadInput`, and leaves it as it is.
        """
        try:
            self._open()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._lock >= 0:
            os.close(self._lock)
        self._lock = -1

    def _open(self) -> None:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(self.path, os.O_RDONLY)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._read()
            for file in sorted(self.path.rglob("*")):
                if why := self._foreign(file):
                    name = file.relative_to(self.path).as_posix()
                    raise sp.BadInput(
                        f"{self.path} is not touched: {name!r:.80} in it {why}; name a new or an "
                        "empty folder"
                    )
        except BlockingIOError as error:
            raise sp.BadInput(f"another run writes {self.path}: wait for it") from error
        except FileExistsError as error:
            raise sp.BadInput(f"{self.path} is a file: name a new or an empty folder") from error
        except OSError as error:
            raise sp.BadInput(f"cannot write {self.path}: {error.strerror}") from error

    def _read(self) -> None:
        file = self.path / LIST
        if file.is_symlink() or not file.is_file():
            return
        try:
            data = json.loads(read_bounded(file))
            if data["written_by"] == WRITTEN_BY:
                self._digests = {str(name): list(some) for name, some in data["files"].items()}
                self.known = dict(data["plans"])
        except (ValueError, KeyError, TypeError, AttributeError):
            return  # None of ours: its entries are refused.

    def _foreign(self, file: Path) -> str:
        """Why a file or folder is not ours; empty where it is."""
        name = file.relative_to(self.path).as_posix()
        if file.is_symlink() or not (file.is_file() or file.is_dir()):
            return f"was not written by {WRITTEN_BY}"
        if file.is_dir():
            inside = any(written.startswith(f"{name}/") for written in self._digests)
            return "" if inside else f"was not written by {WRITTEN_BY}"
        left = LEFT_BEHIND.fullmatch(file.name)
        beside = left and (file.parent / left["name"]).relative_to(self.path).as_posix()
        if self._digests and (name == LIST or beside == LIST or beside in self._digests):
            return ""
        if name not in self._digests:
            return f"was not written by {WRITTEN_BY}"
        return "" if digest(file) in self._digests[name] else "was changed since"

    def has(self, name: str) -> bool:
        """Whether a file of an earlier run, or of this one, is there."""
        return name in self._digests and (self.path / name).is_file()

    def keep(self, name: str) -> None:
        """A file of an earlier run belongs to this site too."""
        self._kept.add(name)

    def write(self, name: str, text: str) -> None:
        """Write a file, unless it is there as it should be. Raises `BadInput` where it cannot."""
        self._kept.add(name)
        now, file = digest_of(text.encode()), self.path / name
        if self._digests.get(name) == [now] and file.is_file():
            return
        file.parent.mkdir(parents=True, exist_ok=True)
        self._digests.setdefault(name, []).append(now)
        self._note()
        write_text(file, text)
        self._digests[name] = [now]

    def note(self, plan: str, facts: Mapping[str, Any]) -> None:
        """Remember what was planned."""
        self.known[plan] = dict(facts)
        self._note()

    def close(self, plans: set[str]) -> None:
        """Remove what earlier runs wrote and this site does not have."""
        for name in sorted(set(self._digests) - self._kept):
            (self.path / name).unlink(missing_ok=True)
            del self._digests[name]
        for file in self.path.rglob(".*"):
            if LEFT_BEHIND.fullmatch(file.name):
                file.unlink(missing_ok=True)
        for folder in sorted((f for f in self.path.rglob("*") if f.is_dir()), reverse=True):
            if not any(folder.iterdir()):
                folder.rmdir()
        self.known = {name: facts for name, facts in self.known.items() if name in plans}
        self._note()

    def _note(self) -> None:
        data = {"written_by": WRITTEN_BY, "files": self._digests, "plans": self.known}
        write_text(self.path / LIST, json.dumps(data, indent=1, sort_keys=True) + "\n")

    @property
    def sizes(self) -> dict[str, int]:
        """Bytes of each file."""
        return {name: (self.path / name).stat().st_size for name in sorted(self._digests)}


def digest(file: Path) -> str:
    """The digest of a file's content."""
    return digest_of(file.read_bytes())


def digest_of(data: bytes) -> str:
    """The digest of some bytes."""
    return hashlib.sha256(data).hexdigest()
