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
from collections.abc import Iterator
from heapq import heappop, heappush
from operator import itemgetter
from typing import Any, ClassVar, Generic, Literal, TypeAlias, TypeVar

from planners.core.gc_pause import no_collection
from planners.core.progress import Clock, TimeOver

State = TypeVar("State", bound=Any)
Cost = TypeVar("Cost", int, float)
Label = TypeVar("Label")

NO_LIMIT = 1 << 62


# A state, what it cost to come there, by which step, and the node that it was reached from.
SearchNode: TypeAlias = tuple[State, Cost, Label, Any]


class BestFirstSearch(ABC, Generic[State, Cost, Label]):
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
    """What is equal in states that are compared. First in a state are its executed operators."""
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
        self.goal: SearchNode[State, Cost, Label] | None = None
        self._lazy, self._pathmax = self.lazy, self.pathmax
        self._early, self._late = self.compared == "queued", self.compared == "expanded"
        # Bound, rank, number, whether it is refined already, node.
        self._heap: list[tuple[Cost, Any, int, bool, SearchNode[State, Cost, Label]]] = []

    # ---- what is particular to a search ------------------------------------------------------

    @abstractmethod
    def expand(
        self, node: SearchNode[State, Cost, Label], clock: Clock | None
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

    def is_dominated(self, state: State, cost: Cost, others: list[Any]) -> bool:
        """Whether one of the others, which are entries, stands for a state that is alike."""
        return False

    def entry(self, state: State, cost: Cost) -> Any:
        """What others are compared with from now on."""
        return cost

    def rank(self, state: Any) -> Any:
        """Of equal bounds the least rank comes first."""
        return -state[0].bit_count()

    def refine(self, bound: Cost, number: int, node: SearchNode[State, Cost, Label]) -> None:
        """Queue what becomes of a node at its first turn, in a lazy search."""
        self.push(bound, number, node)

    # ---- the loop ----------------------------------------------------------------------------

    @property
    def done(self) -> bool:
        """Whether the least cost, or that it is at least the limit, is proven."""
        return self.goal is not None or self.least >= self.limit

    def begin(self, state: State, cost: Cost, label: Label) -> None:
        """Queue where the search begins."""
        self.reach(cost, state, label, None)
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
        with no_collection():  # Nodes form no cycles.
            self._run(clock, self.states + most_states, self.turns + most_turns, most_pushes)

    def _run(
        self, clock: Clock | None, most_states: int, most_turns: int, most_pushes: int
    ) -> None:
        heap, limit, look = self._heap, self.limit, self.turns_a_look
        late, alone = self._late, not (self._late or self._early)
        reached, expanded, alike = self.reached, self.expanded, self.alike
        expand, reach = self.expand, self.reach
        others: list[Any] = []
        while heap and self.goal is None and self.least < limit:
            if self.turns >= most_turns or self.pushes > most_pushes:
                return
            bound, _, number, refined, node = heappop(heap)
            state, cost = node[0], node[1]
            self.turns += 1
            if bound > self.least:
                self.least = bound
            if late and refined:
                others = expanded.get(alike(state)) or []
            if not refined:
                self.refine(bound, number, node)
            elif not (
                (late and others and self.is_dominated(state, cost, others))
                or (alone and reached[state] < cost)
            ):
                if self.is_goal(state):
                    self.goal = node
                    return
                if self.states >= most_states:
                    self.push(bound, number, node)
                    return
                self.states += 1
                if late:
                    if not others:
                        expanded[alike(state)] = others
                    others.append(self.entry(state, cost))
                try:
                    for paid, after, label in expand(node, clock):
                        reach(paid, after, label, node)
                except TimeOver:
                    # It is still to be expanded; what was queued of it is no worse.
                    if late:
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
        self, cost: Cost, state: State, label: Label, parent: SearchNode[State, Cost, Label] | None
    ) -> None:
        """Queue a state, unless it was reached for no more, or is too expensive.

        What a lazy search queues at no more than what is proven is refined at once: of all such
        states the one furthest ahead comes next.
        """
        if not self._early:  # Else it is compared with itself, too.
            reached = self.reached
            count = len(reached)
            before = reached.setdefault(state, cost)  # States are large: hashed once.
            if len(reached) == count:
                if before <= cost:
                    return
                reached[state] = cost
        left = self.bound(state)
        if left is None:
            return
        bound = cost + left
        if bound < self.least and self._pathmax:
            bound = self.least
        if bound >= self.limit:
            return
        if self._early:
            others = self.expanded.setdefault(self.alike(state), [])
            if self.is_dominated(state, cost, others):
                return
            others.append(self.entry(state, cost))
        self.pushes += 1
        node = (state, cost, label, parent)
        if self._lazy and bound <= self.least:
            self.refine(bound, self.pushes, node)
        else:
            turn = (bound, self.rank(state), self.pushes, not self._lazy, node)
            heappush(self._heap, turn)

    def push(
        self,
        bound: Cost,
        number: int,
        node: SearchNode[State, Cost, Label],
        *,
        refined: bool = True,
    ) -> None:
        """Queue a node with its bound, in the turn of its number, if it is below the limit."""
        if bound < self.limit:
            heappush(self._heap, (bound, self.rank(node[0]), number, refined, node))

    def path(self) -> list[SearchNode[State, Cost, Label]]:
        """The nodes from the beginning to the end of least cost."""
        nodes: list[SearchNode[State, Cost, Label]] = []
        node = self.goal
        while node is not None:
            nodes.append(node)
            node = node[3]
        return nodes[::-1]
