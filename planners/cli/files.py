"""Files that commands write: pages, and none in the place of what is read or written too."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from planners.core.errors import BadInput
from planners.core.files import write_text

if TYPE_CHECKING:
    from planners.study.long_tables import ReportPage


def require_distinct(reads: Iterable[str | Path | None], writes: Mapping[str, Path | None]) -> None:
    """Refuse an option whose file the command reads, or writes for another option too.

    `reads` may hold names that are no files. Raises `BadInput`.
    """
    uses = {Path(name).resolve(): f"{name} is read" for name in reads if name}
    for option, path in writes.items():
        if path is None:
            continue
        why = uses.setdefault(path.resolve(), f"{path} is for {option}")
        if why != f"{path} is for {option}":
            raise BadInput(f"{option} {path}: {why} by this command; name another file")


def write_page(out: Path | None, data: Path | None, name: str, page: ReportPage) -> None:
    """Write a page: its long tables as files in a folder where one is named, else whole.

    Raises `BadInput` for a folder without a page.
    """
    if out is None:
        if data is not None:
            raise BadInput("--data is for the page that --out writes")
        return
    text = str(page)
    if data is not None:
        data.mkdir(parents=True, exist_ok=True)
        text = page.with_files(data, Path(os.path.relpath(data, out.parent)).as_posix(), name)
    write_text(out, text)
