"""What commands write never takes the place of what they read, nor of each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from planners.core.errors import BadInput


def require_distinct(reads: Iterable[str | Path | None], writes: Mapping[str, Path | None]) -> None:
    """Refuse an option whose file the command reads, or writes for another option too.

    `reads` may hold names that are no files. Raises `BadInput`.
    """
    known = {Path(name).resolve(): f"{name} is read" for name in reads if name}
    for option, path in writes.items():
        if path is None:
            continue
        why = known.setdefault(path.resolve(), f"{path} is for {option}")
        if why != f"{path} is for {option}":
            raise BadInput(f"{option} {path}: {why} by this command; name another file")
