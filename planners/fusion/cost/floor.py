"""The least buffer that a group and every larger group needs, whatever their tiles.

The least footprint of a group need not grow with it: an output that leaves the group at a pace of
its own stays longer in its line buffer than one that the group reads. What does grow: each map
that is read has a line buffer, of at least the rows that one row of each reader needs (Optimus,
eq. 4 at T_h = 1), of all channels or of T_c; what is made has a row; of what an operator adds up
and what it makes of it one has all channels (Algorithm 2); and the parameters of a few channels
have a place. Of columns that strides step over a band need not hold its share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from planners.core.graph import Graph, Tensor
from planners.core.masks import positions
from planners.fusion.tile.axes import Counts, channels_of, columns_of, images_of, rows_of
from planners.fusion.tile.rows import OperatorRows, RowTables


@dataclass(frozen=True, slots=True)
class Needs:
    """What one operator needs of a buffer: rows of tensors by number, of which it needs or makes
    all channels at once, the pair of which one must have all, and bytes of parameters."""

    rows: tuple[tuple[int, int], ...]
    whole: tuple[int, ...]
    pair: tuple[int, int] | None
    parameters: int


class Floors:
    """Lower bounds on the buffer of groups of two operators or more, monotone in the group.

    `least_channels`: the least channels that are held, the paper's T_c. `bands`: the most bands
    of columns. By tensor `few` are the bytes of the least channels of a row of one image, `rest`
    those of the others.
    """

    def __init__(
        self, graph: Graph, tables: RowTables, least_channels: int = 1, bands: int = 1
    ) -> None:
        self._least, self.bands = least_channels, bands
        self._number = {name: k for k, name in enumerate(graph.tensors)}
        self._images = [images_of(tensor) for tensor in graph.tensors.values()]
        rows = [_row_bytes(graph, tensor) for tensor in graph.tensors.values()]
        for name, columns in (_skipped_columns(graph, bands) if bands > 1 else {}).items():
            at, all_columns = self._number[name], columns_of(graph.tensors[name])
            rows[at] = rows[at] * (all_columns - columns) // all_columns
        channels = [channels_of(tensor) for tensor in graph.tensors.values()]
        self.few = [row // n * min(n, least_channels) for row, n in zip(rows, channels)]
        self.rest = [row - few for row, few in zip(rows, self.few)]
        self.needs = [self._of(tables[i]) for i in range(len(graph.operators))]

    def __call__(self, mask: int) -> int:
        """A lower bound in bytes on the buffer of this group and of larger ones."""
        members = [self.needs[i] for i in positions(mask)]
        rows = _least_rows(members)
        rest = {tensor: count * self.rest[tensor] for tensor, count in rows.items()}
        total = sum([count * self.few[tensor] for tensor, count in rows.items()])
        for tensor in {tensor for member in members for tensor in member.whole}:
            total += rest.pop(tensor)
        for member in members:
            if member.pair is not None:
                # One of the two has all channels. No pair pays for what another has paid.
                a, b = member.pair
                paid = min(rest.get(a, 0), rest.get(b, 0))
                if paid:
                    total += paid
                    rest[a] -= paid
                    rest[b] -= paid
        return total // self.bands + max(member.parameters for member in members)

    def held(
        self, mask: int, tensors: Sequence[int], rows: Counts, *, all_images: bool = False
    ) -> Counts:
        """Bytes of line buffers for one image, or for all that each tensor has, the same bound
        where these tensors have so many rows: a row of `rows` for each, and a column for each case.
        """
        members = [self.needs[i] for i in positions(mask)]
        least = _least_rows(members)
        rows = np.maximum(rows, np.array([least[t] for t in tensors], dtype=np.int64)[:, None])
        if all_images:
            rows = rows * np.array([self._images[t] for t in tensors], dtype=np.int64)[:, None]
        total = np.array([self.few[t] for t in tensors], dtype=np.int64) @ rows
        rest = np.array([self.rest[t] for t in tensors], dtype=np.int64)[:, None] * rows
        place = {tensor: k for k, tensor in enumerate(tensors)}
        # What a member makes beside what is asked of here counts nothing: it is a bound.
        whole = [place[t] for t in {t for member in members for t in member.whole} if t in place]
        if whole:
            total += rest[whole].sum(axis=0)
            rest[whole] = 0
        for member in members:
            if member.pair is not None and all(t in place for t in member.pair):
                a, b = (rest[place[t]] for t in member.pair)
                paid = np.minimum(a, b)
                total += paid
                a -= paid
                b -= paid
        return np.asarray(total, dtype=np.int64)

    def _of(self, member: OperatorRows) -> Needs:
        number = self._number
        # What is made and not read here is a row at least.
        rows = [(number[name], 1) for name in member.op.outputs]
        apart = member.sliced or bool(member.by_channel)
        whole = [] if apart else [number[name] for name in member.op.outputs]
        for window in member.windows:
            # Rows are held from the first that this row or a later one needs.
            need = int((window.upto[1:] - window.start[:-1]).max(initial=0))
            rows.append((number[window.tensor], max(need, 0)))
            if window.tensor not in member.by_channel and not member.sums(window.tensor):
                whole.append(number[window.tensor])
        pair = None
        if member.reduced and member.sums(member.op.inputs[0]):
            pair = (number[member.op.inputs[0]], number[member.op.outputs[0]])
        few = min(self._least, member.channels) if member.sliced else 1
        parameters = member.channel_bytes * few
        if member.reduced:
            sums = min(self._least, member.reduced) * member.reduced_bytes + member.rest_bytes
            parameters = min(parameters, sums)
        return Needs(tuple(rows), tuple(whole), pair, parameters)


def _least_rows(members: list[Needs]) -> dict[int, int]:
    """The most rows of each tensor that one of these needs."""
    rows: dict[int, int] = {}
    for member in members:
        for tensor, count in member.rows:
            if count > rows.get(tensor, -1):
                rows[tensor] = count
    return rows


def _skipped_columns(graph: Graph, bands: int) -> dict[str, int]:
    """By tensor the columns that all bands of a group together may not hold, at most: those that
    some reader steps over, at the edges or between what two bands read."""
    tables, skipped = RowTables(graph, columns=True), dict[str, int]()
    for position in range(len(graph.operators)):
        for window in tables[position].columns:
            over = np.maximum(window.start - window.upto, 0)  # In front of each column.
            edge = columns_of(graph.tensors[window.tensor]) - int(window.upto[-1])
            every = int(over[:-1].sum()) + edge
            between = bands * max(int(over[1:-1].max(initial=0)), int(over[0]) + edge)
            skipped[window.tensor] = max(min(every, between), skipped.get(window.tensor, 0))
    return skipped


def _row_bytes(graph: Graph, tensor: Tensor) -> int:
    """Bytes of a row of one image: images may be taken one by one."""
    return graph.size_bytes(tensor.name) // rows_of(tensor) // images_of(tensor)
