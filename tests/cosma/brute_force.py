"""The cheapest way through a graph, by trying every order, memory content and address.

It knows no gaps, runs, cuts, packing or dominance: a state is what has run, what is resident
where, and what was written. All states of a cost are tried before any dearer one; what a state
must at least cost still comes from the same exhaustive search with sizes in place of addresses.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from math import gcd
from typing import NamedTuple

from planners.core.graph import Graph
from planners.wishes.language import Wish

Places = tuple[tuple[int, int], ...]  # of what is resident: tensor and offset, in order
NEVER = 10**9


def optimum(
    graph: Graph,
    budget_bytes: int,
    *,
    any_order: bool = False,
    parameters: bool = False,
    wishes: Sequence[Wish] = (),
) -> int | None:
    """Least non-compulsory bytes of any replacement and addresses; None where nothing fits.

    For the default schedule, or for the best one with `any_order`; of those that respect wishes.
    """
    return _Search(graph, budget_bytes, any_order, parameters, wishes).run()


def optimum_by_size(
    graph: Graph,
    budget_bytes: int,
    *,
    any_order: bool = False,
    parameters: bool = False,
    wishes: Sequence[Wish] = (),
) -> int:
    """The same if only the sum of sizes had to fit: what is more than this is fragmentation."""
    return _Search(graph, budget_bytes, any_order, parameters, wishes).to_go(0, 0, 0)


class Op(NamedTuple):
    """An operator: masks of the operators before it, and of the tensors it reads and makes."""

    after: int
    reads: int
    makes: int


class _Search:
    def __init__(
        self,
        graph: Graph,
        budget_bytes: int,
        any_order: bool,
        parameters: bool,
        wishes: Sequence[Wish],
    ) -> None:
        names = [n for n, t in graph.tensors.items() if parameters or t.kind != "parameter"]
        at = {name: i for i, name in enumerate(names)}
        self.size = [graph.size_bytes(name) for name in names]
        self.unit = gcd(*self.size) or 1
        self.budget = budget_bytes // self.unit * self.unit
        self.uses = [sum(1 << i for i in graph.consumers[name]) for name in names]
        made = {name for op in graph.operators for name in op.outputs}
        self.given = sum(1 << at[n] for n in names if n not in made)
        self.host = self.given | sum(1 << at[n] for n in graph.outputs if n in at)
        self.keep = _mask(at[w.names[0]] for w in wishes if w.kind == "keep")
        self.spill = _mask(at[w.names[0]] for w in wishes if w.kind == "spill")
        first = [w.names for w in wishes if w.kind == "before"]
        self.ops = []
        for i, op in enumerate(graph.operators):
            reads = (*op.inputs, *(op.parameters if parameters else ()))
            before = {graph.producer[t] for t in op.inputs if t in graph.producer}
            before |= {graph.index[a] for a, b in first if b == op.name}
            after = sum(1 << j for j in before) if any_order else (1 << i) - 1
            self.ops.append(Op(after, _mask(at[t] for t in reads), _mask(map(at.get, op.outputs))))
        self.all = (1 << len(self.ops)) - 1
        self.to_go = cache(self._to_go)

    def run(self) -> int | None:
        """The least limit under which there is a way to the end."""
        limit = self.to_go(0, 0, 0)
        while limit < NEVER:
            self.limit, self.next_limit = limit, NEVER
            self.seen: dict[tuple[int, Places, int], int] = {}
            if self._reaches_the_end(0, (), 0, 0):
                return limit
            limit = self.next_limit
        return None

    def _reaches_the_end(self, done: int, places: Places, written: int, cost: int) -> bool:
        """Whether the rest can run without the whole costing more than the limit."""
        if done == self.all:
            return True
        key = (done, min(places, self._upside_down(places)), written)
        if self.seen.get(key, NEVER) <= cost:
            return False
        self.seen[key] = cost
        return any(
            self._within(paid + self.to_go(ran, _mask(t for t, _ in left), wrote))
            and self._reaches_the_end(ran, left, wrote, paid)
            for ran, left, wrote, paid in self._moves(done, places, written, cost)
        )

    def _within(self, cost: int) -> bool:
        if cost > self.limit:
            self.next_limit = min(self.next_limit, cost)
        return cost <= self.limit

    def _upside_down(self, places: Places) -> Places:
        return tuple((t, self.budget - self.size[t] - at) for t, at in places)

    def _ready(self, done: int) -> Iterator[tuple[int, Op]]:
        for i, op in enumerate(self.ops):
            if not done >> i & 1 and not op.after & ~done:
                yield i, op

    def _loads(self, missing: int, done: int) -> int:
        """What it costs to load these: an input's first load is compulsory."""
        first = _mask(t for t in _bits(missing & self.given) if not self.uses[t] & done)
        return self._bytes(missing & ~first)

    def _bytes(self, mask: int) -> int:
        return sum(self.size[t] for t in _bits(mask))

    def _live(self, mask: int, done: int) -> int:
        return _mask(t for t in _bits(mask) if self.uses[t] & ~done)

    def _to_go(self, done: int, resident: int, written: int) -> int:
        """Least cost from here on if only the sum of sizes had to fit."""
        if done == self.all:
            return 0
        best = NEVER
        for i, op in self._ready(done):
            need, ran = op.reads | op.makes, done | 1 << i
            movable = resident & ~need
            loads = self._loads(op.reads & ~resident, done)
            for gone in _subsets(movable):
                if gone & self.keep or movable & self.spill & ~gone:
                    continue
                if self._bytes(resident & ~gone | need) <= self.budget:
                    store = gone & ~(self.host | written)
                    held = self._live(resident & ~gone | need, ran)
                    wrote = self._live(written | store, ran)
                    paid = loads + self._bytes(store)
                    best = min(best, paid + self.to_go(ran, held, wrote))
        return best

    def _moves(
        self, done: int, places: Places, written: int, cost: int
    ) -> Iterator[tuple[int, Places, int, int]]:
        """Each operator that can run, with its tensors at each address; what it leaves, and costs.

        What is missing is placed, and some of what is there moved, anywhere; what lies there
        leaves. Nothing else has to: it may as well leave when its room is wanted.
        """
        resident, safe = _mask(t for t, _ in places), self.host | written
        for i, op in self._ready(done):
            need, ran = op.reads | op.makes, done | 1 << i
            missing = need & ~resident
            away = resident & ~need & self.spill  # What is not used here is not wanted here.
            for moved in _subsets(resident & need & ~self.keep):
                new, stored = missing | moved, (moved | away) & ~safe
                lasting = self._live(new, ran)
                paid = cost + self._loads(missing & op.reads, done)
                paid += self._bytes(moved) + self._bytes(stored)
                pinned = tuple((t, at) for t, at in places if (need & ~moved) >> t & 1)
                rest = tuple((t, at) for t, at in places if not (need | away) >> t & 1)
                others = resident & ~need & ~away
                may_go = self._affordable(ran, need, others, written | stored, paid)
                for kept, under in self._place([*_bits(lasting)], pinned, rest, 0, may_go):
                    for gone in self._squeeze(new & ~lasting, kept, rest, under, may_go):
                        stays = (*kept, *((t, at) for t, at in rest if not gone >> t & 1))
                        left = tuple(sorted((t, at) for t, at in stays if self.uses[t] & ~ran))
                        wrote = self._live(written | stored | (gone & ~safe), ran)
                        yield ran, left, wrote, paid + self._bytes(gone & ~safe)

    def _affordable(self, ran: int, need: int, rest: int, written: int, paid: int) -> list[int]:
        """What of the rest may leave for an operator, for there to be room within the limit."""
        found = []
        for gone in _subsets(rest & ~self.keep):
            if self._bytes(need | (rest & ~gone)) <= self.budget:
                store = gone & ~(self.host | written)
                held = self._live(need | (rest & ~gone), ran)
                to_go = self.to_go(ran, held, self._live(written | store, ran))
                if self._within(paid + self._bytes(store) + to_go):
                    found.append(gone)
        return found

    def _place(
        self, new: list[int], placed: Places, rest: Places, gone: int, may_go: list[int]
    ) -> Iterator[tuple[Places, int]]:
        """All addresses for what is new, beside what is placed; and what of the rest must leave."""
        if all(gone & ~some for some in may_go):
            return
        if not new:
            yield placed, gone
            return
        tensor, *others = new
        last = self.budget - self.size[tensor] if self.size[tensor] else 0
        for at in range(0, last + 1, self.unit):
            if not self._overlaps(tensor, at, placed):
                under = _mask(t for t, o in rest if self._overlaps(tensor, at, ((t, o),)))
                beside = (*placed, (tensor, at))
                yield from self._place(others, beside, rest, gone | under, may_go)

    def _squeeze(
        self, passing: int, placed: Places, rest: Places, gone: int, may_go: list[int]
    ) -> Iterator[int]:
        """What leaves for tensors that go with the step: all that matters of where they lie."""
        found: set[int] = set()
        for _, under in self._place([*_bits(passing)], placed, rest, gone, may_go):
            if under not in found:
                found.add(under)
                yield under
            if under == gone:
                return

    def _overlaps(self, tensor: int, at: int, others: Places) -> bool:
        end = at + self.size[tensor]
        return any(max(at, o) < min(end, o + self.size[t]) for t, o in others)


def _mask(items: Iterator[int]) -> int:
    return sum(1 << i for i in set(items))


def _bits(mask: int) -> Iterator[int]:
    return (i for i in range(mask.bit_length()) if mask >> i & 1)


def _subsets(mask: int) -> Iterator[int]:
    """All subsets, the empty one among them."""
    part = mask
    while part:
        yield part
        part = (part - 1) & mask
    yield 0
