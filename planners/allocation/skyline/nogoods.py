"""What a search over skylines has learnt: stretches of skyline over which nothing fits."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from planners.allocation.skyline.parts import WALL, BlockSets, SkylinePart

WINDOWS = 16  # stretches remembered for an anchor: each has to be looked up in turn
ENTRIES = 1_000_000  # failures remembered in all

Window = tuple[int, int]  # sections [first, last)
View = tuple[int, int, tuple[tuple[int, int], ...]]  # blocks left, first height, steps after it


class Nogoods:
    """Failures by the stretch of skyline to blame, whatever the rest of the skyline is like.

    A failure that is blamed on some sections happens again wherever they have the same heights and
    the same blocks left to place. It is looked up by its *anchor*, the first section of the valley
    about to be branched on, so that few stretches need comparing.
    """

    def __init__(self, sets: BlockSets) -> None:
        self.sets = sets
        self.known: dict[int, dict[Window, dict[View, int]]] = {}
        self.entries = 0

    def recall(self, part: SkylinePart, anchor: int) -> int:
        """The sections to blame if this skyline is known to fail, or 0."""
        first, stop = part.steps[0][0], part.stop
        for (low, high), views in self.known.get(anchor, {}).items():
            if low >= first and high <= stop:
                blame = views.get(self._view(part, low, high))
                if blame is not None:
                    return blame
        return 0

    def keep(self, part: SkylinePart, anchor: int, blame: int) -> None:
        """Remember that a skyline fails because of the sections `blame`, unless memory is full."""
        low = max((blame & -blame).bit_length() - 1, part.steps[0][0])
        high = min(blame.bit_length(), part.stop)
        windows = self.known.setdefault(anchor, {})
        if self.entries >= ENTRIES or (len(windows) >= WINDOWS and (low, high) not in windows):
            return
        self.entries += 1
        windows.setdefault((low, high), {})[self._view(part, low, high)] = blame

    def _view(self, part: SkylinePart, low: int, high: int) -> View:
        """All that a failure blamed on `[low, high)` can depend on."""
        steps = part.steps
        first = bisect_right(steps, (low, WALL)) - 1
        rest = part.rest & ~self.sets.starts_from[high] & ~self.sets.stops_by[low]
        return rest, steps[first][1], tuple(steps[first + 1 : bisect_left(steps, (high, -1))])
