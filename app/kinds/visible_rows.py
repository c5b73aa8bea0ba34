"""Which rows of an address map are drawn: each piece, or what a screen can show of them."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from app.display.detail import SIDES, Boxes, Merged, Sight, detailed
from app.kinds.map_rows import Row

MOST = 2500
"""Rectangles at once: to draw more takes a browser without a GPU longer than a frame."""
BUNDLED = 9000
"""Pieces of fused groups in sight, from which on they are bundled by what they are."""
MERGED = "small pieces"
"""The name of what stands for several pieces: no tensor's."""
MORE_PIECES, ZOOM = "pieces are bundled", ": zoom in to see each"
AROUND = 0.5
"""The part of the window that is drawn on both sides of it: a short pan needs no new data."""
ALIKE = 0.1
"""Pixels that differ by so much of their size are as good as the same."""


class Pieces(Protocol):
    """Rows of a map, each with a rectangle."""

    @property
    def bundled(self) -> bool: ...
    @property
    def strips(self) -> bool: ...
    @property
    def bundles(self) -> Sequence[Row]: ...
    @property
    def densest(self) -> int: ...
    @property
    def boxes(self) -> Boxes: ...
    @property
    def looks(self) -> Sequence[tuple[str, str, str]]: ...
    def count(self, start: float, stop: float) -> int: ...
    def rows(self, start: float, stop: float) -> list[Row]: ...
    def row(self, box: int) -> Row: ...
    def of_tensors(self, names: Container[str]) -> list[int]: ...
    def placed(self, row: Row) -> Row: ...


@dataclass(frozen=True, slots=True)
class DrawnRows:
    """Rows from back to front, and what is said of them, so that nobody takes them for all."""

    rows: Sequence[Row]
    note: str = ""


class RowsInSight:
    """The rows of a map that are drawn, by what is in sight."""

    def __init__(self, pieces: Pieces, most: int = MOST) -> None:
        self.pieces, self.most = pieces, most
        self._how, self._drawn = "", Sight(0, 0, 0, 0, 0, 0)

    def new(self, sight: Sight) -> DrawnRows | None:
        """What to draw from now on; None where what is drawn does for this sight too.

        Each piece is drawn as it is, or, where there are too many, those that a screen can show,
        with the others merged; many pieces of fused groups are bundled by what they are.
        """
        here = self.pieces.count(sight.left, sight.right)
        if self.pieces.bundled and here > BUNDLED:
            return None if self._how == "bundles" else self._bundles(sight)
        how = "merged" if here > self.most else "pieces"
        if how == self._how and self._holds(sight):
            return None
        return self._merged(sight) if how == "merged" else self._pieces(sight)

    @property
    def merged(self) -> bool:
        """Whether some of what is drawn stands for several pieces."""
        return self._how == "merged"

    def count(self, sight: Sight) -> int:
        """How many rectangles are in sight."""
        here = self.pieces.count(sight.left, sight.right)
        return len(self.pieces.bundles) if self._how == "bundles" else here

    def of_tensors(self, names: Container[str]) -> list[Row]:
        """The pieces of some tensors, drawn or not."""
        return [self.pieces.row(box) for box in self.pieces.of_tensors(names)[: self.most]]

    def _holds(self, sight: Sight) -> bool:
        drawn = self._drawn
        if not (drawn.left <= sight.left and sight.right <= drawn.right):
            return False
        if not self.merged:
            return True
        inside = drawn.bottom <= sight.bottom and sight.top <= drawn.top
        sizes = ((sight.wide, drawn.wide), (sight.high, drawn.high))
        return inside and all(abs(new - old) <= ALIKE * old for new, old in sizes)

    def _bundles(self, sight: Sight) -> DrawnRows:
        self._how, self._drawn = "bundles", sight
        more = ZOOM if self.pieces.densest <= BUNDLED else ""
        return DrawnRows(self.pieces.bundles, MORE_PIECES + more)

    def _pieces(self, sight: Sight) -> DrawnRows:
        wide = sight.right - sight.left
        left, right = sight.left - wide, sight.right + wide
        if self.pieces.count(left, right) > self.most:
            left, right = sight.left, sight.right
        self._how = "pieces"
        self._drawn = Sight(left, right, sight.bottom, sight.top, sight.wide, sight.high)
        return DrawnRows(self.pieces.rows(left, right))

    def _merged(self, sight: Sight) -> DrawnRows:
        boxes, wide = self.pieces.boxes, sight.right - sight.left
        first, last = float(boxes.left.min()), float(boxes.right.max())
        left = max(min(sight.left, first), sight.left - AROUND * wide)
        right = min(max(sight.right, last), sight.right + AROUND * wide)
        self._how = "merged"
        self._drawn = Sight(left, right, sight.bottom, sight.top, sight.wide, sight.high)
        merged = detailed(boxes, self._drawn, round(self.most * (right - left) / wide))
        each = [self.pieces.row(int(box)) for box in merged.each]
        shown, here = boxes.at(merged.each).inside(sight).sum(), boxes.inside(sight).sum()
        note = f"{shown:,} of {here:,} pieces shown, the others merged"
        return DrawnRows([*_merged_rows(self.pieces, merged.merged), *each], note + ZOOM)


def _merged_rows(pieces: Pieces, merged: Merged) -> list[Row]:
    boxes, looks = merged.boxes, pieces.looks
    sides = zip(*(getattr(boxes, side).tolist() for side in SIDES), strict=True)
    rows = []
    for k, (left, right, bottom, top) in enumerate(sides):
        colour, hatch, _ = looks[boxes.kind[k]]
        shares = merged.covered[:, k] / ((right - left) * (top - bottom))
        row = {
            "left": left,
            "right": right,
            "bottom": bottom,
            "top": top,
            "colour": colour,
            "hatch": hatch,
            "tensor": MERGED,
            "what": f"{merged.count[k]:,} pieces" if merged.count[k] else "parts of pieces",
            "size": "zoom in to see each",
            "story": _parts([name for _, _, name in looks], shares),
            "label_y": (bottom + top) / 2,
            "ending": "",
            "origin": "",
        }
        rows.append(pieces.placed(row))
    return rows


def _parts(names: Sequence[str], shares: Any) -> str:
    """How much of a place each kind of piece takes, most first."""
    order = sorted(range(len(shares)), key=lambda kind: -shares[kind])
    return ", ".join(f"{names[k]} {shares[k]:.0%}" for k in order if shares[k] >= 0.005)
