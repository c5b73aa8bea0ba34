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
from typing import NamedTuple, TypeAlias

from planners.core.progress import Clock, TimeOver
from planners.cosma.order.bounds import Bound, Overflow
from planners.cosma.order.space import OrderSpace, OrderState

# The clock is read after so many states.
BREATH = 64
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


class _OrderNode(NamedTuple):
    state: OrderState
    cost: int
    order: tuple[int, ...]
    parent: int
    settled: bool


class OrderSearch:
    """The least cost below `limit` (units) of finishing a space, and a bound on it meanwhile.

    Children are queued as their operator leaves them, with a cheap bound (`Overflow`); forced moves
    and the expensive bound are worked out when their turn comes. A `seed` breaks ties between
    equally good, equally advanced states at random, so that another best schedule may be found.
    """

    def __init__(
        self, space: OrderSpace, limit: int, bound: Bound | None = None, seed: int | None = None
    ) -> None:
        self.space, self.limit = space, limit
        self._random = None if seed is None else Random(seed)
        self.cheap = Overflow(space)
        self.left: Bound = bound or self.cheap
        self.least = 0  # The proven lower bound.
        self.states = 0
        self.expanded: Expanded = {}
        self._nodes: list[_OrderNode] = []
        # Bound, −operators executed, turn among equals, node.
        self._heap: list[tuple[int, int, int, int]] = []
        self._seen: dict[OrderState, int] = {}
        self._goal = -1
        self._wait(space.start(), 0, (), -1)
        self._conclude()

    @property
    def done(self) -> bool:
        """Whether the least cost, or that it is at least the limit, is proven."""
        return self._goal >= 0 or self.least >= self.limit

    def run(self, clock: Clock, max_states: int) -> None:
        """Go on for so many states, or until it is done or the time is over."""
        stop_at = self.states + max_states
        while self._heap and not self.done and self.states < stop_at:
            bound, _, _, at = heapq.heappop(self._heap)
            node = self._nodes[at]
            if not node.settled:
                self._settle(node, bound, at)
            elif not self._is_dominated(node.state, node.cost):
                self.least = max(self.least, bound)
                if node.state.done == self.space.everything:
                    self._goal = at
                    return
                try:
                    self._expand(node, at, clock)
                except TimeOver:  # It is still to be expanded; what was queued of it is no worse.
                    self.expanded[node.state.done].pop()
                    self._queue(bound, node.state, at)
                    return
                if self.states % BREATH == 0 and clock.expired():
                    return
        self._conclude()

    def _conclude(self) -> None:
        if not self._heap and self._goal < 0:
            self.least = self.limit

    def route(self) -> OrderRoute | None:
        """The schedule of least cost, where one below the limit was found."""
        if self._goal < 0:
            return None
        cost, at, parts = self._nodes[self._goal].cost, self._goal, []
        while at >= 0:
            parts.append(self._nodes[at].order)
            at = self._nodes[at].parent
        path = tuple(position for part in reversed(parts) for position in part)
        return OrderRoute(path, cost * self.space.unit)

    def _expand(self, node: _OrderNode, at: int, clock: Clock) -> None:
        state = node.state
        self.states += 1
        self.expanded.setdefault(state.done, []).append((node.cost, state.resident, state.written))
        for paid, after, position in self.space.moves(state, clock):
            self._wait(after, node.cost + paid, (position,), at)

    def _wait(self, state: OrderState, cost: int, order: tuple[int, ...], parent: int) -> None:
        """Queue a state as an operator leaves it, unless it is known or too expensive.

        One that costs no more than what is proven has its turn at once: it is settled, so that
        of all such states the one furthest ahead comes next.
        """
        if self._seen.get(state, cost + 1) <= cost:
            return
        self._seen[state] = cost
        bound = max(self.least, cost + self.cheap(state))
        if bound < self.limit:
            self._nodes.append(_OrderNode(state, cost, order, parent, False))
            at = len(self._nodes) - 1
            if bound <= self.least:
                self._settle(self._nodes[at], bound, at)
            else:
                self._queue(bound, state, at)

    def _settle(self, node: _OrderNode, bound: int, at: int) -> None:
        if self._seen[node.state] < node.cost:
            return
        order = list(node.order)
        state = self.space.settle(node.state, order)
        if self._is_dominated(state, node.cost):
            return
        bound = max(bound, node.cost + self.left(state))
        if bound < self.limit:
            self._nodes[at] = _OrderNode(state, node.cost, tuple(order), node.parent, True)
            self._queue(bound, state, at)

    def _queue(self, bound: int, state: OrderState, at: int) -> None:
        turn = 0 if self._random is None else self._random.getrandbits(30)
        heapq.heappush(self._heap, (bound, -state.done.bit_count(), turn, at))

    def _is_dominated(self, state: OrderState, cost: int) -> bool:
        """Whether another state with the same operators executed can stand for this one.

        It has to evict what is resident there only, and to write what is written here only.
        """
        bytes_of = self.space.bytes
        for paid, resident, written in self.expanded.get(state.done, ()):
            if paid <= cost:
                extra = paid + bytes_of(resident & ~state.resident)
                if extra <= cost and extra + bytes_of(state.written & ~written) <= cost:
                    return True
        return False
