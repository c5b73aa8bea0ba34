"""Lifetimes from CSV (`id,lower,upper,size`, half-open) and their offsets back to CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import IO

from planners.allocation.problem.model import Lifetime
from planners.core.errors import BadInput

COLUMNS = ("id", "lower", "upper", "size")


def read_lifetimes(source: str | PathLike[str] | IO[str] | IO[bytes]) -> list[Lifetime]:
    """The lifetimes of a CSV file, in its order; columns may come in any order.

    Raises BadInput with the file's name and the number of the line that is wrong.
    """
    name, text = _text_of(source)
    rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        return _parse(rows, name)
    except csv.Error as error:
        raise BadInput(f"{name}, line {rows.line_num}: not CSV ({error})") from error


def write_offsets(file: IO[str], lifetimes: Sequence[Lifetime], offsets: Mapping[str, int]) -> None:
    """Write `id,lower,upper,size,offset` in the order of `lifetimes`."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow((*COLUMNS, "offset"))
    for item in lifetimes:
        writer.writerow((item.id, item.lower, item.upper, item.size_bytes, offsets[item.id]))


def _text_of(source: str | PathLike[str] | IO[str] | IO[bytes]) -> tuple[str, str]:
    """The name to blame and the text to read; a byte-order mark is dropped."""
    if isinstance(source, (str, PathLike)):
        name = str(source)
        try:
            data: str | bytes = Path(source).read_bytes()
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


def _parse(rows: csv._reader, name: str) -> list[Lifetime]:  # type: ignore[name-defined,unused-ignore]
    header = [cell.strip() for cell in next(rows, [])]
    if sorted(header) != sorted(COLUMNS):
        given = ",".join(header) or "nothing"
        raise BadInput(f"{name}, line 1: the header must be {','.join(COLUMNS)}, found {given!r}")
    lifetimes: list[Lifetime] = []
    first_line: dict[str, int] = {}
    for row in rows:
        if not any(cell.strip() for cell in row):
            continue
        where = f"{name}, line {rows.line_num}"
        lifetime = _lifetime(header, row, where)
        if lifetime.id in first_line:
            raise BadInput(
                f"{where}: id {lifetime.id!r} was given on line {first_line[lifetime.id]} already"
            )
        first_line[lifetime.id] = rows.line_num
        lifetimes.append(lifetime)
    if not lifetimes:
        raise BadInput(f"{name}: no lifetimes after the header")
    return lifetimes


def _lifetime(header: Sequence[str], row: Sequence[str], where: str) -> Lifetime:
    if len(row) != len(header):
        raise BadInput(f"{where}: {len(row)} cells where {len(header)} were expected")
    cells = {column: cell.strip() for column, cell in zip(header, row, strict=True)}
    if not cells["id"]:
        raise BadInput(f"{where}: the id is empty")
    numbers = {column: _natural(cells[column], column, where) for column in COLUMNS[1:]}
    try:
        return Lifetime(cells["id"], numbers["lower"], numbers["upper"], numbers["size"])
    except BadInput as error:
        raise BadInput(f"{where}: {error}") from error


def _natural(cell: str, column: str, where: str) -> int:
    if not (cell.isascii() and cell.removeprefix("-").isdigit()) or len(cell) > 19:
        raise BadInput(f"{where}: {column} must be a whole number, found {cell[:40]!r}")
    if (number := int(cell)) < 0:
        raise BadInput(f"{where}: {column} must not be negative, found {number}")
    return number
