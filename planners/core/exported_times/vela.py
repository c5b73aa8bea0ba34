"""`NETWORK_per-layer.csv` of Vela (`--verbose-performance`): cycles of each of its operators.

Vela writes an operator of the file as one row or several, which add up. A row's name is the tensor
that it writes; rows of steps inside one operator have names of Vela's own and stand directly before
the row that ends it. An activation that runs with its operator has a row of no cycles. What Vela
writes directly into a concatenation or a padded map has that tensor's name: such rows belong to the
one operator of those that make it which has no row, and as many MACs where it has any.

Cycles count by the core clock in `NETWORK_summary_SYSTEM.csv`, which Vela writes beside the table;
where that file is not there, by the clock of the machine that is planned for.
"""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from planners.core.errors import BadInput
from planners.core.exported_times.request import (
    ExportedTimes,
    TimesFile,
    operators_by_part,
    quantity,
    require_all,
)
from planners.core.files import read_bounded
from planners.core.graph import Operator, Part

COLUMNS = ("NNG Operator", "Op Cycles", "MAC Count", "Name")
PRODUCTS = ("Conv2D", "DepthwiseConv2D", "FullyConnected")
OF_PRODUCTS = ("conv2d", "linear")
"""Operators of the file whose MACs Vela counts as we do, and their kinds in a graph."""
WRITTEN_INTO = {"cat": ("Concat",), "stack": ("Pack",), "pad": ("Pad", "PadV2", "MirrorPad")}
"""Kinds whose operands Vela has written in place, and what it calls them."""
MOST_SUMMARY = 2**20


@dataclass(frozen=True, slots=True)
class VelaRow:
    """A row of the table: `original` is the operator of the file that it is of."""

    where: str
    original: str
    name: str
    cycles: float
    macs: float


def read(file: TimesFile) -> ExportedTimes:
    """Seconds of each operator. Raises `BadInput` with the line that belongs to no operator."""
    try:
        table = list(_rows(file))
    except csv.Error as error:
        raise BadInput(f"cannot read times from {file.path}: {error}") from error
    rows = _by_operator(file, _with_names(file, table))
    require_all(file.graph, file.path, rows)
    for op in file.graph.operators:
        _require_macs(op, rows[op.name])
    hz, whose = _clock(file)
    seconds = {name: [sum(row.cycles for row in mine) / hz] for name, mine in rows.items()}
    return ExportedTimes(seconds, f"Vela's {file.path.name:.40} at {hz / 1e6:g} MHz ({whose})")


def _rows(file: TimesFile) -> Iterator[VelaRow]:
    """The rows of the table; heads that are written again, for further parts, are left out."""
    reader = csv.reader(io.StringIO(file.text, newline=""))
    head = [cell.strip() for cell in next(reader)]
    for cells in reader:
        if not any(cells) or [cell.strip() for cell in cells] == head:
            continue
        where = f"{file.path}, line {reader.line_num}"
        if len(cells) != len(head):
            raise BadInput(f"{where}: {len(cells)} cells, not {len(head)}")
        row = dict(zip(head, cells, strict=True))
        name, target = row["Name"].strip(), row.get("Target", "NPU")
        if target != "NPU":
            raise BadInput(f"{where}: {name!r:.80} runs on the {target!r:.9}: it has no cycles")
        cycles = quantity(row["Op Cycles"], f"{where}: Op Cycles")
        macs = quantity(row["MAC Count"], f"{where}: MAC Count")
        yield VelaRow(where, cells[0].strip(), name, cycles, macs)


def _with_names(file: TimesFile, rows: list[VelaRow]) -> list[tuple[str, VelaRow]]:
    """Each row with the tensor it leads to: its own, or that of the row that ends its operator."""
    tensors, named = operators_by_part(file.graph), list[tuple[str, VelaRow]]()
    inside = list[VelaRow]()
    for row in rows:
        if inside and row.original != inside[0].original:
            break
        inside.append(row)
        if row.name in tensors:
            named += [(row.name, each) for each in inside]
            inside = []
    if inside:
        row, name = inside[0], file.graph.name
        raise BadInput(f"{row.where}: {name} has no operator that makes {row.name!r:.80}")
    return named


