"""A user's table of times: `layer,read_s,copy_s,kernel_s`, one row a layer, or one a sample.

The first column names an operator of the graph, every operator has a row; without parameters its
read and copy may be empty. `layer,kernel_s` will do where nothing is streamed. A layer with several
rows was measured several times: the median of each column counts.
"""

from __future__ import annotations

import csv
import difflib
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import TypeAlias

from planners.core.errors import BadInput
from planners.core.graph import Graph

COLUMNS = ("layer", "read_s", "copy_s", "kernel_s")
KERNELS = ("layer", "kernel_s")
Samples: TypeAlias = Mapping[str, list[tuple[float, ...]]]
"""By operator the seconds to read and copy its parameters and to run it, sample by sample."""


def with_times(graph: Graph, path: str | Path) -> Graph:
    """The graph whose operators take what a table says, on whichever machine.

    Raises `BadInput` as `read_samples` does.
    """
    samples = read_samples(graph, path, columns=(COLUMNS, KERNELS))
    kernels = {name: median(row[-1] for row in rows) for name, rows in samples.items()}
    operators = tuple(replace(op, seconds=kernels[op.name]) for op in graph.operators)
    source = {**graph.source, "times": f"table {Path(path).name}"}
    return replace(graph, operators=operators, source=source)


def read_samples(
    graph: Graph, path: str | Path, columns: tuple[tuple[str, ...], ...] = (COLUMNS,)
) -> Samples:
    """The times of a graph's layers from a CSV file, which has one of these rows of `columns`.

    Raises `BadInput` naming the line for a layer that is missing or unknown, and for a time that
    is negative or no number.
    """
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            rows = list(csv.reader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BadInput(f"cannot read times from {path}: {error}") from error
    head = tuple(cell.strip() for cell in rows[0]) if rows else ()
    if head not in columns:
        raise BadInput(f"{path}: the first line must be {' or '.join(map(','.join, columns))}")
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
    if not 0 <= value < 1e9:
        raise BadInput(f"{where} must be seconds, zero or above, not {text!r:.40}")
    return value
