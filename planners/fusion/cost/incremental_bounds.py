"""Lower bounds on many groups at once, each made of a known one and an operator in front.

What `floor` and `refills` say of a group is here worked out along the lattice, a layer at a time: a
group is its *parent* and one operator that comes before all of the parent's in some order of all.
All readers of the parent's maps in a larger group are then known, so that the rows of each strip
stay what they were, line buffers, refills and maps that leave only grow, and so do the bounds. What
costs too much for the parent costs too much for all that grows from it.

Of parameters, C(c) = Σ bytes · min(turns, c) is kept for some counts of turns c. With m tiles a
strip and s bytes to spare the fractional knapsack of what stays on chip is, by its dual, at least
m·C(c) − Σ bytes − (m·c − 1)·s for each c.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from planners.core.graph import Graph
from planners.fusion.cost.boundary import Crossing
from planners.fusion.cost.floor import Floors
from planners.fusion.cost.refills import Refills, turns_of
from planners.fusion.partition.lattice import Dag
from planners.fusion.partition.shortest import NEVER, Bytes
from planners.fusion.tile.axes import Counts, images_of
from planners.fusion.tile.rows import RowTables

Words = NDArray[np.uint64]
WORD = 64


@dataclass
class GroupLayer:
    """Groups in rows. Of maps that they load, in slots: which, the pace at which rows are needed
    (`cost.refills.Pace`) and so on, by level; -1 in `slot` where it is empty.

    `held`: bytes of line buffers for an image, by level. `rest`: bytes of a map's rows that some
    operator may yet need all channels of; `whole` where one does. `refilled`: C by level and count.
    `moved`: bytes that cross at least; `cut`: those of them for maps that are made here and read
    elsewhere too.
    """

    last: Counts  # where its first operator stands in the order
    mask: Words
    before: Words
    near: Words
    slot: Counts
    least: Counts
    first: Counts
    gain: Counts
    needed: Counts
    skipped: Counts
    rows: Counts
    rest: Counts
    whole: NDArray[np.bool_]
    load: Counts
    held: Counts
    refilled: Counts
    parameters: Counts
    tile: Counts
    moved: Counts
    cut: Counts
    apart: NDArray[np.bool_]

    def take(self, rows: Counts | NDArray[np.bool_]) -> GroupLayer:
        """Some of the groups."""
        return GroupLayer(*(getattr(self, field.name)[rows] for field in fields(self)))

    @staticmethod
    def joined(parts: Sequence[GroupLayer]) -> GroupLayer:
        """All groups of several layers."""
        most = max(part.slot.shape[1] for part in parts)
        for part in parts:
            part.widen(most)
        columns = ([getattr(part, field.name) for part in parts] for field in fields(GroupLayer))
        return GroupLayer(*map(np.concatenate, columns))

    def widen(self, slots: int) -> None:
        """Have so many slots."""
        more = slots - self.slot.shape[1]
        if more > 0:
            for name in _SLOTTED:
                values = getattr(self, name)
                fill = -1 if name == "slot" else 0
                pads = [(0, 0), (0, more), *[(0, 0)] * (values.ndim - 2)]
                setattr(self, name, np.pad(values, pads, constant_values=fill))


_SLOTTED = ("slot", "least", "first", "gain", "needed", "skipped", "rows", "rest", "whole", "load")


class Growing:
    """The bounds of groups that grow towards the front of one order of all operators.

    `order`: operators in an order that can run. All maps have as many images (`one_batch`).
    """

    def __init__(
        self,
        graph: Graph,
        dag: Dag,
        tables: RowTables,
        floors: Floors,
        refills: Refills,
        order: Sequence[int],
    ) -> None:
        self.dag, self.order = dag, np.array(order, dtype=np.int64)
        self._levels, self._bands = refills.levels, floors.bands
        number = {name: k for k, name in enumerate(graph.tensors)}
        count = dag.count
        members = [tables[i] for i in range(count)]
        self.images = max(refills.images, default=1)
        self._out = np.array([number[m.op.outputs[0]] for m in members], dtype=np.int64)
        self._height = np.array(refills.heights, dtype=np.int64)
        sinks = [refills.sink(i) for i in range(count)]
        self._sink_least = np.array([pace.least for pace in sinks], dtype=np.int64)
        self._sink_first = np.array([pace.first for pace in sinks], dtype=np.int64)
        self._parameters = np.array([m.parameter_bytes for m in members], dtype=np.int64)
        self._by_image = np.array([m.by_image for m in members], dtype=bool)
        needs = floors.needs
        self._tile = np.array([need.parameters for need in needs], dtype=np.int64)
        self._few = np.array(floors.few, dtype=np.int64)
        self._rest = np.array(floors.rest, dtype=np.int64)
        whole = [set(need.whole) for need in needs]
        self._out_whole = np.array([int(o) in w for o, w in zip(self._out, whole)], dtype=bool)
        self._paired = np.array([need.pair is not None for need in needs], dtype=bool)
        wide = RowTables(graph, columns=floors.bands > 1)
        crossing = [Crossing.around_operator(graph, wide[i], number) for i in range(count)]
        self.compulsory_bytes = _compulsory_bytes(crossing, count)
        self._readers = words([c.made[0].readers for c in crossing], count + 1)
        self._size = np.array([c.made[0].size_bytes for c in crossing], dtype=np.int64)
        self._leaves = np.array([op.outputs[0] in graph.outputs for op in graph.operators])
        read_at: dict[int, list[int]] = {}
        for c in crossing:
            for crossed in c.read:
                read_at.setdefault(crossed.tensor, []).append(crossed.size_bytes)
        self._reread = np.array([min(read_at.get(int(t), [0])) for t in self._out], dtype=np.int64)
        self._of = words([1 << i for i in range(count)], count + 1)
        self._before = words(dag.ancestors, count + 1)
        self._after = words(dag.descendants, count + 1)
        self._near = words(dag.relatives, count + 1)
        # Inputs, one after the other.
        most = max((len(m.windows) for m in members), default=0)
        self._inputs = np.array([len(m.windows) for m in members], dtype=np.int64)
        self._tensor = np.full((count, most), -1, dtype=np.int64)
        self._at = np.zeros((count, most), dtype=np.int64)
        self._need = np.zeros((count, most), dtype=np.int64)
        self._in_whole = np.zeros((count, most), dtype=bool)
        self._read = np.zeros((count, most), dtype=np.int64)
        upto, start, gains = [], [], []
        places: dict[int, int] = {}
        end = 0
        for i, member in enumerate(members):
            for k, read in enumerate(refills.reads[i]):
                if id(read.upto) not in places:
                    places[id(read.upto)] = end
                    end += len(read.upto)
                    upto.append(read.upto)
                    start.append(read.start)
                    gains.append(read.gains)
                self._tensor[i, k], self._at[i, k] = read.tensor, places[id(read.upto)]
                self._need[i, k] = needs[i].rows[len(member.op.outputs) + k][1]
                self._in_whole[i, k] = read.tensor in whole[i]
                self._read[i, k] = crossing[i].read[k].size_bytes
        empty = [np.zeros(1, dtype=np.int64)]
        self._upto = np.concatenate(upto or empty)
        self._start = np.concatenate(start or empty)
        self._gains = np.concatenate(gains or empty)

    def empty(self) -> GroupLayer:
        """The group of no operators, from which all grow."""
        levels = len(self._levels)

        def zeros(*shape: int) -> Counts:
            return np.zeros((1, *shape), dtype=np.int64)

        none = np.zeros((1, self._of.shape[1]), dtype=np.uint64)
        paces = (zeros(1, levels) for _ in range(3))
        return GroupLayer(
            last=zeros() + self.dag.count,
            mask=none,
            before=none,
            near=none,
            slot=zeros(1) - 1,
            **dict(zip(("least", "first", "gain"), paces)),
            needed=zeros(1),
            skipped=zeros(1),
            rows=zeros(1, levels),
            rest=zeros(1, levels),
            whole=zeros(1).astype(bool),
            load=zeros(1),
            held=zeros(levels),
            refilled=zeros(levels, levels),
            parameters=zeros(),
            tile=zeros(),
            moved=zeros(),
            cut=zeros(),
            apart=np.ones(1, dtype=bool),
        )

    def grow(self, parents: GroupLayer, rows: Counts, places: Counts) -> GroupLayer:
        """Some of the groups, by row, each with one operator more: that at a place of the order,
        which is in front of all that the group has.
        """
        new, ops = parents.take(rows), self.order[places]
        each = np.arange(len(ops))
        new.last = places
        new.mask = new.mask | self._of[ops]
        new.before = new.before | self._before[ops]
        new.near = new.near | self._near[ops]
        new.apart = new.apart & self._by_image[ops]
        new.tile = np.maximum(new.tile, self._tile[ops])
        size = self._parameters[ops]
        new.parameters = new.parameters + size
        outside = (self._readers[ops] & ~new.mask).any(axis=1)
        away = outside & ~self._leaves[ops]
        new.cut = new.cut + np.where(away, self._size[ops] + self._reread[ops], 0)
        new.moved = new.moved + size + np.where(outside, self._size[ops], 0)
        # What it makes: at the pace of its readers here, or at one of its own.
        hit = new.slot == self._out[ops][:, None]
        read, at = hit.any(axis=1), hit.argmax(axis=1)
        wide = read[:, None]
        least = np.where(wide, new.least[each, at], self._sink_least[ops])
        first = np.where(wide, new.first[each, at], self._sink_first[ops])
        gain = np.where(wide, new.gain[each, at], self._sink_first[ops])
        needed = np.where(read, new.needed[each, at], self._height[ops])
        skipped = np.where(read, new.skipped[each, at], 0)
        had = np.where(wide, new.rows[each, at], 0)
        rest = np.where(wide, new.rest[each, at], 0)
        whole = read & new.whole[each, at]
        new.moved -= np.where(read, new.load[each, at], 0)
        new.slot[each[read], at[read]] = -1
        now = np.maximum(np.maximum(had, least - skipped[:, None]), 1)
        rest = self._hold(new, each, self._out[ops], now - had, rest, whole)
        rest = _pay(new, each, rest, self._out_whole[ops])
        turns = turns_of(least - skipped[:, None], first, gain, needed[:, None])
        new.refilled += size[:, None, None] * np.minimum(turns[:, :, None], self._levels)
        short = int((self._inputs[ops] - (new.slot < 0).sum(axis=1)).max(initial=0))
        new.widen(new.slot.shape[1] + max(0, short))
        for k in range(int(self._inputs[ops].max(initial=0))):
            some = np.flatnonzero(self._inputs[ops] > k)
            terms = (least[some], first[some], gain[some], needed[some], skipped[some], rest[some])
            self._read_input(new, some, ops[some], k, *terms)
        return new

    def _read_input(
        self,
        new: GroupLayer,
        some: Counts,
        ops: Counts,
        k: int,
        least: Counts,
        first: Counts,
        gain: Counts,
        needed: Counts,
        skipped: Counts,
        out_rest: Counts,
    ) -> None:
        """Have some of the groups read input k of their first operator, made at this pace."""
        tensor, table = self._tensor[ops, k], self._at[ops, k]
        hit = new.slot[some] == tensor[:, None]
        has_slot = hit.any(axis=1)
        at = np.where(has_slot, hit.argmax(axis=1), (new.slot[some] < 0).argmax(axis=1))
        place, wide = (some, at), has_slot[:, None]
        new.slot[place] = tensor

        def raised(values: Counts, more: Counts) -> Counts:
            """The larger of what this and other readers need, if there are any."""
            mask = wide if more.ndim > 1 else has_slot
            larger: Counts = np.maximum(np.where(mask, values[place], 0), more)
            values[place] = larger
            return larger

        low = raised(new.least, self._upto[table[:, None] + least])
        raised(new.first, self._upto[table[:, None] + first])
        raised(new.gain, self._gains[table[:, None] + gain])
        raised(new.needed, self._upto[table + needed])
        begin = raised(new.skipped, self._start[table + skipped])
        had = np.where(wide, new.rows[place], 0)
        now = raised(new.rows, np.maximum(low - begin[:, None], self._need[ops, k][:, None]))
        rest = np.where(wide, new.rest[place], 0)
        whole = has_slot & new.whole[place]
        rest = self._hold(new, some, tensor, now - had, rest, whole)
        rest = _pay(new, some, rest, self._in_whole[ops, k])
        if k == 0:  # One of what it adds up and what it makes of it has all channels.
            paid = np.where(self._paired[ops][:, None], np.minimum(rest, out_rest), 0)
            new.held[some] += paid
            rest = rest - paid
        new.rest[place] = rest
        new.whole[place] = whole | self._in_whole[ops, k]
        had = np.where(has_slot, new.load[place], 0)
        new.moved[some] += raised(new.load, self._read[ops, k]) - had

    def _hold(
        self,
        new: GroupLayer,
        some: Counts,
        tensor: Counts,
        more: Counts,
        rest: Counts,
        whole: Counts,
    ) -> Counts:
        """Have some groups hold more rows of a tensor; what its other channels may yet cost."""
        others = self._rest[tensor][:, None] * more
        new.held[some] += self._few[tensor][:, None] * more + np.where(whole[:, None], others, 0)
        return np.asarray(rest + np.where(whole[:, None], 0, others), dtype=np.int64)

    def fronts(self, layer: GroupLayer) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Whether each group may have each operator in front of it, by place in the order, and
        stays convex; and whether that shares a tensor with it."""
        ops = self.order
        open_ = (layer.before & ~layer.mask)[:, None, :]
        near = np.zeros((len(layer.last), len(ops)), dtype=bool)
        left = np.arange(len(ops)) >= layer.last[:, None]
        for word in range(open_.shape[2]):
            left |= (open_[:, :, word] & self._after[ops, word]) != 0
            near |= (layer.near[:, None, word] & self._of[ops, word]) != 0
        return ~left, near

    def again(self, layer: GroupLayer, budgets: Sequence[int]) -> Bytes:
        """Bytes of parameters beyond each once, at least, for each budget; `NEVER` where it does
        not fit."""
        extra = np.full((len(layer.last), len(budgets)), NEVER, dtype=np.int64)
        for together in (n for n in range(1, self.images + 1) if self.images % n == 0):
            able = layer.apart | (together == self.images)
            for bands in (1 << k for k in range(self._bands.bit_length())):
                tiles = self.images // together * bands
                held_bytes = layer.held * together // bands
                costs = tiles * layer.refilled - layer.parameters[:, None, None]
                for k, budget in enumerate(budgets):
                    spare = budget - held_bytes
                    saved = (tiles * self._levels - 1) * spare[:, :, None]
                    least = np.maximum((costs - saved).max(axis=2), 0)
                    least[(spare < layer.tile[:, None]) | ~able[:, None]] = NEVER
                    np.minimum(extra[:, k], least.min(axis=1), out=extra[:, k])
        return extra


