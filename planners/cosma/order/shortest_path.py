"""Schedule and replacement together: a shortest path over what is executed, resident and written.

A state is ruled out by another with the same operators executed, if that one can be turned into
it for no more than it costs more. The open state of least cost, with a bound on what it still has
to pay, is a lower bound on every schedule. A beam over the same states gives schedules at once.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from random import Random
from typing import Any, TypeAlias

from planners.core.best_first import BestFirstSearch, SearchNode
from planners.core.progress import Clock, TimeOver
from planners.cosma.order.bounds import Bound, Overflow
from planners.cosma.order.space import OrderSpace, OrderState

# Moves of a beam's state that are looked at when the time is over.
FEW = 32
# Cost, resident and written of a state that was expanded, by what it has executed.
Expanded: TypeAlias = dict[int, list[tuple[int, int, int]]]


@dataclass(frozen=True, slots=True)
class OrderRoute:
    """A schedule (operators by position) and its non-compulsory bytes, addresses apart."""

    schedule: tuple[int, ...]
    cost_bytes: int

    def along(self, order: tuple[int, ...]) -> OrderRoute:
        """The same route, where positions were counted along `order`."""
        return replace(self, schedule=tuple(order[i] for i in self.schedule))


def beam(
    space: OrderSpace,
    width: int,
    clock: Clock,
    live_weight: float = 0.0,
    bound: Bound | None = None,
) -> OrderRoute | None:
    """The best schedule found keeping `width` states for each number of executed operators.

    States are ranked by cost and bound, and by `live_weight` times the bytes that they leave
    live. Once the time is over one state a number is kept, and few of its moves are looked at. None
    where a stop is requested, and where what must be kept leads into dead ends.
    """
    left = bound or Overflow(space)

    def rank(item: tuple[OrderState, tuple[int, tuple[int, ...]]]) -> float:
        state, (cost, _) = item
        live = space.bytes(state.resident | state.absent) if live_weight else 0
        return cost + left(state) + live_weight * live

    order: list[int] = []
    first = space.settle(space.start(), order)
    layers: dict[int, dict[OrderState, tuple[int, tuple[int, ...]]]] = defaultdict(dict)
    layers[first.done.bit_count()][first] = (0, tuple(order))
    for depth in range(space.count + 1):
        layer = layers.pop(depth, {})
        if depth == space.count or clock.stopped:
            break
        if clock.expired():
            width = 1
        for state, (cost, path) in heapq.nsmallest(width, layer.items(), key=rank):
            for paid, after, position in _moves(space, state, clock):
                run = [position]
                settled = space.settle(after, run)
                into = layers[settled.done.bit_count()]
                if settled not in into or cost + paid < into[settled][0]:
                    into[settled] = (cost + paid, (*path, *run))
    if depth < space.count or not layer:
        return None
    cost, path = min(layer.values())
    return OrderRoute(path, cost * space.unit)


def _moves(
    space: OrderSpace, state: OrderState, clock: Clock
) -> Iterator[tuple[int, OrderState, int]]:
    """The moves from a state; where the time is over before all are known, a few of them."""
    seen = 0
    try:
        for move in space.moves(state, clock):
            seen += 1
            yield move
            if seen >= FEW and clock.expired():
                return
    except TimeOver:
        yield from islice(space.moves(state), seen, FEW)


_Node: TypeAlias = SearchNode[OrderState, int, tuple[int, ...]]


class OrderSearch(BestFirstSearch[OrderState, int, tuple[int, ...]]):
    """The least cost below `limit` (units) of finishing a space, and a bound on it meanwhile.

    States are queued as their operator leaves them, with a cheap bound (`Overflow`); forced moves
    and the expensive bound are worked out when their turn comes. A `seed` breaks ties between
    equally good, equally advanced states at random, so that another best schedule may be found.
    """

    lazy = True
    compared = "expanded"

    def __init__(
        self, space: OrderSpace, limit: int, bound: Bound | None = None, seed: int | None = None
    ) -> None:
        super().__init__(limit, 0)
        self.space = space
        self._random = None if seed is None else Random(seed)
        self.cheap = Overflow(space)
        self.left: Bound = bound or self.cheap
        self.begin(space.start(), 0, ())

    def route(self) -> OrderRoute | None:
        """The schedule of least cost, where one below the limit was found."""
        if self.goal is None:
            return None
        schedule = tuple(position for node in self.path() for position in node[2])
        return OrderRoute(schedule, self.goal[1] * self.space.unit)

    def expand(
        self, node: _Node, clock: Clock | None
    ) -> Iterator[tuple[int, OrderState, tuple[int, ...]]]:
        state, cost, _, _ = node
        for paid, after, position in self.space.moves(state, clock):
            yield cost + paid, after, (position,)

    def bound(self, state: OrderState) -> int:
        return self.cheap(state)

    def is_goal(self, state: OrderState) -> bool:
        return state.done == self.space.everything

    def rank(self, state: OrderState) -> Any:
        advanced = -state.done.bit_count()
        return advanced if self._random is None else (advanced, self._random.getrandbits(30))

    def refine(self, bound: int, number: int, node: _Node) -> None:
        """Run what is forced, and queue what comes of it with the expensive bound."""
        state, cost, label, parent = node
        if self.reached[state] < cost:
            return
        order = list(label)
        state = self.space.settle(state, order)
        others = self.expanded.get(state.done)
        if others is None or not self.is_dominated(state, cost, others):
            settled = (state, cost, tuple(order), parent)
            self.push(max(bound, cost + self.left(state)), number, settled)

    def entry(self, state: OrderState, cost: int) -> tuple[int, int, int]:
        return cost, state.resident, state.written

    def is_dominated(
        self, state: OrderState, cost: int, others: list[tuple[int, int, int]]
    ) -> bool:
        """Whether another state with the same operators executed can stand for this one.

        It has to evict what is resident there only, and to write what is written here only.
        """
        bytes_of = self.space.bytes
        for paid, resident, written in others if self.space.rules.stand_in else ():
            if paid <= cost:
                extra = paid + bytes_of(resident & ~state.resident)
                if extra <= cost and extra + bytes_of(state.written & ~written) <= cost:
                    return True
        return False
