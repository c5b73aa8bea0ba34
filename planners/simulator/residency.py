"""Residencies: which piece sits at which bytes of a memory, from which step until which."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from planners.core.program import Operand, Piece, Region, Span
from planners.simulator.unfinished import Unfinished

Origin = Literal["load", "retrieve", "compute"]
Ending = Literal["spill", "drop", "dead", "output"]


@dataclass(frozen=True, slots=True)
class Residency:
    """A stay of a piece in a memory during steps `[start_step, stop_step)`.

    `origin`: loaded for the first time, retrieved after it had left, or computed. `ending`:
    stored because it is needed again (`spill`), left because a copy exists (`drop`), left as an
    output, or no longer needed (`dead`). Instructions are positions in the program;
    `stop_instruction` is -1 where the piece stays to the end.
    """

    piece: Piece
    memory: str
    spans: tuple[Span, ...]
    start_step: int
    stop_step: int
    start_instruction: int
    stop_instruction: int
    origin: Origin
    ending: Ending

    @property
    def tensor(self) -> str:
        return self.piece.tensor

    @property
    def size_bytes(self) -> int:
        return sum(span.stop - span.start for span in self.spans)


@dataclass(slots=True)
class Stay:
    """A residency in the making."""

    operand: Operand
    memory: str
    spans: tuple[Span, ...]
    start_step: int
    start_instruction: int
    computed: bool
    stored: bool = False
    stop_step: int = -1
    stop_instruction: int = -1
    unfinished: Unfinished | None = None

    @property
    def region(self) -> Region:
        return self.operand.region


def residencies(
    stays: Iterable[Stay], outputs: frozenset[str], steps: int
) -> tuple[Residency, ...]:
    """Finished residencies in program order, each with why it began and why it ended."""
    ordered = sorted(stays, key=lambda stay: stay.start_instruction)
    seen: set[tuple[str, Piece]] = set()
    first: list[bool] = []
    for stay in ordered:
        key = (stay.memory, stay.operand.piece)
        first.append(key not in seen)
        seen.add(key)
    last: list[bool] = []
    seen.clear()
    for stay in reversed(ordered):
        key = (stay.memory, stay.operand.piece)
        last.append(key not in seen)
        seen.add(key)
    last.reverse()
    return tuple(
        Residency(
            piece=stay.operand.piece,
            memory=stay.memory,
            spans=stay.spans,
            start_step=stay.start_step,
            stop_step=steps if stay.stop_step < 0 else stay.stop_step + 1,
            start_instruction=stay.start_instruction,
            stop_instruction=stay.stop_instruction,
            origin=_origin(stay, is_first),
            ending=_ending(stay, is_last, stay.operand.piece.tensor in outputs),
        )
        for stay, is_first, is_last in zip(ordered, first, last, strict=True)
    )


def _origin(stay: Stay, is_first: bool) -> Origin:
    if stay.computed:
        return "compute"
    return "load" if is_first else "retrieve"


def _ending(stay: Stay, is_last: bool, is_output: bool) -> Ending:
    if is_last:
        return "output" if stay.stored and is_output else "dead"
    return "spill" if stay.stored and not is_output else "drop"
