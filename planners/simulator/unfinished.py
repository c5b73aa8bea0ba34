"""Pieces made in parts: what is there so far, as boxes of the piece or ranges of what it sums."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import prod

from planners.core.boxes import common, joined
from planners.core.program import Box


@dataclass(slots=True)
class Unfinished:
    """A piece that several instructions make, while some are still to come.

    `whole` is the piece's box or, where it is a sum (`sums`), the one axis of all channels summed.
    """

    whole: Box
    sums: bool
    boxes: list[Box] = field(default_factory=list)
    done: int = 0

    @property
    def complete(self) -> bool:
        return self.done == _elements(self.whole)

    @property
    def state(self) -> str:
        """What is left to do, in words."""
        total = _elements(self.whole)
        left = f"{total - self.done} of {total}"
        if self.sums:
            return f"unfinished: {left} channels are still to be added"
        return f"unfinished: {left} elements are still to be made"

    def copy(self) -> Unfinished:
        """The same, to be added to apart."""
        return replace(self, boxes=list(self.boxes))

    def add(self, part: Box) -> None:
        """Add a part. Raises `ValueError` where it is none, or has been added before."""
        if len(part) != len(self.whole) or not all(
            first <= start < stop <= last
            for (start, stop), (first, last) in zip(part, self.whole, strict=True)
        ):
            raise ValueError(self._beyond(part))
        for box in self.boxes:
            if again := common(part, box):
                done = "are added" if self.sums else "is made"
                raise ValueError(f"{self._named(again)} {done} already")
        self.boxes = joined([*self.boxes, part])
        self.done += _elements(part)

    def _beyond(self, part: Box) -> str:
        if self.sums:
            return f"{self._named(part)} are out of range of {self.whole[0][1]}"
        return f"{self._named(part)} is no part of it"

    def _named(self, part: Box) -> str:
        axes = ", ".join(f"{start}:{stop}" for start, stop in part)
        return f"channels {axes}" if self.sums else f"[{axes}]"


def _elements(box: Box) -> int:
    return prod(stop - start for start, stop in box)
