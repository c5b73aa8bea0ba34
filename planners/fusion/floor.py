"""The least buffer that a group and every larger group needs, whatever their tiles.

The least footprint of a group need not grow with it: an output that leaves the group at a pace of
its own stays longer in its line buffer than one that the group reads. What does grow: each map
that is read has a line buffer, of at least the rows that one row of each reader needs (Optimus,
eq. 4 at T_h = 1), of all channels or of T_c; what is made has a row; of what an operator adds up
and what it makes of it one has all channels (Algorithm 2); and the parameters of a few channels
have a place.
"""

from __future__ import annotations

from dataclasses import dataclass

from planners.fusion.rows import Rows, RowTables, channels_of, rows_of
from planners.graph.model import Graph, Tensor
from planners.masks import bits


@dataclass(frozen=True, slots=True)
class _Needs:
    """What one operator asks of a buffer: bytes of `few` channels and of the `others` of tensors
    by number, and the pair of which one must have all channels."""

    few: tuple[tuple[int, int], ...]
    others: tuple[tuple[int, int], ...]
    whole: tuple[int, ...]
    pair: tuple[int, int] | None
    parameters: int


@dataclass(frozen=True, slots=True)
class Floor:
    """Bytes that a group needs at least: for each tensor by number, for either of two, and for
    the parameters of a few channels."""

    tensors: dict[int, int]
    pairs: tuple[tuple[int, int, int], ...]
    parameters: int

    @property
    def total(self) -> int:
        return sum(self.tensors.values()) + sum(pair[2] for pair in self.pairs) + self.parameters


class Floors:
    """Lower bounds on the buffer of groups of two operators or more, monotone in the group.

    `least_channels`: the least channels that are held, the paper's T_c.
    """

    def __init__(self, graph: Graph, least_channels: int = 1) -> None:
        self._graph = graph
        self._least = least_channels
        self._number = {name: k for k, name in enumerate(graph.tensors)}
        tables = RowTables(graph)
        self._needs = [self._of(tables[i]) for i in range(len(graph.operators))]

    def __call__(self, mask: int) -> int:
        """Bytes that no buffer of this group or of a larger one is below."""
        return self.parts(mask).total

    def parts(self, mask: int) -> Floor:
        """The same bound, tensor by tensor."""
        few: dict[int, int] = {}
        others: dict[int, int] = {}
        whole: set[int] = set()
        parameters = 0
        members = [self._needs[i] for i in bits(mask)]
        for member in members:
            if member.parameters > parameters:
                parameters = member.parameters
            for tensor, size in member.few:
                if size > few.get(tensor, 0):
                    few[tensor] = size
            for tensor, size in member.others:
                if size > others.get(tensor, 0):
                    others[tensor] = size
            whole.update(member.whole)
        for tensor in whole:
            few[tensor] = few.get(tensor, 0) + others.pop(tensor, 0)
        # One tensor of each pair has the rest of its channels: no pair pays twice for one.
        pairs = []
        for member in members:
            if member.pair is not None:
                a, b = member.pair
                paid = min(others.get(a, 0), others.get(b, 0))
                if paid:
                    pairs.append((a, b, paid))
                    others[a] -= paid
                    others[b] -= paid
        return Floor(few, tuple(pairs), parameters)

    def _of(self, member: Rows) -> _Needs:
        number = self._number
        few: list[tuple[int, int]] = []
        others: list[tuple[int, int]] = []
        whole = []
        for name in member.op.outputs:
            # What is made and not read here is a row at least.
            self._add(few, others, name, 1)
            if not member.sliced and not member.by_channel:
                whole.append(number[name])
        for window in member.windows:
            # Rows are held from the first that this row or a later one needs.
            rows = int((window.upto[1:] - window.start[:-1]).max(initial=0))
            self._add(few, others, window.tensor, rows)
            if window.tensor not in member.by_channel and not member.sums(window.tensor):
                whole.append(number[window.tensor])
        pair = None
        if member.reduced and member.sums(member.op.inputs[0]):
            pair = (number[member.op.inputs[0]], number[member.op.outputs[0]])
        sums = min(self._least, member.reduced) * member.reduced_bytes + member.rest_bytes
        makes = member.channel_bytes * (min(self._least, member.channels) if member.sliced else 1)
        parameters = min(sums, makes) if member.reduced else makes
        return _Needs(tuple(few), tuple(others), tuple(whole), pair, parameters)

    def _add(
        self, few: list[tuple[int, int]], others: list[tuple[int, int]], name: str, rows: int
    ) -> None:
        """Bytes of so many rows of one image: images may be taken one by one."""
        tensor = self._graph.tensors[name]
        channels = channels_of(tensor)
        row = self._graph.size_bytes(name) // rows_of(tensor) // channels // _images(tensor)
        least = min(channels, self._least)
        few.append((self._number[name], rows * row * least))
        others.append((self._number[name], rows * row * (channels - least)))


def _images(tensor: Tensor) -> int:
    return tensor.shape[0] if len(tensor.shape) > 1 else 1
