"""Partition and residency together: the shortest path over what has run and what is on chip.

A* over states (downset, tensors on chip, those of them that are off chip as well). A step runs a
group with all on chip that may be; where it does not fit so, or moves less with more room, some of
that makes room, in minimal sets. Steps wait with a bound on their cost, and the model costs a
group with some tensors held only once such a step has its turn. A state is ruled out by one with
the same operators run that can be turned into it for no more than it costs more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from planners.core.best_first import BestFirstSearch, SearchNode
from planners.core.masks import bits
from planners.core.progress import Clock
from planners.fusion.joint.space import GroupSpace, GroupState, Leg, within

# So many tensors are tried to make room, one after the other, where the search is narrow.
FEW = 2


@dataclass(frozen=True, slots=True)
class GroupRoute:
    """Groups in the order that they run, with what is held around each, and all their traffic."""

    legs: tuple[Leg, ...]
    cost_bytes: int


class _GroupStep(NamedTuple):
    """A group from a state: of `there`, which may be on chip, `out` makes room; `done` runs then.

    `more` are further tensors that may join `out`; those that are `cheaper` out come first, for
    they may join where there is room. What else joins has its turn only where there is none.
    Where it is `asked`, it may fit, and the model is asked what it costs.
    """

    done: int
    state: GroupState
    group: int
    there: int
    out: int
    more: tuple[int, ...]
    cheaper: int
    asked: bool


_Node: TypeAlias = SearchNode[GroupState | _GroupStep, int, Leg | None]


class JointSearch(BestFirstSearch[GroupState | _GroupStep, int, Leg | None]):
    """The least cost below `limit` bytes of running everything, and a bound on it meanwhile.

    Steps are queued to be refined: a step has a turn for whether it may fit, and one for what it
    costs. With a `width`, so many states for each downset are looked at, and of what could make
    room what is read last: quick, and no proof.
    """

    compared = "expanded"

    def __init__(self, space: GroupSpace, limit: int, width: int = 0) -> None:
        super().__init__(limit, 0)
        self.space, self.width = space, width
        self._left: dict[tuple[int, int], int | None] = {}
        self.begin(GroupState(0, 0, 0), 0, None)

    def route(self) -> GroupRoute | None:
        """The legs of least cost, where some below the limit were found."""
        if self.goal is None:
            return None
        legs = tuple(node[2] for node in self.path() if node[2] is not None)
        return GroupRoute(legs, self.goal[1])

    # ---- bounds ----------------------------------------------------------------------------

    def bound(self, state: GroupState | _GroupStep) -> int | None:
        assert isinstance(state, GroupState)
        return self.left(state)

    def left(self, state: GroupState) -> int | None:
        """A bound on what is to be paid from a state; None where it cannot end."""
        key = (state.done, state.resident)
        if key not in self._left:
            self._left[key] = self._find_left(state)
        return self._left[key]

    def _find_left(self, state: GroupState) -> int | None:
        space = self.space
        paid, prepaid = space.remaining
        if state.done not in paid:
            return None
        if not space.rules.first_loads:
            return paid[state.done]
        absent = space.live[state.done] & ~state.resident
        loads = sum(space.first_load(k, state.done) for k in bits(absent))
        return max(paid[state.done], prepaid[state.done] + loads)

    # ---- states ----------------------------------------------------------------------------

    def is_goal(self, state: GroupState | _GroupStep) -> bool:
        return state.done == self.space.everything

    def expand(
        self, node: _Node, clock: Clock | None
    ) -> Iterator[tuple[int, GroupState | _GroupStep, Leg | None]]:
        """Queue all groups that can run next: what follows is reached by their last turns."""
        state, cost, _, _ = node
        space = self.space
        assert isinstance(state, GroupState)
        for group in space.onward[state.done]:
            order, cheaper = space.candidates(state, group, last_first=self.width > 0)
            there, out = sum(order), 0
            if space.keep or space.spill:
                stay, out = space.settled(state, group)
                order = tuple(tensor for tensor in order if not tensor & (stay | out))
            done = state.done | group
            step = _GroupStep(done, state, group, there, out, order, cheaper, False)
            self._wait(step, cost, node)
        return iter(())

    def _wait(self, step: _GroupStep, cost: int, parent: _Node | None) -> None:
        """Queue a step with a bound on it and on all with more tensors out."""
        space = self.space
        inner = space.low(step.group)
        left = self.left(space.after(step.state, step.group, step.there, step.out))
        if inner is None or left is None:
            return
        terms = space.terms(step.state, step.group, step.there, step.out)
        bound = cost + terms.bytes + inner + left
        if step.cheaper:
            around = space.costs.around(step.group)
            gains = bits(step.cheaper & sum(step.more))
            bound -= sum(space.tensors.size[k] - around.touched[k] for k in gains)
        self._queue(bound, step, cost, parent)

    def _queue(self, bound: int, step: _GroupStep, cost: int, parent: _Node | None) -> None:
        self.pushes += 1
        bound = max(self.least, bound)
        self.push(bound, self.pushes, (step, cost, None, parent), refined=False)

    def refine(self, bound: int, number: int, node: _Node) -> None:
        """Check whether a step may fit, then cost it with the model, then reach where it leads."""
        step, cost, _, parent = node
        space = self.space
        assert isinstance(step, _GroupStep)
        least = space.inner(step.group, space.budget)
        if least is None:
            return
        terms = space.terms(step.state, step.group, step.there, step.out)
        after = space.after(step.state, step.group, step.there, step.out)
        inner = space.inner(step.group, terms.room)
        if not step.asked:
            self._branch(step, step.cheaper, cost, parent)
            if inner is not None:
                left = self.left(after)
                assert left is not None
                bound = cost + terms.bytes + inner + left
                self._queue(bound, _GroupStep(*step[:-1], asked=True), cost, parent)
            if inner != least or not space.rules.room_where_needed:
                self._branch(step, ~step.cheaper, cost, parent)
            return
        traffic = within(space.costs.steps(step.group, terms.held), terms.room)
        if traffic is not None:
            leg = Leg(step.group, terms.held, step.state.resident & step.out)
            self.reach(cost + terms.apart + traffic, after, leg, parent)
        enough = traffic is not None and terms.apart + traffic == terms.bytes + least
        if inner == least and not enough and space.rules.room_where_needed:
            self._branch(step, ~step.cheaper, cost, parent)

    def _branch(self, step: _GroupStep, among: int, cost: int, parent: _Node | None) -> None:
        """Let one more tensor make room."""
        joins = [i for i, tensor in enumerate(step.more) if tensor & among]
        for i in joins[:FEW] if self.width else joins:
            tensor = step.more[i]
            out, more = step.out | tensor, step.more[i + 1 :]
            less = _GroupStep(*step[:4], out, more, step.cheaper, asked=False)
            self._wait(less, cost, parent)

    def entry(self, state: GroupState | _GroupStep, cost: int) -> tuple[int, int, int]:
        assert isinstance(state, GroupState)
        return cost, state.resident, state.clean

    def is_dominated(
        self, state: GroupState | _GroupStep, cost: int, others: list[tuple[int, int, int]]
    ) -> bool:
        """Whether another state with the same operators run can stand for this one.

        It has to load what is on chip here only, and to store what is off chip here only. Where
        the search is narrow, enough others do.
        """
        if self.width and len(others) >= self.width:
            return True
        assert isinstance(state, GroupState)
        live, bytes_of = self.space.live[state.done], self.space.tensors.bytes
        stored = live & ~state.resident | state.clean
        for paid, resident, clean in others if self.space.rules.stand_in else ():
            if paid <= cost:
                extra = paid + bytes_of(state.resident & ~resident)
                if extra <= cost:
                    missing = stored & ~(live & ~resident | clean)
                    if extra + bytes_of(missing) <= cost:
                        return True
        return False
