"""Any tool's allocation as CSV: `id,lower,upper,size[,offset][,alignment][,memory][,alias]`.

Lifetimes are half-open, as MiniMalloc's; a cell that may be left out may be empty too.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import IO

from planners.allocation.csv_io import CsvRow, natural, read_rows, write_offsets
from planners.audits.foreign import ForeignPlan, ForeignTensor

TOOL = "CSV"
MORE = ("offset", "alignment", "memory", "alias")


def read_table(path: str | Path) -> ForeignPlan:
    """A CSV file as a plan. Raises `BadInput` with the line that is wrong."""
    tensors = tuple(map(_tensor, read_rows(path, MORE)))
    return ForeignPlan(TOOL, str(path), tensors)


def _tensor(row: CsvRow) -> ForeignTensor:
    item, cells = row.lifetime, row.cells
    offset = natural(cells["offset"], "offset", row.where) if "offset" in cells else None
    return ForeignTensor(
        item.id,
        item.lower,
        item.upper,
        item.size_bytes,
        offset,
        item.alignment,
        cells.get("memory", ""),
        cells.get("alias", ""),
    )


def write_table(file: IO[str], tensors: Sequence[ForeignTensor]) -> None:
    """Write tensors as `read_table` reads them, with the columns that say anything."""
    more: dict[str, Sequence[object]] = {
        "alignment": [t.alignment for t in tensors],
        "memory": [t.memory for t in tensors],
        "alias": [t.alias for t in tensors],
    }
    saying = {name: cells for name, cells in more.items() if set(cells) - {1, ""}}
    offsets = {t.id: t.offset for t in tensors if t.offset is not None}
    write_offsets(file, [t.lifetime for t in tensors], offsets, saying)
