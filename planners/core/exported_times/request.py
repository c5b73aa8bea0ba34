"""What a reader of exported times takes and gives, and what all of them need."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planners.core.errors import BadInput
from planners.core.graph import Graph, Operator, Part


@dataclass(frozen=True, slots=True)
class TimesFile:
    """A file of exported times and what it is read for.

    `machine_clock` is the clock of the machine that is planned for, in Hz: cycles count by it where
    nothing else says theirs.
    """

    graph: Graph
    path: Path
    text: str
    machine_clock: float | None = None


@dataclass(frozen=True, slots=True)
class ExportedTimes:
    """Seconds of each operator, sample by sample, and where they are from."""

    seconds: Mapping[str, list[float]]
    source: str


def operators_by_part(graph: Graph) -> dict[str, tuple[Operator, Part]]:
    """The operator that runs each call of the source, and the call; of several the first."""
    by_part: dict[str, tuple[Operator, Part]] = {}
    for op in graph.operators:
        for part in op.parts or (Part(op.name, op.kind),):
            by_part.setdefault(part.name, (op, part))
    return by_part


def quantity(value: Any, where: str, most: float = 1e15) -> float:
    """A number of a file, zero or above. Raises `BadInput`."""
    try:
        number = float(value)
    except (ValueError, TypeError, OverflowError):
        number = math.nan
    # Written so that NaN fails.
    if isinstance(value, bool) or not 0 <= number < most:
        raise BadInput(f"{where} must be a number, zero or above, not {str(value)!r:.40}")
    return number


def require_all(graph: Graph, path: Path, timed: Iterable[str]) -> None:
    """Raises `BadInput` for operators that have no time: the first, and how many."""
    have = {*timed}
    if missing := [op.name for op in graph.operators if op.name not in have]:
        raise BadInput(f"{path}: layer {missing[0]!r:.80} is missing ({len(missing)} in all)")
