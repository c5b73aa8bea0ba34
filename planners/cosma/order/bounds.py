"""Lower bounds on what a state still has to pay, each from a part of the problem.

`Overflow`: tensors that must live across an operator and do not fit beside it; and those that a
wish spills, where some operator surely runs between two uses. `Largest`: the problem of the largest
tensors alone, solved exactly from each state that is queried, and cached. Bounds on suffixes, which
need a search each, are in `suffix_bounds.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

from planners.core.best_first import NO_LIMIT, BestFirstSearch, SearchNode
from planners.core.masks import bits
from planners.core.progress import Clock
from planners.cosma.model.net import Net
from planners.cosma.order.space import OrderSpace, OrderState

Bound: TypeAlias = Callable[[OrderState], int]

# States that one query about the largest tensors may expand; then the bound so far is the answer.
MAX_STATES = 500


class _Crowd(NamedTuple):
    """An operator, its need beyond the capacity, and tensors that may or always live across it."""

    operator: int
    over: int
    possible: int
    always: int


class Overflow:
    """What must live across an operator and overflows it; disjoint overflows add up."""

    def __init__(self, space: OrderSpace) -> None:
        self.space = space
        self.crowds = list(self._crowds()) if space.rules.overflow else []
        self.operators = sum(crowd.operator for crowd in self.crowds)
        self.spills = list(_spills(space)) if space.spill else []
        self._ahead: dict[int, list[tuple[int, int, int]]] = {}

    def __call__(self, state: OrderState, before: int | None = None) -> int:
        """In units; only of the operators numbered below `before`, where it is given."""
        resident, absent = state.resident, state.absent
        bytes_of = self.space.bytes
        costs = []
        for over, possible, always in self._crowds_ahead(state.done, before):
            across = resident & possible | always & ~absent
            excess = over + bytes_of(across)
            if excess > 0:
                cheap = bytes_of(across & (state.written | self.space.host) & ~self.space.keep)
                costs.append((excess if excess <= cheap else 2 * excess - cheap, across))
        if len(costs) > 1:
            costs.sort(reverse=True)
        total = taken = 0
        for cost, across in costs:
            if not across & taken:
                total += cost
                taken |= across
        if self.spills and before is None:
            total += sum(spill.left(state, self.space.host) for spill in self.spills)
        return total

    def _crowds_ahead(self, done: int, before: int | None) -> list[tuple[int, int, int]]:
        """The crowds still to come, without their operators."""
        operators = self.operators & ~done
        if before is not None:
            operators &= (1 << before) - 1
        ahead = self._ahead.get(operators)
        if ahead is None:
            ahead = [crowd[1:] for crowd in self.crowds if crowd.operator & operators]
            self._ahead[operators] = ahead
        return ahead

    def _crowds(self) -> Iterator[_Crowd]:
        space, net = self.space, self.space.net
        most = sum(space.size[t] for t, producer in enumerate(net.producer) if producer >= 0)
        for position in bits(net.counts):
            step = space.steps[position]
            over = step.fresh + space.bytes(step.reads) - space.capacity
            if over + most <= 0:
                continue
            around = net.around[position]
            # What is to be spilled is not resident in any case.
            possible = around.read_after & around.made_not_after & ~step.touches & ~space.spill
            if over + space.bytes(possible) > 0:
                always = possible & around.made_before
                yield _Crowd(1 << position, over, possible, always)


class _Spill(NamedTuple):
    """A tensor to be spilled: for uses (as masks), the operators that surely run between an
    earlier use and that one, and do not use it."""

    tensor: int
    size: int
    uses: tuple[tuple[int, int], ...]

    def left(self, state: OrderState, host: int) -> int:
        """What it still has to pay at least: it leaves once more, if it is not away already."""
        if state.absent & self.tensor:
            return 0
        if any(use & ~state.done and between & ~state.done for use, between in self.uses):
            return self.size if (state.written | host) & self.tensor else 2 * self.size
        return 0


def _spills(space: OrderSpace) -> Iterator[_Spill]:
    net = space.net
    for t in bits(space.spill):
        users = net.consumers[t] | (1 << net.producer[t] if net.producer[t] >= 0 else 0)
        after = 0
        for i in bits(users):
            after |= net.behind[i]
        uses = ((1 << i, net.before[i] & after & ~users) for i in bits(net.consumers[t]))
        pairs = tuple((use, between) for use, between in uses if between)
        if pairs:
            yield _Spill(1 << t, space.size[t], pairs)


_Key: TypeAlias = tuple[int, int, int]
_Node: TypeAlias = SearchNode[OrderState, int, None]


def _key(state: OrderState) -> _Key:
    return state.done, state.resident, state.written


class Largest:
    """What the part of a net about its largest tensors has to pay, by search.

    Each answer is cached for its state and for all states on the way to the goal; for the other
    expanded states a bound is: the best cost less the cost of reaching them (adaptive A*).
    """

    def __init__(self, net: Net, smallest: int, base: Bound | None = None) -> None:
        self.space = OrderSpace(net.only(lambda tensor: net.sizes[tensor] >= smallest))
        self.overflow = Overflow(self.space)
        self.base = base
        self.answers: dict[_Key, int] = {}
        self.exact: dict[_Key, int] = {}
        self.least: dict[_Key, int] = {}

    def __call__(self, state: OrderState) -> int:
        """In units, for a state of the whole net."""
        space = self.space
        parts = (state.resident & space.tensors, state.written & space.tensors)
        key = (state.done | space.skipped, *parts)
        bound = self.answers.get(key)
        if bound is None:
            seen = space.settle(space.seen(state), [])
            bound = self.answers[key] = self._solve(seen)
        return bound

    def left(self, state: OrderState) -> int:
        """The least cost from a state of the part, or the best bound on it yet."""
        key = _key(state)
        exact = self.exact.get(key)
        if exact is not None:
            return exact
        base = 0 if self.base is None else self.base(state)
        return max(self.least.get(key, 0), self.overflow(state), base)

    def _solve(self, start: OrderState) -> int:
        """The least cost from a state of the part, or a bound on it."""
        if _key(start) in self.exact:
            return self.exact[_key(start)]
        search = _LargestSearch(self, start)
        search.run(None, MAX_STATES)
        if search.goal is None:
            return search.least
        total: int = search.goal[1] + self.exact.get(_key(search.goal[0]), 0)
        for key, cost in search.closed.items():
            self.least[key] = max(self.least.get(key, 0), total - cost)
        for state, cost, _, _ in search.path():
            self.exact[_key(state)] = total - cost
        return total


class _LargestSearch(BestFirstSearch[OrderState, int, None]):
    """From one state of a part to one from which the least cost is known."""

    def __init__(self, part: Largest, start: OrderState) -> None:
        super().__init__(NO_LIMIT, 0)
        self.closed: dict[_Key, int] = {}
        self.part, self.space = part, part.space
        self.begin(start, 0, None)

    def expand(self, node: _Node, clock: Clock | None) -> Iterator[tuple[int, OrderState, None]]:
        state, cost, _, _ = node
        self.closed[_key(state)] = cost
        for paid, moved, _ in self.space.moves(state, clock):
            yield cost + paid, self.space.settle(moved, []), None

    def bound(self, state: OrderState) -> int:
        return self.part.left(state)

    def is_goal(self, state: OrderState) -> bool:
        return state.done == self.space.everything or _key(state) in self.part.exact
