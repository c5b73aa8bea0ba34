"""Bounds from the end: the least cost of what comes after each of some points of an order.

The part of a net from a point of the order on is searched with the bounds of later points,
so each search has little left to do. A state that has executed nothing behind a point pays
at least that part's least cost; one that has, at least what the part's search knows of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from planners.core.best_first import NO_LIMIT
from planners.core.progress import Clock
from planners.cosma.model.net import Net
from planners.cosma.order.bounds import Bound, Overflow
from planners.cosma.order.rules import ORDER_RULES, OrderRules
from planners.cosma.order.shortest_path import Expanded, OrderSearch
from planners.cosma.order.space import OrderSpace, OrderState

# Operators from one point to the next, where nothing costs anything and else: short steps leave a
# search little to do. And the most states that one search may expand.
FREE_STRIDE, STRIDE, MAX_STATES = 32, 8, 12_000


class _Tail(NamedTuple):
    """What the search of the part from operator `first` on has found."""

    first: int
    tensors: int
    least: int
    expanded: Expanded


class Tails:
    """Lower bounds for the states of a net whose operators are numbered along an order."""

    def __init__(self, net: Net, rules: OrderRules = ORDER_RULES) -> None:
        self.net, self.rules = net, rules
        self.first = len(net.ops)
        self.least = 0  # In units: a bound on all schedules.
        self.states = 0
        self.tails: list[_Tail] = []
        self._next: list[tuple[int, int]] = [(len(net.ops), 0)] * (len(net.ops) + 1)

    def extend(self, clock: Clock) -> None:
        """Search the part from the next point on."""
        first = max(0, self.first - (STRIDE if self.least else FREE_STRIDE))
        space = OrderSpace(self.net.tail(first), self.rules)
        search = OrderSearch(space, NO_LIMIT, self.bound_for(space))
        search.run(clock, MAX_STATES)
        self.first = first
        self.least = max(self.least, search.least)
        self.states += search.states
        self.tails.insert(0, _Tail(first, space.tensors, search.least, search.expanded))
        for number in range(first + 1):
            self._next[number] = (first, search.least)

    def bound_for(self, space: OrderSpace) -> Bound:
        """The bound for states of the whole net, or of a longer tail of it, as `space` has them."""
        overflow = Overflow(space)
        tails = [(tail, (1 << tail.first) - 1) for tail in self.tails if self.rules.tail_states]
        tail_rule = self.rules.tail

        def left(state: OrderState) -> int:
            # Tensors made before the point and after it are different: the two add up.
            if tail_rule:
                first, least = self._next[state.done.bit_length()]
                best = least + overflow(state, first)
            else:
                best = overflow(state)
            for tail, earlier in tails:
                expanded = tail.expanded.get(state.done | earlier)
                if expanded is not None:
                    best = max(best, _proven_by(space, state, tail, expanded))
            return best

        return left


def _proven_by(
    space: OrderSpace, state: OrderState, tail: _Tail, expanded: Sequence[tuple[int, int, int]]
) -> int:
    """What the search of a suffix proves of a state: the least cost less what was paid remains.

    From a state that it expanded this one can be reached by evicting what is resident there only
    and writing what is written here only.
    """
    resident, written = state.resident & tail.tensors, state.written & tail.tensors
    best = 0
    for paid, resident_there, written_there in expanded:
        left = tail.least - paid
        if left > best:
            left -= space.bytes(resident_there & ~resident)
            left -= space.bytes(written & ~written_there)
            best = max(best, left)
    return best
