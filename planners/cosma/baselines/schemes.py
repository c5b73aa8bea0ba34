"""The schemes that plans are compared to, by name; and the paper's own two, which work online.

Belady and greedy replacement over TFLite's linear arena, in execution order (V-A2).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Literal

from planners.allocation import Block, LinearArena
from planners.core.integers import rounded_up
from planners.core.progress import Clock
from planners.cosma.baselines.offline import replace_offline
from planners.cosma.model.problem import ScheduleProblem, TensorLine, TensorStay

Policy = Literal["belady", "greedy"]


def replace_by(
    scheme: str, problem: ScheduleProblem, alignment: int, clock: Clock
) -> tuple[dict[TensorStay, int], str]:
    """Addresses of all stays by one of `planners.cosma.options.SCHEMES`, and what made them."""
    match scheme:
        case "belady" | "greedy":
            return replace_online(problem, scheme, alignment), f"{scheme}, linear arena"
        case "size_ordered" | "hill_climb":
            stays = replace_offline(problem, scheme, alignment, clock)
            return stays, f"{scheme}, offline arena"
    raise ValueError(scheme)


def replace_online(
    problem: ScheduleProblem, policy: Policy, alignment: int = 64
) -> dict[TensorStay, int]:
    """Addresses of all stays that the policy makes; any budget of at least MR is enough.

    Where only the tensors of a step obstruct each other, a few of them are moved, at the cost of a
    store and a load; where the alignment leaves no room, it is given up for that.
    """
    sim = _Online(problem, policy, alignment)
    for step in range(len(problem.schedule)):
        sim.step(step)
    return sim.stays


class _Online:
    def __init__(self, problem: ScheduleProblem, policy: Policy, alignment: int) -> None:
        self.problem, self.policy = problem, policy
        self.arena = LinearArena(problem.budget_bytes, alignment)
        self.stays: dict[TensorStay, int] = {}
        self.since: dict[int, int] = {}
        self.written: set[int] = set()
        self.used: list[list[int]] = [[] for _ in problem.schedule]
        for i, line in enumerate(problem.lines):
            for step in line.uses:
                self.used[step].append(i)

    def step(self, step: int) -> None:
        """Make the step's tensors resident, inputs first; then let the dead leave."""
        pinned = frozenset(self.used[step])
        for i in sorted(pinned - self.since.keys(), key=lambda i: self._is_made(i, step)):
            while self.arena.allocate(str(i), self._line(i).size_bytes) is None:
                victims = self._victims(pinned, self._line(i).size_bytes, step)
                if not victims:
                    self._rearrange(pinned, i, step)
                    break
                for victim in victims:
                    self._leave(victim, step - 1)
            self.since[i] = step
        for i in pinned:
            if self._line(i).uses[-1] == step:
                self._leave(i, step)

    def _line(self, i: int) -> TensorLine:
        return self.problem.lines[i]

    def _is_made(self, i: int, step: int) -> bool:
        return self._line(i).produced and self._line(i).uses[0] == step

    def _leave(self, i: int, last: int) -> None:
        """End a stay after step `last`: unless it is dead, it has a host copy from then on."""
        self.stays[TensorStay(i, self.since.pop(i), last)] = self.arena.free(str(i)).offset
        if last < self._line(i).uses[-1]:
            self.written.add(i)

    def _cost(self, i: int) -> int:
        size = self._line(i).size_bytes
        return size if self._line(i).host_copy or i in self.written else 2 * size

    def _victims(self, pinned: frozenset[int], size: int, step: int) -> list[int]:
        movable = [i for i in self.since if i not in pinned]
        if not movable:
            return []
        if self.policy == "belady":
            return [max(movable, key=lambda i: self._next_use(i, step))]
        return self._cheapest_window(pinned, size) or movable

    def _next_use(self, i: int, step: int) -> int:
        uses = self._line(i).uses
        return uses[bisect_right(uses, step)]

    def _cheapest_window(self, pinned: frozenset[int], size: int) -> list[int]:
        """Neighbouring blocks, none pinned, whose eviction makes room for the least traffic."""
        blocks = self.arena.blocks
        best: tuple[int, list[int]] | None = None
        for first in range(len(blocks)):
            low = blocks[first - 1].end if first else 0
            low = rounded_up(low, self.arena.alignment)
            chosen: list[int] = []
            for at in range(first, len(blocks)):
                if int(blocks[at].id) in pinned:
                    break
                chosen.append(int(blocks[at].id))
                last = at + 1 == len(blocks)
                high = self.arena.capacity_bytes if last else blocks[at + 1].offset
                cost = sum(map(self._cost, chosen))
                if high - low >= size and (best is None or cost < best[0]):
                    best = (cost, list(chosen))
        return best[1] if best else []

    def _rearrange(self, pinned: frozenset[int], new: int, step: int) -> None:
        """Only pinned blocks are left: move the cheapest few of them so that `new` fits."""
        fixed = {int(block.id): block for block in self.arena.blocks}
        order = sorted(fixed, key=lambda i: 0 if self.since[i] == step else self._cost(i))
        for alignment in (self.arena.alignment, 1):
            for moved in _cheap_sets(order):
                if placed := self._packed(fixed, moved, new, alignment):
                    self._apply(placed, moved, step)
                    return
        raise AssertionError("a step of at most the budget fits at alignment 1")

    def _packed(
        self, fixed: dict[int, Block], moved: tuple[int, ...], new: int, alignment: int
    ) -> LinearArena | None:
        trial = LinearArena(self.arena.capacity_bytes, alignment)
        for i, block in fixed.items():
            if i not in moved:
                trial.place(block.id, block.offset, block.size_bytes)
        for i in sorted((new, *moved), key=lambda i: -self._line(i).size_bytes):
            if trial.allocate(str(i), self._line(i).size_bytes) is None:
                return None
        return trial

    def _apply(self, placed: LinearArena, moved: tuple[int, ...], step: int) -> None:
        for i in moved:
            if self.since[i] < step:
                self._leave(i, step - 1)
                self.since[i] = step
        self.arena.blocks = placed.blocks


def _cheap_sets(order: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Singles, pairs, then prefixes of growing length: trying all sets would be exponential."""
    for count in (1, 2):
        yield from combinations(order, count)
    for count in range(3, len(order) + 1):
        yield tuple(order[:count])
