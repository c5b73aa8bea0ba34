"""How often the parameters of a group must be loaded at least, for what a budget leaves.

An operator that makes its rows in few turns makes many at once, and needs room for them and for
what it reads of its input: of one of the two for all channels (Algorithm 2). What the others of
its group need at least is no room for that. So many turns it takes, and so often its parameters
are loaded, unless they stay, for which there is no more room than the rest of the buffer.
"""

from __future__ import annotations

from bisect import bisect_right

from planners.fusion.floor import Floors
from planners.fusion.rows import Rows, RowTables, Window, channels_of, rows_of
from planners.graph.model import Graph
from planners.masks import bits


class Refills:
    """Bytes of parameters that a group loads more than once, at least."""

    def __init__(self, graph: Graph, floors: Floors, least_channels: int) -> None:
        self._graph, self._floors, self._least = graph, floors, least_channels
        self._number = {name: k for k, name in enumerate(graph.tensors)}
        tables = RowTables(graph)
        members = [tables[i] for i in range(len(graph.operators))]
        self._steps = [self._turns(member) for member in members]
        self._parameters = [member.parameter_bytes for member in members]
        self._around = [
            frozenset(self._number[t] for t in (*m.op.inputs, *m.op.outputs)) for m in members
        ]

    def __call__(self, mask: int, budget_bytes: int) -> int:
        """Bytes beyond each parameter once, for a group that fits the budget."""
        floor = self._floors.parts(mask)
        spare = budget_bytes - floor.total + floor.parameters
        again: list[tuple[int, int]] = []
        for i in bits(mask):
            size = self._parameters[i]
            if size:
                around = self._around[i]
                room = spare + sum([floor.tensors.get(t, 0) for t in around])
                room += sum([n for a, b, n in floor.pairs if a in around or b in around])
                turns = self._least_turns(i, room)
                if turns > 1:
                    again.append((turns - 1, size))
        total = sum(turns * size for turns, size in again)
        # Those that are loaded most often stay first.
        for turns, size in sorted(again, reverse=True):
            kept = min(spare, size)
            total -= turns * kept
            spare -= kept
            if spare <= 0:
                break
        return total

    def _least_turns(self, i: int, room: int) -> int:
        needs, turns = self._steps[i]
        at = bisect_right(needs, room) - 1
        return turns[max(at, 0)]

    def _turns(self, member: Rows) -> tuple[list[int], list[int]]:
        """Bytes around an operator alone, rising, and the least turns within so many."""
        out = self._graph.tensors[member.op.outputs[0]]
        images = out.shape[0] if member.by_image else 1
        rows = rows_of(out)
        options = []
        for together in (n for n in range(1, images + 1) if images % n == 0):
            for strips in sorted({-(-rows // n) for n in range(1, rows + 1)}):
                step = -(-rows // strips)
                options.append((self._bytes(member, step, together), strips * (images // together)))
        options.sort()
        needs: list[int] = []
        turns: list[int] = []
        for size, count in options:
            if not turns or count < turns[-1]:
                needs.append(size)
                turns.append(count)
        return needs, turns

    def _bytes(self, member: Rows, rows: int, images: int) -> int:
        """Bytes of so many rows of the output and of what they need of the inputs."""
        few = whole = 0
        out = member.op.outputs[0]
        least, all_ = self._row(out, images)
        few, whole = rows * least, rows * all_
        if not member.sliced and not member.by_channel:
            few = whole
        total = few
        rest = whole - few
        for window in member.windows:
            least, all_ = self._row(window.tensor, images)
            count = _window(window, rows)
            if member.sums(window.tensor):
                total += count * least + min(rest, count * (all_ - least))
            else:
                total += count * (least if window.tensor in member.by_channel else all_)
        return total

    def _row(self, name: str, images: int) -> tuple[int, int]:
        """Bytes of a row of some images: of a few channels, and of all."""
        tensor = self._graph.tensors[name]
        channels = channels_of(tensor)
        total = tensor.shape[0] if len(tensor.shape) > 1 else 1
        row = self._graph.size_bytes(name) // rows_of(tensor) // channels
        row = row // total * min(images, total)
        return row * min(channels, self._least), row * channels


def _window(window: Window, rows: int) -> int:
    """The least rows of an input that so many rows of the output need."""
    last = len(window.upto) - rows
    return int((window.upto[rows:] - window.start[:last]).min())
