"""Partition and residency together: the shortest path over what has run and what is on chip.

A* over states (downset, tensors on chip, those of them that are off chip as well). A step runs a
group with all on chip that may be; where it does not fit so, or moves less with more room, some of
that makes room, in minimal sets. Steps wait with a bound on their cost, and the model costs a
group with some tensors held only once such a step has its turn. A state is ruled out by one with
the same operators run that can be turned into it for no more than it costs more.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple

from planners.core.masks import bits
from planners.core.progress import Clock
from planners.fusion.joint.space import GroupSpace, GroupState, Leg, within

# The clock is read after so many turns.
BREATH = 64
# So many tensors are tried to make room, one after the other, where the search is narrow.
FEW = 2


@dataclass(frozen=True, slots=True)
class GroupRoute:
    """Groups in the order that they run, with what is held around each, and all their traffic."""

    legs: tuple[Leg, ...]
    cost_bytes: int


class _GroupNode(NamedTuple):
    state: GroupState
    cost: int
    parent: int
    leg: Leg | None


class _Step(NamedTuple):
    """A group from a node: of `there`, which may be on chip, `out` makes room.

    `more` are further tensors that may join `out`; those that are `cheaper` out come first, for
    they may join where there is room. What else joins has its turn only where there is none.
    """

    at: int
    group: int
    there: int
    out: int
    more: tuple[int, ...]
    cheaper: int
    asked: bool


class JointSearch:
    """The least cost below `limit` bytes of running everything, and a bound on it meanwhile.

    With a `width`, so many states for each downset are looked at, and of what could make room
    what is read last: quick, and no proof.
    """

    def __init__(self, space: GroupSpace, limit: int, width: int = 0) -> None:
        self.space, self.limit, self.width = space, limit, width
        self.least = 0  # The proven lower bound.
        self.states = self.turns = 0
        self._nodes: list[_GroupNode] = []
        # Bound, −operators run, turn; then a node or a step.
        self._heap: list[tuple[int, int, int, int | _Step]] = []
        self._turn = count()
        self._seen: dict[GroupState, int] = {}
        self._left: dict[tuple[int, int], int | None] = {}
        self._expanded: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
        self._goal = -1
        self._reach(GroupState(0, 0, 0), 0, -1, None)
        self._conclude()

    @property
    def done(self) -> bool:
        """Whether the least cost, or that it is at least the limit, is proven."""
        return self._goal >= 0 or self.least >= self.limit

    def run(self, clock: Clock, max_turns: int) -> None:
        """Go on for so many turns, or until it is done or the time is over."""
        stop_at = self.turns + max_turns
        while self._heap and not self.done and self.turns < stop_at:
            bound, _, _, item = heapq.heappop(self._heap)
            self.turns += 1
            self.least = max(self.least, bound)
            if isinstance(item, _Step):
                self._take(item)
            elif self._is_wanted(self._nodes[item]):
                if self._nodes[item].state.done == self.space.everything:
                    self._goal = item
                    return
                self._expand(item)
            if self.turns % BREATH == 0 and clock.expired():
                return
        self._conclude()

    def _conclude(self) -> None:
        if not self._heap and self._goal < 0:
            self.least = self.limit

    def route(self) -> GroupRoute | None:
        """The legs of least cost, where some below the limit were found."""
        if self._goal < 0:
            return None
        legs, at = [], self._goal
        while (leg := self._nodes[at].leg) is not None:
            legs.append(leg)
            at = self._nodes[at].parent
        return GroupRoute(tuple(reversed(legs)), self._nodes[self._goal].cost)

    # ---- bounds ----------------------------------------------------------------------------

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
        absent = space.live[state.done] & ~state.resident
        loads = sum(space.first_load(k, state.done) for k in bits(absent))
        return max(paid[state.done], prepaid[state.done] + loads)

    def _push(self, bound: int, done: int, item: int | _Step) -> None:
        if bound < self.limit:
            bound = max(self.least, bound)
            heapq.heappush(self._heap, (bound, -done.bit_count(), next(self._turn), item))

    # ---- states ----------------------------------------------------------------------------

    def _reach(self, state: GroupState, cost: int, parent: int, leg: Leg | None) -> None:
        """Queue a state, unless it is known or too expensive."""
        if self._seen.get(state, cost + 1) <= cost:
            return
        left = self.left(state)
        if left is not None and cost + left < self.limit:
            self._seen[state] = cost
            self._nodes.append(_GroupNode(state, cost, parent, leg))
            self._push(cost + left, state.done, len(self._nodes) - 1)

    def _expand(self, at: int) -> None:
        """Queue all groups that can run next."""
        node = self._nodes[at]
        state = node.state
        self.states += 1
        self._expanded[state.done].append((node.cost, state.resident, state.clean))
        for group in self.space.onward[state.done]:
            order, cheaper = self.space.candidates(state, group, last_first=self.width > 0)
            there, out = sum(order), 0
            if self.space.keep or self.space.spill:
                stay, out = self.space.settled(state, group)
                order = tuple(tensor for tensor in order if not tensor & (stay | out))
            self._wait(_Step(at, group, there, out, order, cheaper, False))

    def _wait(self, step: _Step) -> None:
        """Queue a step with a bound on it and on all with more tensors out."""
        node, space = self._nodes[step.at], self.space
        inner = space.low(step.group)
        left = self.left(space.after(node.state, step.group, step.there, step.out))
        if inner is None or left is None:
            return
        terms = space.terms(node.state, step.group, step.there, step.out)
        bound = node.cost + terms.bytes + inner + left
        if step.cheaper:
            around = space.costs.around(step.group)
            gains = bits(step.cheaper & sum(step.more))
            bound -= sum(space.tensors.size[k] - around.touched[k] for k in gains)
        self._push(bound, node.state.done | step.group, step)

    def _take(self, step: _Step) -> None:
        """Check whether a step may fit, then cost it with the model, then expand it."""
        node, space = self._nodes[step.at], self.space
        least = space.inner(step.group, space.budget)
        if least is None:
            return
        terms = space.terms(node.state, step.group, step.there, step.out)
        after = space.after(node.state, step.group, step.there, step.out)
        inner = space.inner(step.group, terms.room)
        if not step.asked:
            self._branch(step, step.cheaper)
            if inner is not None:
                left = self.left(after)
                assert left is not None
                bound = node.cost + terms.bytes + inner + left
                self._push(bound, after.done, step._replace(asked=True))
            if inner != least:
                self._branch(step, ~step.cheaper)
            return
        traffic = within(space.costs.steps(step.group, terms.held), terms.room)
        if traffic is not None:
            leg = Leg(step.group, terms.held, node.state.resident & step.out)
            self._reach(after, node.cost + terms.apart + traffic, step.at, leg)
        enough = traffic is not None and terms.apart + traffic == terms.bytes + least
        if inner == least and not enough:
            self._branch(step, ~step.cheaper)

    def _branch(self, step: _Step, among: int) -> None:
        """Let one more tensor make room."""
        joins = [i for i, tensor in enumerate(step.more) if tensor & among]
        for i in joins[:FEW] if self.width else joins:
            tensor = step.more[i]
            out, more = step.out | tensor, step.more[i + 1 :]
            self._wait(step._replace(out=out, more=more, asked=False))

    def _is_wanted(self, node: _GroupNode) -> bool:
        if self.width and len(self._expanded[node.state.done]) >= self.width:
            return False
        return not self._is_dominated(node)

    def _is_dominated(self, node: _GroupNode) -> bool:
        """Whether another state with the same operators run can stand for this one.

        It has to load what is on chip here only, and to store what is off chip here only.
        """
        state, cost = node.state, node.cost
        live, bytes_of = self.space.live[state.done], self.space.tensors.bytes
        stored = live & ~state.resident | state.clean
        for paid, resident, clean in self._expanded[state.done]:
            if paid <= cost:
                extra = paid + bytes_of(state.resident & ~resident)
                if extra <= cost:
                    missing = stored & ~(live & ~resident | clean)
                    if extra + bytes_of(missing) <= cost:
                        return True
        return False