def _by_operator(file: TimesFile, named: list[tuple[str, VelaRow]]) -> dict[str, list[VelaRow]]:
    """The rows of each operator; none of what its operands were written into, at no cost."""
    made_by, rows_of = operators_by_part(file.graph), defaultdict[str, list[VelaRow]](list)
    elsewhere = list[tuple[Operator, VelaRow]]()
    for name, row in named:
        op, part = made_by[name]
        if _is_written_into(part, row):
            elsewhere.append((op, row))
        else:
            rows_of[op.name].append(row)
    has_rows = {*rows_of}
    for op, row in elsewhere:
        rows_of.setdefault(op.name, [])
        if row.cycles or row.macs:
            rows_of[
                _operand([made_by[n][0] for n in op.inputs if n in made_by], row, has_rows).name
            ].append(row)
    return rows_of


def _is_written_into(part: Part, row: VelaRow) -> bool:
    return part.kind in WRITTEN_INTO and row.original not in WRITTEN_INTO[part.kind]


def _operand(makers: list[Operator], row: VelaRow, has_rows: set[str]) -> Operator:
    """The operator that a row is of which has the name of what it was written into."""
    could = {op.name: op for op in makers if op.name not in has_rows and _could_be(op, row)}
    if len(could) == 1:
        return could.popitem()[1]
    count = f"{len(could)} operators" if could else "no operator"
    raise BadInput(
        f"{row.where}: {row.original} was written into {row.name!r:.80}, and {count} of those that "
        "make it could be that row's"
    )


def _could_be(op: Operator, row: VelaRow) -> bool:
    if row.original in PRODUCTS:
        return op.macs == row.macs
    words = WRITTEN_INTO.get(op.kind)
    return row.original in words if words else op.kind not in OF_PRODUCTS


def _require_macs(op: Operator, rows: list[VelaRow]) -> None:
    """Raises `BadInput` where a row is of an operator with other MACs: of another network."""
    products = [row for row in rows if row.original in PRODUCTS and row.macs]
    if op.kind in OF_PRODUCTS and products:
        macs = sum(row.macs for row in products if row.original == products[0].original)
        if macs != op.macs:
            raise BadInput(
                f"{products[0].where}: {macs:,.0f} MACs, and layer {op.name!r:.80} has "
                f"{op.macs:,}: the table is of another network"
            )


# ---- the clock ----


def _clock(file: TimesFile) -> tuple[float, str]:
    """Hz that the cycles are of, and who says so."""
    summaries = _summaries(file.path)
    clocks = {clock for path in summaries for clock in _core_clocks(path)}
    if len(clocks) > 1:
        names = ", ".join(path.name for path in summaries)
        raise BadInput(f"{file.path}: cycles of which clock? Several are in {names}")
    if clocks:
        return clocks.pop(), "of its summary"
    if file.machine_clock is None:
        raise BadInput(f"{file.path}: cycles, without Vela's summary beside it that has the clock")
    return file.machine_clock, "of the machine"


def _summaries(path: Path) -> list[Path]:
    begin = f"{path.name.removesuffix('_per-layer.csv')}_summary_"
    names = (each.name for each in path.parent.iterdir())
    summaries = (name for name in names if name.startswith(begin) and name.endswith(".csv"))
    return [path.with_name(name) for name in sorted(summaries)]


def _core_clocks(path: Path) -> Iterator[float]:
    try:
        text = read_bounded(path, MOST_SUMMARY).decode("utf-8")
        rows = list(csv.DictReader(text.splitlines()))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BadInput(f"cannot read the core clock from {path}: {error}") from error
    for number, row in enumerate(rows, start=2):
        clock = quantity(row.get("core_clock"), f"{path}, line {number}: core_clock")
        if not clock:
            raise BadInput(f"{path}, line {number}: core_clock is 0")
        yield clock
