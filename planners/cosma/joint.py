"""Schedule and replacement together: a shortest path over what is executed, resident and written.

A state is ruled out by another with the same operators executed, if that one can be turned into
it for no more than it costs more. The open state of least cost, with a bound on what it still has
to pay, is a lower bound on every schedule. A beam over the same states gives schedules at once.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from dataclasses import dataclass
from typing import NamedTuple

from planners.cosma.space import Space, State
from planners.progress import Clock

# Progress is told and the time is looked at after so many states.
BREATH = 256


@dataclass(frozen=True, slots=True)
class Route:
    """A schedule (operators by position) and its non-compulsory bytes, addresses apart."""

    schedule: tuple[int, ...]
    cost_bytes: int


class _Node(NamedTuple):
    state: State
    cost: int
    order: tuple[int, ...]
    parent: int


def beam(space: Space, width: int, clock: Clock, live_weight: float = 0.0) -> Route | None:
    """The best schedule found keeping `width` states for each number of executed operators.

    States are ranked by cost and bound, and by `live_weight` times the bytes that they leave
    live. None where the time is over first.
    """

    def rank(item: tuple[State, tuple[int, tuple[int, ...]]]) -> float:
        state, (cost, _) = item
        live = space.bytes(state.resident | state.absent)
        return cost + space.still_to_pay(state) + live_weight * live

    order: list[int] = []
    first = space.settle(space.start(), order)
    layers: dict[int, dict[State, tuple[int, tuple[int, ...]]]] = defaultdict(dict)
    layers[first.done.bit_count()][first] = (0, tuple(order))
    for depth in range(space.count + 1):
        layer = layers.pop(depth, {})
        if depth == space.count or clock.expired():
            break
        for state, (cost, path) in heapq.nsmallest(width, layer.items(), key=rank):
            for paid, after, position in space.moves(state):
                run = [position]
                settled = space.settle(after, run)
                into = layers[settled.done.bit_count()]
                if settled not in into or cost + paid < into[settled][0]:
                    into[settled] = (cost + paid, (*path, *run))
    if depth < space.count:
        return None
    cost, path = min(layer.values())
    return Route(path, cost * space.unit)


@dataclass(frozen=True, slots=True)
class Found:
    """The outcome of the exact search: the best schedule, and a proven bound on all of them."""

    route: Route
    bound_bytes: int
    states: int


def search(space: Space, incumbent: Route, clock: Clock, max_states: int | None = None) -> Found:
    """A better schedule than `incumbent`, or the proof that none is, unless time or states end.

    The bound is the least cost of an open state; it equals the route's cost where that is best.
    """
    return _Search(space, incumbent, clock, max_states).run()


class _Search:
    def __init__(
        self, space: Space, incumbent: Route, clock: Clock, max_states: int | None
    ) -> None:
        self.space, self.best, self.clock = space, incumbent, clock
        self.bound = 0
        self.limit = incumbent.cost_bytes // space.unit
        self.max_states = max_states
        self.nodes: list[_Node] = []
        self.heap: list[tuple[int, int, int]] = []  # bound, −operators executed, node
        self.closed: dict[int, list[tuple[int, int, int]]] = {}
        self.seen: dict[State, int] = {}
        self.states = 0

    def run(self) -> Found:
        self._open(self.space.start(), 0, -1, -1, self.bound)
        while self.heap and self.bound < self.limit:
            bound, _, at = heapq.heappop(self.heap)
            node = self.nodes[at]
            self.bound = max(self.bound, bound)
            if self._is_dominated(node.state, node.cost, close=True):
                continue
            if node.state.done == self.space.everything:
                return self._found(self._route(at), node.cost)
            self.states += 1
            if self.states == self.max_states or (self.states % BREATH == 0 and self._stop()):
                return self._found(self.best, self.bound)
            for paid, after, position in self.space.moves(node.state):
                self._open(after, node.cost + paid, position, at, bound)
        return self._found(self.best, self.limit)

    def _open(self, state: State, cost: int, position: int, parent: int, bound: int) -> None:
        """Queue a state as an operator leaves it, unless it is known, dominated or too dear."""
        if self.seen.get(state, cost + 1) <= cost:
            return
        self.seen[state] = cost
        order = [position] if position >= 0 else []
        state = self.space.settle(state, order)
        if self._is_dominated(state, cost, close=False):
            return
        bound = max(bound, cost + self.space.still_to_pay(state))
        if bound < self.limit:
            heapq.heappush(self.heap, (bound, -state.done.bit_count(), len(self.nodes)))
            self.nodes.append(_Node(state, cost, tuple(order), parent))

    def _is_dominated(self, state: State, cost: int, close: bool) -> bool:
        """Whether another state with the same operators executed can stand for this one.

        It has to evict what is resident there only, and to write what is written here only.
        """
        rivals = self.closed.get(state.done)
        if rivals is None:
            if close:
                self.closed[state.done] = [(cost, state.resident, state.written)]
            return False
        for paid, resident, written in rivals:
            if paid <= cost:
                extra = paid + self.space.bytes(resident & ~state.resident)
                if extra <= cost and extra + self.space.bytes(state.written & ~written) <= cost:
                    return True
        if close:
            rivals.append((cost, state.resident, state.written))
        return False

    def _stop(self) -> bool:
        unit = self.space.unit
        self.clock.report("order and replacement", self.best.cost_bytes, self.bound * unit)
        return self.clock.expired()

    def _route(self, at: int) -> Route:
        cost, parts = self.nodes[at].cost, []
        while at >= 0:
            parts.append(self.nodes[at].order)
            at = self.nodes[at].parent
        path = tuple(position for part in reversed(parts) for position in part)
        return Route(path, cost * self.space.unit)

    def _found(self, route: Route, bound: int) -> Found:
        return Found(route, bound * self.space.unit, self.states)
