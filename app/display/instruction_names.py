"""What a trace's instructions are called, by their engines and the labels of their intervals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import planners as sp
from planners.simulator.records.interval_columns import IntervalColumns, columns_of_intervals


@dataclass(frozen=True)
class InstructionNames:
    """Names of instructions; `computing` are the engines that run operators, the others move
    tensors."""

    times: IntervalColumns
    computing: frozenset[str]

    @classmethod
    def of_trace(cls, trace: sp.Trace, computes: Callable[[int], bool]) -> InstructionNames:
        """Those of a trace; `computes` says it of one instruction of each engine."""
        times = columns_of_intervals(trace.intervals)
        numbers, rows = np.unique(times.engine, return_index=True)
        firsts = zip(numbers.tolist(), times.instruction[rows].tolist(), strict=True)
        return cls(times, frozenset(times.engines[at] for at, first in firsts if computes(first)))

    def called(self, position: int) -> str:
        """An instruction in words: an operator, the transfer of a tensor, or neither."""
        row = int(self._rows[position]) if position < len(self._rows) else -1
        if row < 0:
            return "earlier instructions"
        label = self.times.labels[self.times.label[row]]
        ran = self.times.engines[self.times.engine[row]] in self.computing
        return f"operator {label}" if ran else f"the transfer of {label}"

    @cached_property
    def _rows(self) -> Any:
        """Of each instruction the row of its interval, -1 for none."""
        at = self.times.instruction
        rows = np.full(int(at.max(initial=-1)) + 1, -1)
        rows[at] = np.arange(len(at))
        return rows
