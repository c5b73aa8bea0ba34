"""A residency: which piece sits at which bytes of a memory, from which step until which."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from planners.core.program import Piece, Span

Origin = Literal["load", "retrieve", "compute"]
Ending = Literal["spill", "drop", "dead", "output"]


@dataclass(frozen=True, slots=True)
class Residency:
    """The residency of a piece in a memory during steps `[start_step, stop_step)`.

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
