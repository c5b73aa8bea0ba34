"""Groups that may be in a better partition than the best one known, and no others.

Whatever a partition is, it moves what is compulsory and, beyond that, its *excess*: what parameters
cost that are refilled, and maps that are written and read again. Groups grow by size, from one
operator up, and are left out by rules (`GroupRules`) that do not change what is found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from planners.core.masks import bits
from planners.core.progress import Clock
from planners.fusion.cost.incremental_bounds import GroupLayer, Growing, masks, words
from planners.fusion.partition.shortest import NEVER, Bytes
from planners.fusion.tile.axes import Counts

AT_ONCE = 4096  # groups whose bounds are worked out at once
MOST_ABREAST = 50_000  # groups of one size, for memory's sake


@dataclass(frozen=True, slots=True)
class GroupRules:
    """Which rules leave groups out."""

    excess: bool = True
    """A group is not grown once its bound has reached the excess of the best partition so far:
    groups grow from their ends (`cost/incremental_bounds`), so what grows from it has no less."""
    through: bool = True
    """A group is not offered where the cheapest way through it, all groups at their bounds, is no
    better than the best partition so far."""


GROUP_RULES = GroupRules()


@dataclass
class Bounded:
    """Groups of two operators or more, and what each moves at least within each budget.

    `complete`: the size up to which all are there that the rules leave, None where there is none
    larger.
    """

    groups: list[int] = field(default_factory=list)
    parts: list[Bytes] = field(default_factory=list)
    complete: int | None = 1

    def costs(self, budgets: int) -> Bytes:
        """The bounds as a table: a row for each group, a column for each budget."""
        return np.concatenate([np.zeros((0, budgets), dtype=np.int64), *self.parts])


class Fronts(NamedTuple):
    """Groups by row, the place in the order of an operator in front of each, and whether the two
    share a tensor, all of the group being joined like that."""

    rows: Counts
    places: Counts
    joined: NDArray[np.bool_]

    def take(self, some: Counts) -> Fronts:
        """Some of them."""
        return Fronts(self.rows[some], self.places[some], self.joined[some])


class GrownGroups(NamedTuple):
    """Groups, and whether the operators of each are joined by tensors."""

    layer: GroupLayer
    joined: NDArray[np.bool_]

    def take(self, rows: Counts) -> GrownGroups:
        """Some of the groups."""
        return GrownGroups(self.layer.take(rows), self.joined[rows])


class Grower:
    """Grows the groups of a network that are worth it.

    `apart`: for each operator those that it cannot be in a group with, itself among them where it
    can only be alone. `below`: for each budget the cost of the best partition known.
    """

    def __init__(
        self,
        growing: Growing,
        apart: Sequence[int],
        budgets: Sequence[int],
        below: Sequence[int],
        rules: GroupRules,
    ) -> None:
        self.growing, self.budgets, self.rules = growing, budgets, rules
        self.beat(below)
        self._dag, order = growing.dag, [int(i) for i in growing.order]
        self._places = np.array(
            [at for at, i in enumerate(order) if not apart[i] >> i & 1], dtype=np.int64
        )
        self._apart = words([apart[i] for i in order], self._dag.count + 1)
        self._front = [0]  # The operators before each place of the order.
        for i in order:
            self._front.append(self._front[-1] | 1 << i)
        reached = [self._reached(i, before) for i, before in zip(order, self._front)]
        self._reach = words(reached, self._dag.count + 1)

    def runs(self, clock: Clock, cap: int | None) -> Bounded:
        """Groups of operators that follow each other in the order, at most `cap` in each."""
        bounded = Bounded()
        for _ in self._grow(bounded, cap, MOST_ABREAST**2, self._behind):
            if clock.expired():
                break
        return bounded

    def every(self, found: Bounded, cap: int | None, limit: int) -> Iterator[int]:
        """Find all groups of at most `cap` operators, little by little: the size that it has come
        to. It ends with all of some size where there are more than `limit`."""
        return self._grow(found, cap, limit, self._anywhere)

    def beat(self, below: Sequence[int]) -> None:
        """From now on only what may be better than these costs is worth it."""
        self._spare = np.array(below, dtype=np.int64) - self.growing.compulsory_bytes

    def _grow(
        self,
        found: Bounded,
        cap: int | None,
        limit: int,
        fronts: Callable[[GrownGroups], Fronts],
    ) -> Iterator[int]:
        first = self.growing.grow(self.growing.empty(), 0 * self._places, self._places)
        layer = GrownGroups(first, np.ones(len(self._places), dtype=bool))
        size = 1
        while size != cap:
            parts: list[GrownGroups] = []
            for rows in _in_parts(np.arange(len(layer.joined))):
                some = layer.take(rows)
                pairs = fronts(some)
                for part in _in_parts(np.arange(len(pairs.rows))):
                    grown = self._worth_it(some, pairs.take(part), found)
                    if len(grown.joined):
                        parts.append(grown)
                abreast = sum(len(part.joined) for part in parts)
                yield size + 1
                if abreast > MOST_ABREAST or len(found.groups) > limit:
                    return
            if not parts:
                found.complete = None
                return
            layer = GrownGroups(
                GroupLayer.joined([part.layer for part in parts]),
                np.concatenate([part.joined for part in parts]),
            )
            size += 1
            found.complete = size

    def _worth_it(self, parents: GrownGroups, ahead: Fronts, found: Bounded) -> GrownGroups:
        """Groups with one operator more each, as far as they are worth it, noted where they can
        run."""
        rows, places, joined = ahead
        grown = GrownGroups(self.growing.grow(parents.layer, rows, places), joined)
        again = self.growing.again(grown.layer, self.budgets)
        worth = again < NEVER
        if self.rules.excess:
            worth &= grown.layer.cut[:, None] + again < self._spare
        kept = np.flatnonzero(worth.any(axis=1))
        grown, again = grown.take(kept), again[kept]
        runs = np.flatnonzero(grown.joined)
        found.groups += masks(grown.layer.mask[runs])
        low = grown.layer.moved[runs, None] + again[runs]
        found.parts.append(np.where(again[runs] < NEVER, low, NEVER))
        return grown

    def _behind(self, some: GrownGroups) -> Fronts:
        """Each group, and the operator in front of its first."""
        rows = np.flatnonzero(some.layer.last > 0)
        places = some.layer.last[rows] - 1
        fine = np.isin(places, self._places)
        fine &= ~(self._apart[places] & some.layer.mask[rows]).any(axis=1)
        return Fronts(rows[fine], places[fine], np.ones(int(fine.sum()), dtype=bool))

    def _anywhere(self, some: GrownGroups) -> Fronts:
        """Each group, and each operator with which it is convex and shares a tensor, or may once
        it has more."""
        layer = some.layer
        able, near = self.growing.fronts(layer)
        later = np.zeros_like(able)
        for word in range(layer.mask.shape[1]):
            able &= (layer.mask[:, None, word] & self._apart[:, word]) == 0
            later |= (layer.near[:, None, word] & self._reach[:, word]) != 0
        joined = near & some.joined[:, None]
        rows, places = np.nonzero(able & (joined | later))
        fine = np.isin(places, self._places)
        rows, places = rows[fine], places[fine]
        joins = joined[rows, places]
        keep = joins.copy()
        for at in np.flatnonzero(~joins):
            mask = masks(layer.mask[rows[at] : rows[at] + 1])[0]
            i, front = int(self.growing.order[places[at]]), self._front[places[at]]
            pieces = list(self._dag.pieces(mask | 1 << i))
            joins[at] = len(pieces) == 1
            keep[at] = joins[at] or all(self._near(piece) & front for piece in pieces)
        return Fronts(rows[keep], places[keep], joins[keep])

    def _near(self, mask: int) -> int:
        near = 0
        for i in bits(mask):
            near |= self._dag.relatives[i]
        return near

    def _reached(self, i: int, front: int) -> int:
        """The operators in front of one that it is joined to by others of them."""
        seen, new = 0, self._dag.relatives[i] & front
        while new:
            seen |= new
            new = self._near(new) & front & ~seen
        return seen


def _in_parts(rows: Counts) -> Iterator[Counts]:
    for start in range(0, len(rows), AT_ONCE):
        yield rows[start : start + AT_ONCE]
