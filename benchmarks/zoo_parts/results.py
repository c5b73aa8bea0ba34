"""Results on disk: a line a network, added whole; the last line of a network holds."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any


class Results:
    """Rows by family and name. A last line that was cut off is as if it were not there."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rows: dict[tuple[str, str], dict[str, Any]] = {}
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        for line in text.splitlines():
            with suppress(json.JSONDecodeError):
                row = json.loads(line)
                self._rows[row["family"], row["name"]] = row
        self._cut = bool(text) and not text.endswith("\n")

    def has(self, family: str, name: str) -> bool:
        """Whether a network has been examined."""
        return (family, name) in self._rows

    def row(self, family: str, name: str) -> dict[str, Any] | None:
        """What is known of a network."""
        return self._rows.get((family, name))

    def add(self, family: str, name: str, row: dict[str, Any]) -> None:
        """Keep a result: one write of one line, on the disk before this returns."""
        row = {"family": family, "name": name, **row}
        line = ("\n" if self._cut else "") + json.dumps(row, sort_keys=True) + "\n"
        with self._path.open("ab", buffering=0) as file:
            file.write(line.encode())
            os.fsync(file.fileno())
        self._cut = False
        self._rows[family, name] = row
