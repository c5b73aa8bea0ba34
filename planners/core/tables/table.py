"""A program as columns: what its instructions are, and which boxes and bytes they name.

Columns say nothing that instructions do not; whoever can do a million rows at once reads them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Numbers: TypeAlias = NDArray[np.int64]
Small: TypeAlias = NDArray[np.uint8]
Flags: TypeAlias = NDArray[np.bool_]

LOAD, STORE, COMPUTE, RELEASE, BARRIER = range(5)
"""Kinds of instructions."""
SOURCE, TARGET, READ, WRITE, ENDED, PART = range(6)
"""Roles of operands: of a transfer, of a compute, of a release; the box that is made of a write."""

NOWHERE = -1
"""The offset in a memory without addresses; the memory of a part, which has none."""


@dataclass(frozen=True)
class Table:
    """A program's instructions and their operands.

    Instructions are rows `[0, n)`: `kind`, `step`, `operator` and `engine` (indices of names, -1
    for none), `joined`, `macs`, `sums` (first and last channel, -1 for none), and `first`, where
    its operands begin (n + 1 numbers). Operands are rows of their own, in the order of the
    program: a transfer's source and target, a compute's reads, writes and parts, a release's
    piece. Each has its `role`, the number of its `instruction`, a `tensor`, where its box has its
    `start` and `stop` on each axis (tensors of fewer axes have [0, 1) for the rest; `rank` says how
    many are real), `memory`, `offset` and `size` in bytes; `freed` says that a read ends there.
    """

    tensors: tuple[str, ...]
    memories: tuple[str, ...]
    operators: tuple[str, ...]
    engines: tuple[str, ...]
    kind: Small
    step: Numbers
    operator: Numbers
    engine: Numbers
    joined: Flags
    macs: Numbers
    sums: Numbers
    first: Numbers
    role: Small
    instruction: Numbers
    tensor: Numbers
    rank: Small
    start: Numbers
    stop: Numbers
    memory: Numbers
    offset: Numbers
    size: Numbers
    freed: Flags

    def __len__(self) -> int:
        return len(self.kind)

    def until(self, count: int) -> Table:
        """The first instructions of the program, with the names that these have."""
        rows = int(self.first[count])
        instructions = "kind step operator engine joined macs sums".split()
        operands = "role instruction tensor rank start stop memory offset size freed".split()
        columns: dict[str, Any] = {name: getattr(self, name)[:count] for name in instructions}
        columns |= {name: getattr(self, name)[:rows] for name in operands}
        names = {"operator": "operators", "engine": "engines"}
        names |= {"tensor": "tensors", "memory": "memories"}
        numbers: dict[str, Any] = {}
        for one, all_of in names.items():
            kept = np.unique(columns[one])
            kept = kept[kept >= 0]
            numbers[all_of] = tuple(getattr(self, all_of)[at] for at in kept.tolist())
            number = np.searchsorted(kept, columns[one])
            columns[one] = np.where(columns[one] < 0, columns[one], number)
        return Table(**numbers, first=self.first[: count + 1], **columns)
