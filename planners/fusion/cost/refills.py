"""How much parameters cost a group within a budget, at least, without looking at each strip.

With n strips the first has rows for a share of 1/n of each output and for all windows on the way
there, and so many are held at once; and no strip adds more than windows can need, so that an
operator makes its rows in no fewer turns than that allows. Of what it adds up and what it makes of
it one has all channels (Algorithm 2). What is left of the budget keeps the parameters that would
be loaded most often; the others are loaded in each turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from planners.core.graph import Graph
from planners.core.masks import positions
from planners.fusion.cost.floor import Floors
from planners.fusion.partition.shortest import NEVER
from planners.fusion.tile.axes import Counts, images_of, rows_of
from planners.fusion.tile.rows import RowTables


class Pace(NamedTuple):
    """Rows of a tensor, by level: the least of the first strip, the most of it and of any other.

    `needed` are those up to the last that what is needed of others reads (the last strip makes what
    is behind them too), `skipped` those before the first that is read.
    """

    least: Counts
    first: Counts
    gain: Counts
    needed: int
    skipped: int


MANY_ROWS = 1024
"""Rows beyond which not each number of them is looked at."""


@dataclass(frozen=True, slots=True)
class RefillRead:
    tensor: int
    upto: Counts
    start: Counts
    gains: Counts  # the most rows that so many rows more can need


class Refills:
    """Bytes that parameters cost a group beyond one load each, at least, for a budget."""

    def __init__(self, graph: Graph, tables: RowTables, floors: Floors) -> None:
        self._floors = floors
        number = {name: k for k, name in enumerate(graph.tensors)}
        members = [tables[i] for i in range(len(graph.operators))]
        self._outs = [number[m.op.outputs[0]] for m in members]
        self.heights = [rows_of(graph.tensors[m.op.outputs[0]]) for m in members]
        self.images = [images_of(graph.tensors[m.op.outputs[0]]) for m in members]
        self._by_image = [m.by_image for m in members]
        self._parameters = [m.parameter_bytes for m in members]
        windows = {id(w.upto): w.upto for m in members for w in m.windows}
        gains = {key: gains_of(upto) for key, upto in windows.items()}  # Alike ones share a table.
        self.reads = [
            [RefillRead(number[w.tensor], w.upto, w.start, gains[id(w.upto)]) for w in m.windows]
            for m in members
        ]
        self.levels = _levels(max(self.heights, default=1))
        self._fewest = np.concatenate(([1], self.levels[:-1] + 1))
        self._known: dict[int, dict[int, Pace]] = {0: {}}

    def __call__(self, mask: int, budgets: Sequence[int]) -> list[int | None]:
        """Bytes beyond each parameter once, for each budget; None where the group does not fit."""
        paces = self._paces(mask)
        rows = np.array([pace.least - pace.skipped for pace in paces.values()])
        members = positions(mask)
        holders = [i for i in members if self._parameters[i]]
        sizes = np.array([self._parameters[i] for i in holders], dtype=np.int64)
        turns = _turns([paces[self._outs[i]] for i in holders]) if holders else rows[:0]
        # Images that are apart are as many in each of the group's tensors.
        apart = all(self._by_image[i] for i in members)
        images = self.images[members[0]] if apart else 1
        held_bytes = self._floors.held(mask, tuple(paces), rows, all_images=not apart)
        least: Counts = np.full(len(budgets), NEVER, dtype=np.int64)
        limits = np.array(budgets, dtype=np.int64)[:, None]
        for together in (n for n in range(1, images + 1) if images % n == 0):
            for bands in (1 << k for k in range(self._floors.bands.bit_length())):
                # Columns: the levels for the first budget, then those for the next.
                spare = (limits - held_bytes * together // bands).ravel()
                again = np.tile(turns * (images // together * bands) - 1, len(budgets))
                extra = _refilled(sizes, again, np.maximum(spare, 0))
                extra[spare < 0] = NEVER
                np.minimum(least, extra.reshape(len(budgets), -1).min(axis=1), out=least)
        return [None if extra == NEVER else int(extra) for extra in least]

    def _paces(self, mask: int) -> dict[int, Pace]:
        """The pace of each tensor of a group; of one with an operator more in front in one step."""
        todo = []
        while mask not in self._known:
            todo.append(mask)
            mask &= mask - 1
        for larger in reversed(todo):
            first = (larger & -larger).bit_length() - 1
            self._known[larger] = self._with(self._known[larger & (larger - 1)], first)
        return self._known[todo[0] if todo else mask]

    def sink(self, i: int) -> Pace:
        """The pace of an operator's output where nothing in the group reads it."""
        rows = self.heights[i]
        most = np.minimum(-(-rows // self._fewest) + 1, rows)
        return Pace(-(-rows // self.levels), most, most, rows, 0)

    def _with(self, paces: dict[int, Pace], i: int) -> dict[int, Pace]:
        """The paces with an operator that none of the others comes before."""
        extended = dict(paces)
        out = self._outs[i]
        if out not in extended:
            extended[out] = self.sink(i)
        rows = extended[out]
        for read in self.reads[i]:
            pace = Pace(
                read.upto[rows.least],
                read.upto[rows.first],
                read.gains[rows.gain],
                int(read.upto[rows.needed]),
                int(read.start[rows.skipped]),
            )
            other = extended.get(read.tensor)
            if other is not None:
                pace = Pace(
                    np.maximum(pace.least, other.least),
                    np.maximum(pace.first, other.first),
                    np.maximum(pace.gain, other.gain),
                    max(pace.needed, other.needed),
                    max(pace.skipped, other.skipped),
                )
            extended[read.tensor] = pace
        return extended


def _levels(rows: int) -> Counts:
    """Numbers of strips that are distinguished: those between two count as the larger."""
    levels = {1, 2, 3, rows}
    step = 4
    while step < rows:
        levels |= {step, step + step // 2}
        step *= 2
    return np.array(sorted(n for n in levels if n <= rows), dtype=np.int64)


def gains_of(upto: Counts) -> Counts:
    """The most rows that so many rows more need, by their number; of many rows perhaps more.

    `upto` are the rows that those up to each need. Strips counted with it are never too many.
    """
    rows = len(upto) - 1
    more = np.diff(upto)
    first: Counts = upto - upto[0]
    if rows < 2 or (more[1:] <= more[:-1]).all():
        return first
    if (more[2:] <= more[1:-1]).all():
        first[:-1] = np.maximum(first[:-1], upto[1:] - upto[1])
        return first
    counts = np.arange(1, rows + 1)
    if rows > MANY_ROWS:
        counts = np.unique(np.geomspace(1, rows, MANY_ROWS).astype(np.int64))
    most = [(upto[count:] - upto[: rows + 1 - count]).max() for count in counts]
    gains = np.zeros(rows + 1, dtype=np.int64)
    gains[1:] = np.array(most)[np.searchsorted(counts, np.arange(1, rows + 1))]
    return gains


def _turns(paces: Sequence[Pace]) -> Counts:
    """The least strips in which rows of each tensor are made, by level."""
    needed = np.array([pace.needed for pace in paces], dtype=np.int64)[:, None]
    first_rows = np.array([pace.least - pace.skipped for pace in paces], dtype=np.int64)
    first, gain = (np.array([getattr(p, name) for p in paces]) for name in ("first", "gain"))
    return turns_of(first_rows, first, gain, needed)


def turns_of(made: Counts, first: Counts, gain: Counts, needed: Counts) -> Counts:
    """The least strips in which all rows are made: at most so many in the first, which may make
    none where it need not make any, and so many in each of the others."""
    gain = np.maximum(gain, 1)
    with_first = 1 - (-np.maximum(needed - first, 0) // gain)
    without = np.maximum(-(-needed // gain), 1)
    turns: Counts = np.where(made > 0, with_first, np.minimum(with_first, without))
    return turns


def _refilled(sizes: Counts, again: Counts, spare: Counts) -> Counts:
    """Bytes loaded again, by level, where the spare bytes keep what comes most often."""
    order = np.argsort(-again, axis=0, kind="stable")
    times = np.take_along_axis(again, order, axis=0)
    size = sizes[order]
    before = np.cumsum(size, axis=0) - size
    kept = np.clip(spare - before, 0, size)
    return np.asarray(((size - kept) * times).sum(axis=0), dtype=np.int64)


# ---- What an operator costs at least in a group, whichever group that is -------------------------
# Whatever reads what it makes, an operator that makes all of its R rows in t turns makes R/t of
# them at once some time, and holds these and the rows of its inputs under their windows. So many
# turns and bands and images as that leaves room for load the parameters that have none.


def least_in_a_group(
    i: int, floors: Floors, refills: Refills, parameters: int, budgets: Sequence[int]
) -> list[int]:
    """Bytes of parameters that operator i loads in any group within each budget, at least;
    `NEVER` where it fits in none. `parameters`: their bytes."""
    need, images = floors.needs[i], refills.images[i]
    turns = np.arange(1, refills.heights[i] + 1)
    rows_a_turn = -(-refills.heights[i] // turns)
    outputs = need.rows[: len(need.rows) - len(refills.reads[i])]
    rows = {tensor: np.maximum(rows_a_turn, least) for tensor, least in outputs}
    for read, (tensor, least) in zip(refills.reads[i], need.rows[len(outputs) :]):
        span = np.maximum(_span(read, rows_a_turn), least)
        rows[tensor] = np.maximum(rows.get(tensor, 0 * span), span)
    held_bytes = sum((floors.few[t] * count for t, count in rows.items()), 0 * rows_a_turn)
    rest = {t: floors.rest[t] * count for t, count in rows.items()}
    for tensor in set(need.whole):
        held_bytes = held_bytes + rest.pop(tensor)
    if need.pair and all(t in rest for t in need.pair):
        held_bytes = held_bytes + np.minimum(*(rest[t] for t in need.pair))
    lowest = [NEVER] * len(budgets)
    for together in (n for n in range(1, images + 1) if images % n == 0):
        for bands in (1 << k for k in range(floors.bands.bit_length())):
            again = turns * (images // together) * bands - 1
            room = held_bytes * together // bands
            for k, budget in enumerate(budgets):
                fits = room + need.parameters <= budget
                if fits.any():
                    left = np.maximum(parameters - (budget - room[fits]), 0)
                    lowest[k] = min(lowest[k], parameters + int((again[fits] * left).min()))
    return lowest


def _span(read: RefillRead, made: Counts) -> Counts:
    """The fewest rows of an input under the windows of so many rows that follow each other."""
    last = len(read.upto) - 1
    counts, which = np.unique(made, return_inverse=True)  # Few: a height in turns, rounded up.
    spans = [(read.upto[n:] - read.start[: last + 1 - n]).min() for n in counts.tolist()]
    return np.maximum(np.array(spans, dtype=np.int64), 0)[which]
