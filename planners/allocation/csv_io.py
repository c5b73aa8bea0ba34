"""Lifetimes from CSV (`id,lower,upper,size`, half-open) and their offsets back to CSV.

A column `gaps` is MiniMalloc's: `2-7` by spaces, half-open too, with `@low:high` behind one for the
bytes that stay held meanwhile.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import IO, NamedTuple

from planners.allocation.problem.model import Gap, Lifetime
from planners.core.errors import BadInput
from planners.core.files import read_bounded

COLUMNS = ("id", "lower", "upper", "size")
GAPS, HINT = "gaps", "hint"
GAP = re.compile(r"(\d{1,18})-(\d{1,18})(?:@(\d{1,18}):(\d{1,18}))?", re.ASCII)
_OTHER_NAMES = {"buffer": "id", "buffer_id": "id", "begin": "lower", "start": "lower"}
"""MiniMalloc's older names of columns; in its `end` is the last step, in `upper` the one after."""


class CsvRow(NamedTuple):
    """A row: its lifetime, its cells of other columns (none empty), and where it is in words."""

    lifetime: Lifetime
    cells: Mapping[str, str]
    where: str


Source = str | PathLike[str] | IO[str] | IO[bytes]


def read_lifetimes(source: Source) -> list[Lifetime]:
    """The lifetimes of a CSV file, in its order; columns may come in any order.

    Raises BadInput with the file's name and the number of the line that is wrong.
    """
    return [row.lifetime for row in read_rows(source)]


def read_rows(source: Source, optional: Sequence[str] = ()) -> list[CsvRow]:
    """The rows of a CSV file, which may have the optional columns; `alignment` is a lifetime's.

    Raises BadInput as `read_lifetimes` does.
    """
    name, text = text_of(source)
    rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        return _parse(rows, name, optional)
    except csv.Error as error:
        raise BadInput(f"{name}, line {rows.line_num}: not CSV ({error})") from error


def write_offsets(
    file: IO[str],
    lifetimes: Sequence[Lifetime],
    offsets: Mapping[str, int],
    more: Mapping[str, Sequence[object]] | None = None,
) -> None:
    """Write `id,lower,upper,size[,gaps],offset` in the order of `lifetimes`, and what `more` there
    is.

    `more` has a value a lifetime by column; a lifetime that has no offset has an empty cell.
    """
    writer = csv.writer(file, lineterminator="\n")
    columns = {"offset": [offsets.get(item.id, "") for item in lifetimes], **(more or {})}
    if any(item.gaps for item in lifetimes):
        columns = {GAPS: [" ".join(map(_gap_text, item.gaps)) for item in lifetimes], **columns}
    writer.writerow((*COLUMNS, *columns))
    for item, *cells in zip(lifetimes, *columns.values(), strict=True):
        writer.writerow((item.id, item.lower, item.upper, item.size_bytes, *cells))


def text_of(source: str | PathLike[str] | IO[str] | IO[bytes]) -> tuple[str, str]:
    """The name to blame and the text to read; a byte-order mark is dropped."""
    if isinstance(source, (str, PathLike)):
        name = str(source)
        try:
            data: str | bytes = read_bounded(source)
        except OSError as error:
            raise BadInput(f"{name}: cannot be read ({error.strerror})") from error
    else:
        name = str(getattr(source, "name", "input"))
        try:
            data = source.read()
        except UnicodeDecodeError as error:
            raise BadInput(f"{name}: not a text file ({error.reason})") from error
    if isinstance(data, bytes):
        data = _decode(name, data)
    if "\0" in data:
        line = data[: data.index("\0")].count("\n") + 1
        raise BadInput(f"{name}, line {line}: not a text file (a zero byte)")
    return name, data.removeprefix("\ufeff")


def _decode(name: str, data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise BadInput(f"{name}, line {line}: not UTF-8 text ({error.reason})") from error


def _parse(
    rows: csv._reader,  # type: ignore[name-defined,unused-ignore]
    name: str,
    optional: Sequence[str],
) -> list[CsvRow]:
    given_header = [cell.strip() for cell in next(rows, [])]
    header = [_OTHER_NAMES.get(name, name) for name in given_header]
    last = "end" in header
    header = ["upper" if name == "end" else name for name in header]
    wanted_columns = set(header) - {*optional, GAPS, HINT}
    if sorted(wanted_columns) != sorted(COLUMNS) or len(set(header)) < len(header):
        given = ",".join(given_header)[:200] or "nothing"
        more = "".join(f"[,{column}]" for column in optional)
        wanted = ",".join(COLUMNS) + more
        raise BadInput(f"{name}, line 1: the header must be {wanted}, found {given!r}")
    parsed: list[CsvRow] = []
    first_line: dict[str, int] = {}
    for row in rows:
        if not any(cell.strip() for cell in row):
            continue
        where = f"{name}, line {rows.line_num}"
        new = _row(header, row, where, int(last))
        if (id := new.lifetime.id) in first_line:
            raise BadInput(f"{where}: id {id!r:.80} was given on line {first_line[id]} already")
        first_line[id] = rows.line_num
        parsed.append(new)
    if not parsed:
        raise BadInput(f"{name}: no lifetimes after the header")
    return parsed


def _row(header: Sequence[str], row: Sequence[str], where: str, beyond: int) -> CsvRow:
    """A row; `beyond` is how far behind its last cell of time it ends."""
    if len(row) != len(header):
        raise BadInput(f"{where}: {len(row)} cells where {len(header)} were expected")
    cells = {column: cell.strip() for column, cell in zip(header, row, strict=True)}
    if not cells["id"]:
        raise BadInput(f"{where}: the id is empty")
    numbers = {column: natural(cells[column], column, where) for column in COLUMNS[1:]}
    more = {column: cell for column, cell in cells.items() if cell and column not in COLUMNS}
    alignment = natural(more["alignment"], "alignment", where) if "alignment" in more else 1
    gaps = tuple(_gap(text, where, beyond) for text in more.pop(GAPS, "").split())
    more.pop(HINT, "")  # where to try first: nothing of the question
    lower, upper, size = (numbers[column] for column in COLUMNS[1:])
    upper += beyond
    try:
        return CsvRow(Lifetime(cells["id"], lower, upper, size, alignment, gaps), more, where)
    except BadInput as error:
        raise BadInput(f"{where}: {error}") from error


def _gap(text: str, where: str, beyond: int) -> Gap:
    match = GAP.fullmatch(text)
    if match is None:
        raise BadInput(f"{where}: a gap is written 2-7 or 2-7@0:16, found {text[:40]!r}")
    lower, upper, low, high = (int(number or 0) for number in match.groups())
    return Gap(lower, upper + beyond, low, high)


def _gap_text(gap: Gap) -> str:
    kept = f"@{gap.low}:{gap.high}" if gap.low < gap.high else ""
    return f"{gap.lower}-{gap.upper}{kept}"


def natural(cell: str, column: str, where: str) -> int:
    """A cell as a whole number from 0 on. Raises BadInput that says `where`."""
    if not (cell.isascii() and cell.removeprefix("-").isdigit()) or len(cell) > 19:
        raise BadInput(f"{where}: {column} must be a whole number, found {cell[:40]!r}")
    if (number := int(cell)) < 0:
        raise BadInput(f"{where}: {column} must not be negative, found {number}")
    return number
