"""Networks half run in fused groups: what has run, what is on chip, what is off chip as well.

A step runs a group. Tensors around it are *held*, whole, or go by its line buffers; what else is
on chip stays, or makes room first. Moves are lazy: a store is paid when the only copy leaves, a
load when a group needs it, and nothing leaves but for a group that needs the room: what stays can
go later for no more.

With operators alone and all around them held, states and moves are those of
`planners.cosma.order.space`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from planners.core.masks import bits
from planners.fusion.joint.resident_cost import HeldCosts, Steps
from planners.fusion.partition.shortest import Lattice


@dataclass(frozen=True, slots=True)
class JointRules:
    """Which rules the search over groups and residency has."""

    stand_in: bool = True
    """A state is left out where another with the same operators run costs no more, what has to be
    loaded and stored to turn it into this one included."""
    room_where_needed: bool = True
    """Nothing more makes room for a group that fits with all that may be there and moves the least
    it can: what stays can go later for no more."""
    inner: bool = True
    """A group moves what is inside of it whatever is held around it."""
    boundary: bool = True
    """Of the tensors around a group no more by bytes stays on chip than there is room for."""
    first_loads: bool = True
    """What is off chip by now and still read is loaded once more."""


JOINT_RULES = JointRules()


class GroupState(NamedTuple):
    """Masks over operators (`done`) and tensors that are still read: those on chip, and of them
    those that are off chip as well (`clean`). What is live and not on chip is off chip."""

    done: int
    resident: int
    clean: int


class Leg(NamedTuple):
    """Run a group with these tensors held; `gone` leave the chip before it begins."""

    group: int
    held: int
    gone: int


class StateTerms(NamedTuple):
    """A group in a state with some tensors `out`, neither held nor left on chip.

    `bytes` is what crosses whatever way the group is run, `apart` that of it which the model's
    traffic has not; `room` is left for the group.
    """

    held: int
    room: int
    bytes: int
    apart: int


class GroupSpace:
    """The states on a lattice of downsets within a budget, and the moves between them."""

    def __init__(
        self,
        way: Lattice,
        groups: Sequence[int],
        costs: HeldCosts,
        budget_bytes: int,
        low: Callable[[int], int | None] | None = None,
        *,
        keep: int = 0,
        spill: int = 0,
        rules: JointRules = JOINT_RULES,
    ) -> None:
        self.rules = rules
        # Tensors that must stay while they are live, and those that must not without their users.
        self.keep, self.spill = keep, spill
        self.costs, self.tensors, self.budget = costs, costs.tensors, budget_bytes
        self.downsets = way.downsets
        self.everything = way.downsets[-1]
        self.live = {done: self.tensors.live(done) for done in way.downsets}
        self.onward: dict[int, list[int]] = {done: [] for done in way.downsets}
        for begins, numbers in zip(way.begins, way.groups, strict=True):
            for begin, number in zip(begins, numbers, strict=True):
                self.onward[way.downsets[begin]].append(groups[number])
        self._inner: dict[int, Steps] = {}
        self._low = low or (lambda mask: self.inner(mask, budget_bytes))
        self._lows: dict[int, int | None] = {}

    def low(self, mask: int) -> int | None:
        """A lower bound on what a group moves beside the maps around it, whatever is held within
        the budget; it needs no call of the model.
        """
        if mask not in self._lows:
            self._lows[mask] = self._low(mask)
        return self._lows[mask]

    def inner(self, mask: int, room: int) -> int | None:
        """The least traffic of a group with all around it held, in so much room; None if none.

        No way to run it with less held has less in the same room, for without the line buffer of
        a tensor, its loads and its stores, that is a way to run it with the tensor held.
        """
        steps = self._inner.get(mask)
        if steps is None:
            around = self.costs.around(mask)
            steps = self._inner[mask] = self.costs.steps(mask, around.reads | around.makes)
        return within(steps, room)

    def candidates(
        self, state: GroupState, mask: int, *, last_first: bool = False
    ) -> tuple[tuple[int, ...], int]:
        """What may be on chip while a group runs, as sets of one; and of these what the group
        loads less of by line buffers than whole. Those come first; then the largest, or those
        whose next reader comes last.
        """
        around = self.costs.around(mask)
        there = around.makes | around.reads | state.resident
        size, touched = self.tensors.size, around.touched
        absent = around.reads & there & ~state.resident
        cheaper = sum(1 << k for k in bits(absent) if touched[k] < size[k])
        last = self._next_reader(state.done | mask) if last_first else lambda k: 0
        order = sorted(bits(there), key=lambda k: (not cheaper >> k & 1, -last(k), -size[k], k))
        return tuple(1 << k for k in order), cheaper

    def settled(self, state: GroupState, mask: int) -> tuple[int, int]:
        """Of what may be on chip while a group runs: what cannot leave, and what must."""
        around = self.costs.around(mask)
        live = self.live[state.done | mask]
        stay = self.keep & (state.resident | (around.makes & live))
        return stay, self.spill & state.resident & ~(around.reads | around.makes)

    def _next_reader(self, done: int) -> Callable[[int], int]:
        """The position of a tensor's next reader; beyond all for one that is read no more."""
        count = self.everything.bit_length()

        def position(tensor: int) -> int:
            left = self.tensors.readers[tensor] & ~done
            return (left & -left).bit_length() if left else count + 1

        return position

    def terms(self, state: GroupState, mask: int, there: int, out: int) -> StateTerms:
        """What a group needs with `out` of what may be there (`there`) neither held nor left."""
        around, tensors = self.costs.around(mask), self.tensors
        stay = there & ~out
        held_tensors = stay & (around.reads | around.makes)
        room = self.budget - tensors.bytes(stay)
        apart = (
            tensors.bytes(held_tensors & around.reads & ~state.resident)
            + tensors.bytes(held_tensors & around.makes & tensors.outputs)
            + tensors.bytes(out & state.resident & ~state.clean)
        )
        streamed = sum(around.touched[k] for k in bits(around.reads & ~held_tensors))
        moved = apart + streamed + tensors.bytes(around.makes & ~held_tensors)
        return StateTerms(held_tensors, room, moved, apart)

    def after(self, state: GroupState, mask: int, there: int, out: int) -> GroupState:
        """What is there once the group ran."""
        reads = self.costs.around(mask).reads
        done = state.done | mask
        resident = there & ~out & self.live[done]
        clean = state.clean | (reads & ~state.resident) | self.tensors.host
        return GroupState(done, resident, clean & resident)

    def first_load(self, tensor: int, done: int) -> int:
        """The least that a reader still to come loads of a tensor."""
        touched = self.tensors.touched[tensor]
        return min((size for i, size in touched.items() if not done >> i & 1), default=0)

    @cached_property
    def remaining(self) -> tuple[dict[int, int], dict[int, int]]:
        """Two bounds on what the rest costs from each downset; absent where it cannot end.

        The first counts each store and load where it is paid. The second leaves loads out of
        groups and counts one with each store: it may be added to a load of each tensor that is
        off chip only by now.
        """
        paid, prepaid = {self.everything: 0}, {self.everything: 0}
        bounds: dict[int, tuple[int, int] | None] = {}
        for done in reversed(self.downsets):
            for mask in self.onward[done]:
                if done | mask not in paid:
                    continue
                if mask not in bounds:
                    bounds[mask] = self._least(mask)
                least = bounds[mask]
                if least is not None:
                    for table, cost in zip((paid, prepaid), least, strict=True):
                        total = cost + table[done | mask]
                        table[done] = min(table.get(done, total), total)
        return paid, prepaid

    def _least(self, mask: int) -> tuple[int, int] | None:
        """What a group moves at least, whatever is held, in both ways to count; None if too big.

        Of what is around it, so much by bytes stays on chip as there is room for.
        """
        around, tensors = self.costs.around(mask), self.tensors
        inner = self.low(mask)
        if inner is None:
            return None
        if not self.rules.inner:
            inner = 0
        inner += tensors.bytes(around.makes & tensors.outputs)
        if not self.rules.boundary:
            return inner, inner
        paid = [(tensors.size[k], size) for k, size in around.touched.items()]
        prepaid = []
        for k in bits(around.makes):
            store = 0 if tensors.outputs >> k & 1 else tensors.size[k]
            paid.append((tensors.size[k], store))
            prepaid.append((tensors.size[k], store + self.first_load(k, mask)))
        return inner + unsaved(paid, self.budget), inner + unsaved(prepaid, self.budget)


def unsaved(items: list[tuple[int, int]], room: int) -> int:
    """What is to pay at least where so many bytes of (size, price) items are free of charge.

    A fractional knapsack: items of the highest price per byte first.
    """
    total = 0
    for size, price in sorted(items, key=lambda item: -item[1] / item[0]):
        taken = min(size, room)
        room -= taken
        total += price * (size - taken) // size
    return total


def within(steps: Steps, room: int) -> int | None:
    """The least traffic in so much room; None where nothing fits."""
    for buffer, traffic in reversed(steps):
        if buffer <= room:
            return traffic
    return None