def one_batch(graph: Graph) -> bool:
    """Whether all that operators read and make has as many images, as groups that grow must."""
    maps = {name for op in graph.operators for name in (*op.inputs, *op.outputs)}
    return len({images_of(graph.tensors[name]) for name in maps}) <= 1


def _compulsory_bytes(crossing: Sequence[Crossing], count: int) -> int:
    """What any partition moves at least: parameters, and inputs and outputs of the graph once."""
    loaded: dict[int, int] = {}
    total = 0
    for around in crossing:
        total += around.parameters
        total += sum(size for size, readers in around.made if readers >> count)
        for read in around.read:
            if not read.maker:
                loaded[read.tensor] = max(loaded.get(read.tensor, 0), read.size_bytes)
    return total + sum(loaded.values())


def _pay(new: GroupLayer, some: Counts, rest: Counts, all_channels: NDArray[np.bool_]) -> Counts:
    """Have some groups hold all channels, where they must; what may yet be to pay."""
    new.held[some] += np.where(all_channels[:, None], rest, 0)
    return np.where(all_channels[:, None], 0, rest)


def words(masks: Sequence[int], count: int) -> Words:
    """Masks of so many operators as rows of words."""
    wide = -(-count // WORD)
    low = (1 << WORD) - 1
    rows = [[mask >> WORD * k & low for k in range(wide)] for mask in masks]
    return np.array(rows, dtype=np.uint64).reshape(len(masks), wide)


def masks(rows: Words) -> list[int]:
    """The masks of rows of words."""
    width = rows.shape[1] * WORD // 8
    data = np.ascontiguousarray(rows, dtype="<u8").tobytes()
    return [int.from_bytes(data[at : at + width], "little") for at in range(0, len(data), width)]
