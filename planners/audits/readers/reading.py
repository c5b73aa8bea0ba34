"""Which reader a file is for: by how its name ends, or by what a text says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from planners.audits.foreign import ForeignPlan
from planners.audits.readers.pte import read_pte
from planners.audits.readers.table import read_table
from planners.audits.readers.tflm import read_tflm
from planners.audits.readers.vela import SIGN as VELA_SIGN
from planners.audits.readers.vela import read_vela
from planners.audits.readers.xla import BESIDE, FILE, read_xla
from planners.core.errors import BadInput

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
    """Another tool's plan from its file. Raises `BadInput` for a file of no known kind."""
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
    known = ", ".join(BY_ENDING)
    raise BadInput(f"{path} is no plan that can be audited: neither {known} nor Vela's listing")
