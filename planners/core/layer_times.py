"""A user's table of times: `layer,read_s,copy_s,kernel_s`, one row a layer, or one a sample.

The first column names an operator of the graph, every operator has a row; without parameters its
read and copy may be empty. `layer,kernel_s` will do where nothing is streamed, and so will what
other tools export (`planners.core.exported_times`). A layer with several rows was measured several
times: the median of each column counts.
"""

from __future__ import annotations

import csv
import difflib
import io
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import TypeAlias

from planners.core.errors import BadInput
from planners.core.exported_times import EXPORTS, export_of
from planners.core.exported_times.request import TimesFile, quantity
from planners.core.files import read_bounded
from planners.core.graph import Graph
from planners.core.machine import Machine

COLUMNS = ("layer", "read_s", "copy_s", "kernel_s")
KERNELS = ("layer", "kernel_s")
OF_EXPORTS = ", ".join(each.name for each in EXPORTS)
MOST_SECONDS = 1e9
MOST_BYTES = 64 * 2**20
Samples: TypeAlias = Mapping[str, list[tuple[float, ...]]]
"""By operator the seconds to read and copy its parameters and to run it, sample by sample."""


def with_times(graph: Graph, path: str | Path, machine: Machine | None = None) -> Graph:
    """The graph whose operators take what a table or an export says, on whichever machine.

    `machine` is what is planned for, by whose clock cycles count that come without their own.
    Raises `BadInput` as `read_samples` does, and for what an export says of no operator.
    """
    text = _text(path)
    if export := export_of(text):
        clock = machine.clock_hz if machine else None
        exported = export.read(TimesFile(graph, Path(path), text, clock))
        seconds, times_source = exported.seconds, exported.source
    else:
        samples = _samples(graph, path, text, (COLUMNS, KERNELS))
        seconds = {name: [row[-1] for row in rows] for name, rows in samples.items()}
        times_source = f"table {Path(path).name}"
    counted = {
        name: quantity(median(rows), f"{path}: seconds of layer {name!r:.60}", MOST_SECONDS)
        for name, rows in seconds.items()
    }
    operators = tuple(replace(op, seconds=counted[op.name]) for op in graph.operators)
    return replace(graph, operators=operators, source={**graph.source, "times": times_source})


def read_samples(graph: Graph, path: str | Path) -> Samples:
    """The times of a graph's layers, reads and copies among them, from a CSV file.

    Raises `BadInput` naming the line for a layer that is missing or unknown, and for a time that
    is negative or no number.
    """
    text = _text(path)
    if export := export_of(text):
        raise BadInput(
            f"{path}: {export.name} has no times to read parameters: streaming needs "
            f"{','.join(COLUMNS)}"
        )
    return _samples(graph, path, text, (COLUMNS,))


def _text(path: str | Path) -> str:
    try:
        return read_bounded(path, MOST_BYTES).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"cannot read times from {path}: {error}") from error


def _samples(
    graph: Graph, path: str | Path, text: str, columns: tuple[tuple[str, ...], ...]
) -> Samples:
    """The rows of a table that begins with one of these rows of `columns`."""
    try:
        rows = list(csv.reader(io.StringIO(text, newline="")))
    except csv.Error as error:
        raise BadInput(f"cannot read times from {path}: {error}") from error
    head = tuple(cell.strip() for cell in rows[0]) if rows else ()
    if head not in columns:
        message = f"{path}: the first line must be {' or '.join(map(','.join, columns))}"
        also = f", or that of {OF_EXPORTS}" if KERNELS in columns else ""
        raise BadInput(message + also)
    samples: dict[str, list[tuple[float, ...]]] = {}
    operators = {op.name: op for op in graph.operators}
    for number, row in enumerate(rows[1:], start=2):
        if not any(cell.strip() for cell in row):
            continue
        where = f"{path}, line {number}"
        if len(row) != len(head):
            raise BadInput(f"{where}: {len(row)} cells, not {len(head)}")
        name = row[0].strip()
        if name not in operators:
            near = difflib.get_close_matches(name, operators, 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise BadInput(f"{where}: {graph.name} has no layer {name!r:.60}{hint}")
        streams = bool(operators[name].parameters)
        cells = zip(head[1:], row[1:], strict=True)
        samples.setdefault(name, []).append(
            tuple(_seconds(cell, f"{where}: {column}", streams) for column, cell in cells)
        )
    if missing := [name for name in operators if name not in samples]:
        raise BadInput(f"{path}: layer {missing[0]!r} is missing ({len(missing)} in all)")
    return samples


def _seconds(cell: str, where: str, streams: bool) -> float:
    text = cell.strip()
    if not text and not streams and not where.endswith("kernel_s"):
        return 0.0
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    # Written so that NaN fails.
    if not 0 <= value < MOST_SECONDS:
        raise BadInput(f"{where} must be seconds, zero or above, not {text!r:.40}")
    return value
