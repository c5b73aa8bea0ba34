"""Of things that weigh something, the heaviest that are all in conflict with each other.

Branch and bound (Tomita and others' colouring, with weights). What is found when the time ends is a
clique too, so that it bounds from below whatever needs a place for each of its members.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from planners.core.progress import Clock

Node = tuple[tuple[int, ...], int, Iterator[tuple[int, int, int]]]
"""A clique, its weight, and what may be added: a member, those left with it, what it may bring."""


@dataclass(frozen=True, slots=True)
class CliqueRules:
    """Of the search for the heaviest clique."""

    colours: bool = True
    """Of candidates that are split into sets without a conflict a clique has at most one of each
    set. Without it, it may have them all."""


CLIQUE_RULES = CliqueRules()


def heaviest_clique(
    weights: Sequence[int],
    conflicts: Sequence[set[int]],
    clock: Clock,
    rules: CliqueRules = CLIQUE_RULES,
) -> list[int]:
    """The members, by their places in `weights`; `conflicts` has those of each."""
    order = sorted(range(len(weights)), key=lambda i: -weights[i])
    place = {member: at for at, member in enumerate(order)}
    heavy = [weights[member] for member in order]
    near = [sum(1 << place[other] for other in conflicts[member]) for member in order]
    best: tuple[int, ...] = ()
    most = 0
    stack: list[Node] = [((), 0, _branches((1 << len(order)) - 1, heavy, near, rules))]
    while stack and not clock.expired():
        clique, weight, branches = stack[-1]
        branch = next(branches, None)
        if branch is None or weight + branch[2] <= most:
            stack.pop()
            continue
        member, left, _ = branch
        clique, weight = (*clique, member), weight + heavy[member]
        if weight > most:
            best, most = clique, weight
        stack.append((clique, weight, _branches(left, heavy, near, rules)))
    return [order[at] for at in best]


def _branches(
    candidates: int, heavy: Sequence[int], near: Sequence[int], rules: CliqueRules
) -> Iterator[tuple[int, int, int]]:
    """Each candidate with those before it that are in conflict with it, what may bring most first.

    The third number is what it and those before it bring at most: the weights of the heaviest of
    each set without a conflict.
    """
    coloured: list[tuple[int, int]] = []
    left, bound = candidates, 0
    while left:
        free, first = left, True
        while free:
            at = (free & -free).bit_length() - 1  # the heaviest
            bound += heavy[at] if first else 0
            first = not rules.colours
            coloured.append((at, bound))
            left ^= 1 << at
            free &= ~near[at] & left
    while coloured:
        at, bound = coloured.pop()
        candidates ^= 1 << at
        yield at, candidates & near[at], bound
