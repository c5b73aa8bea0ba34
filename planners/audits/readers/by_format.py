"""Which reader a file is for: by how its name ends, or by what a text says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

from planners.allocation.csv_io import CsvRow, natural, read_rows, write_offsets
from planners.audits.foreign import ForeignPlan, ForeignTensor
from planners.audits.readers.pte import read_pte
from planners.audits.readers.tflm import read_tflm
from planners.audits.readers.vela import SIGN as VELA_SIGN
from planners.audits.readers.vela import read_vela
from planners.audits.readers.xla import BESIDE, FILE, dump_in, read_xla
from planners.core.errors import BadInput

# ---- Any tool's allocation as CSV: `id,lower,upper,size`, and what of `MORE` and `gaps` there is -
# Lifetimes are half-open, as MiniMalloc's; a cell that may be left out may be empty too.

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
        gaps=item.gaps,
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


# --------------------------------------------------------------------------------------------------

Reader = Callable[[str | Path], ForeignPlan]
BY_ENDING: Mapping[str, Reader] = {
    ".tflite": read_tflm,
    ".csv": read_table,
    ".pte": read_pte,
    FILE: read_xla,
    BESIDE: read_xla,
}
BY_WORDS: Mapping[str, Reader] = {VELA_SIGN: read_vela}
"""What a text of a format has in its first `LOOKED_AT` bytes."""
LOOKED_AT = 1 << 20


def read_plan(path: str | Path) -> ForeignPlan:
    """Another tool's plan from its file, or from the folder of one dump of XLA.

    Raises `BadInput` for a file of no known kind.
    """
    if Path(path).is_dir():
        return read_xla(dump_in(Path(path)))
    for ending, reader in BY_ENDING.items():
        if Path(path).name.lower().endswith(ending):
            return reader(path)
    try:
        with Path(path).open("rb") as file:
            start = file.read(LOOKED_AT)
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from error
    for words, reader in BY_WORDS.items():
        if words.encode() in start:
            return reader(path)
    endings = ", ".join(BY_ENDING)
    raise BadInput(
        f"{path} is not a plan that can be audited: neither {endings} nor Vela's listing"
    )
