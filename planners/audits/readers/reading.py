"""Which reader a file is for: by how its name ends, or by what a text says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from planners.audits.foreign import ForeignPlan
from planners.audits.readers.table import read_table
from planners.audits.readers.tflm import read_tflm
from planners.core.errors import BadInput

Reader = Callable[[str | Path], ForeignPlan]
BY_ENDING: Mapping[str, Reader] = {".tflite": read_tflm, ".csv": read_table}
BY_WORDS: Mapping[str, Reader] = {}
"""What a text of a format has in its first `LOOKED_AT` bytes."""
LOOKED_AT = 1 << 20


def read_plan(path: str | Path) -> ForeignPlan:
    """Another tool's plan from its file. Raises `BadInput` for a file of no known kind."""
    ending = Path(path).suffix.lower()
    if ending in BY_ENDING:
        return BY_ENDING[ending](path)
    try:
        with Path(path).open("rb") as file:
            start = file.read(LOOKED_AT)
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from error
    for words, reader in BY_WORDS.items():
        if words.encode() in start:
            return reader(path)
    known = ", ".join(BY_ENDING)
    raise BadInput(f"{path} is no plan that can be audited: neither {known} nor a known listing")
