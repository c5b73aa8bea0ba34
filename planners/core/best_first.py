"""Best-first search: the one loop under all searches over sets of operators.

The open state of least bound has its turn, so that bound is proven: no end is below it.
Costs may add up along a way or be its maximum: `expand` says what each next state costs in all.

A search is a class with what is particular to it:

- `expand`: the states that follow one, with their costs;
- `bound`: what is left to pay from a state at least, None where it cannot end;
- `is_goal`, and `is_dominated`: whether another state with the same operators stands for one;
- `rank`: which of equal bounds comes first, by default the one with most operators executed;
- `refine`, where the first turn of a state is not yet its expansion: a *lazy* search queues states
  with a cheap bound, and works out forced moves and the expensive bound at that turn.

Of equal bound and rank the one that was queued first has its turn first.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator
from heapq import heappop, heappush
from operator import itemgetter
from typing import Any, ClassVar, Generic, Literal, NamedTuple, TypeVar

from planners.core.progress import Clock, TimeOver

State = TypeVar("State", bound=Hashable)
Label = TypeVar("Label")
Cost = TypeVar("Cost", int, float)

NO_LIMIT = 1 << 62


class SearchNode(NamedTuple, Generic[State, Label, Cost]):
    """A state, what it cost to come there, by which step, and from where."""

    state: State
    cost: Cost
    label: Label
    parent: SearchNode[State, Label, Cost] | None


class BestFirstSearch(ABC, Generic[State, Label, Cost]):
    """The least cost below `limit` of an end, and a bound on it meanwhile (`least`).

    It can be run again and again: each time it goes on where it was. `states` were expanded, in
    `turns` of those and of what was refined or dominated; `pushes` were queued.
    """

    lazy: ClassVar[bool] = False
    """Whether states are queued to be refined first."""
    pathmax: ClassVar[bool] = True
    """Whether what is proven of all is taken as the bound of each."""
    compared: ClassVar[Literal["expanded", "queued", "nothing"]] = "nothing"
    """Whether a state is compared at its turn with those expanded, or as it is queued with all that
    were; else only with itself, reached for less."""
    alike: ClassVar[itemgetter[Any]] = itemgetter(0)
    """What is equal in states that are compared: first in a state are its executed operators."""
    turns_a_look: ClassVar[int] = 64
    """Turns between two looks at the clock."""

    def __init__(self, limit: Cost, least: Cost) -> None:
        self.limit: Cost = limit
        self.least: Cost = least
        self.states = self.turns = self.pushes = 0
        # The least cost at which each state was reached.
        self.reached: dict[State, Cost] = {}
        # What `entry` says of the states that others are compared with, by what is alike.
        self.expanded: dict[Any, list[Any]] = {}
        self.goal: SearchNode[State, Label, Cost] | None = None
        # Bound, rank, number, whether it is refined already, node.
        self._heap: list[tuple[Cost, Any, int, bool, SearchNode[State, Label, Cost]]] = []

    # ---- what is particular to a search ------------------------------------------------------

    @abstractmethod
    def expand(
        self, node: SearchNode[State, Label, Cost], clock: Clock | None
    ) -> Iterator[tuple[Cost, State, Label]]:
        """Each next state, its cost in all and the step to it.

        It may raise `TimeOver`: the node is then expanded again when the search goes on.
        """

    @abstractmethod
    def is_goal(self, state: State) -> bool:
        """Whether nothing is left to do."""

    def bound(self, state: State) -> Cost | None:
        """What is left to pay at least; None where it cannot end."""
        return 0

    def is_dominated(self, node: SearchNode[State, Label, Cost], others: list[Any]) -> bool:
        """Whether one of the others, which are entries, stands for a state that is alike."""
        return False

    def entry(self, node: SearchNode[State, Label, Cost]) -> Any:
        """What others are compared with from now on."""
        return node

    def rank(self, state: Any) -> Any:
        """Of equal bounds the least rank comes first."""
        return -state[0].bit_count()

    def refine(self, bound: Cost, number: int, node: SearchNode[State, Label, Cost]) -> None:
        """Queue what becomes of a node at its first turn, in a lazy search."""
        self.push(bound, number, node)

    # ---- the loop ----------------------------------------------------------------------------

    @property
    def done(self) -> bool:
        """Whether the least cost, or that it is at least the limit, is proven."""
        return self.goal is not None or self.least >= self.limit

    def begin(self, state: State, cost: Cost, label: Label) -> None:
        """Queue where the search begins."""
        self.reach(state, cost, label, None)
        self._conclude()

    def run(
        self,
        clock: Clock | None,
        most_states: int = NO_LIMIT,
        most_turns: int = NO_LIMIT,
        most_pushes: int = NO_LIMIT,
    ) -> None:
        """Go on for so many states or turns more, for so many pushes in all, or until it is done
        or the time is over.

        Where it ends for states, what is proven is the bound of the next that it would expand.
        """
        heap, limit, look = self._heap, self.limit, self.turns_a_look
        reached, expanded, alike = self.reached, self.expanded, self.alike
        expand, reach, is_dominated, is_goal = (
            self.expand,
            self.reach,
            self.is_dominated,
            self.is_goal,
        )
        compares, compared = self.compared == "expanded", self.compared != "nothing"
        most_states, most_turns = self.states + most_states, self.turns + most_turns
        others: list[Any] = []
        while heap and self.goal is None and self.least < limit:
            if self.turns >= most_turns or self.pushes > most_pushes:
                return
            bound, _, number, refined, node = heappop(heap)
            self.turns += 1
            if bound > self.least:
                self.least = bound
            state = node.state
            if compares and refined:
                others = expanded.get(alike(state)) or []
            if not refined:
                self.refine(bound, number, node)
            elif not (
                is_dominated(node, others)
                if compares
                else not compared and reached[state] < node.cost
            ):
                if is_goal(state):
                    self.goal = node
                    return
                if self.states >= most_states:
                    self.push(bound, number, node)
                    return
                self.states += 1
                if compares:
                    if not others:
                        expanded[alike(state)] = others
                    others.append(self.entry(node))
                try:
                    for cost, after, label in expand(node, clock):
                        reach(after, cost, label, node)
                except TimeOver:
                    # It is still to be expanded; what was queued of it is no worse.
                    if compares:
                        others.pop()
                    self.push(bound, number, node)
                    return
            if clock is not None and not self.turns % look and clock.expired():
                return
        self._conclude()

    def _conclude(self) -> None:
        if not self._heap and self.goal is None:
            self.least = self.limit

    def reach(
        self,
        state: State,
        cost: Cost,
        label: Label,
        parent: SearchNode[State, Label, Cost] | None,
    ) -> None:
        """Queue a state, unless it was reached for no more, or is too expensive.

        What a lazy search queues at no more than what is proven is refined at once: of all such
        states the one furthest ahead comes next.
        """
        before = self.reached.get(state)
        if before is not None and before <= cost:
            return
        self.reached[state] = cost
        left = self.bound(state)
        if left is None:
            return
        bound = cost + left
        if bound < self.least and self.pathmax:
            bound = self.least
        if bound >= self.limit:
            return
        node = SearchNode(state, cost, label, parent)
        if self.compared == "queued":
            others = self.expanded.setdefault(self.alike(state), [])
            if self.is_dominated(node, others):
                return
            others.append(self.entry(node))
        self.pushes += 1
        if not self.lazy:
            heappush(self._heap, (bound, self.rank(state), self.pushes, True, node))
        elif bound <= self.least:
            self.refine(bound, self.pushes, node)
        else:
            heappush(self._heap, (bound, self.rank(state), self.pushes, False, node))

    def push(
        self,
        bound: Cost,
        number: int,
        node: SearchNode[State, Label, Cost],
        *,
        refined: bool = True,
    ) -> None:
        """Queue a node with its bound, in the turn of its number, if it is below the limit."""
        if bound < self.limit:
            heappush(self._heap, (bound, self.rank(node.state), number, refined, node))

    def path(self) -> list[SearchNode[State, Label, Cost]]:
        """The nodes from the beginning to the end of least cost."""
        nodes, node = [], self.goal
        while node is not None:
            nodes.append(node)
            node = node.parent
        return nodes[::-1]
