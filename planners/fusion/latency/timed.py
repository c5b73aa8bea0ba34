"""Chains of groups with addresses, as programs, and the seconds that the scoreboard says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil

from planners.core.caches import RecentObjects
from planners.core.graph import Graph
from planners.core.loops import held
from planners.core.machine import Machine
from planners.core.program import Program
from planners.core.program_size import EACH_S
from planners.fusion.cost.group import GroupModel
from planners.fusion.emit.laid import LaidGroup
from planners.fusion.emit.layout import Arranger, GroupLayout
from planners.fusion.emit.program import emit
from planners.fusion.latency.chains import Link
from planners.fusion.latency.ways import TimedWays
from planners.fusion.search.bounded import GROUP_RULES
from planners.fusion.search.exact import PartitionRequest, PartitionSearch
from planners.simulator.engine_assignment import by_directions
from planners.simulator.simulate import makespan_s

# ---- Groups at the two ends of the memory by turns
# One's first bytes lie free of the other. Kept parameters lie outermost, in the order in which they
# are used: they can be there before the group begins, where the group before it leaves their bytes
# alone.


def at_an_end(
    arranger: Arranger, layout: GroupLayout, budget_bytes: int, *, high: bool
) -> GroupLayout:
    """The layout with its kept parameters outermost at the low or the high end of the memory."""
    at = 0

    def place(size: int) -> int:
        nonlocal at
        at += size
        return budget_bytes - at if high else at - size

    kept = {i: place(arranger.kept_bytes(i)) for i in layout.kept}
    size = tile_bytes(arranger, layout)
    tiles = tuple([place(size) for _ in layout.tiles])
    moved = {t: replace(r, base=place(r.size_bytes)) for t, r in layout.rings.items()}
    return replace(layout, rings=moved, kept=kept, tiles=tiles)


def may_be_early(before: LaidGroup, laid: LaidGroup) -> tuple[int, ...]:
    """Members whose kept parameters can come while the group before runs: what that one reads is in
    another place, and cannot be in two."""
    there = {name for member in before.group.members for name in member.op.parameters}
    members = laid.group.members
    return tuple(i for i in laid.plan.kept if there.isdisjoint(members[i].op.parameters))


def tile_bytes(arranger: Arranger, layout: GroupLayout) -> int:
    """Bytes of each of the tiles for refilled parameters."""
    used = sum(ring.size_bytes for ring in layout.rings.values())
    used += sum(arranger.kept_bytes(i) for i in layout.kept)
    return (layout.size_bytes - used) // max(1, len(layout.tiles))


# --------------------------------------------------------------------------------------------------

MOST_KEPT = 50_000
"""Items of a program that is held: the best of a few searches stay, and each takes a thousand
bytes an item. Longer ones are written anew where they are read."""


@dataclass(frozen=True)
class TimedGroups:
    """Groups with addresses, their program and its makespan in seconds."""

    laid: tuple[LaidGroup, ...]
    program: Program
    seconds: float


def timed_plan(
    graph: Graph, machine: Machine, laid: Sequence[LaidGroup], budget_bytes: int
) -> TimedGroups:
    """The program of groups with addresses, timed.

    It is held, with its engines, as it will be in the plan: what is found of it here is known when
    the plan is checked and simulated.
    """
    program = held(by_directions(emit(graph, machine, laid, budget_bytes)), MOST_KEPT)
    return TimedGroups(tuple(laid), program, makespan_s(graph, program, machine))


def laid_at_ends(ways: TimedWays, links: Sequence[Link]) -> list[LaidGroup]:
    """The groups of a chain at the two ends of the memory by turns."""
    done: list[LaidGroup] = []
    for number, link in enumerate(links):
        laid = ways.laid(f"g{number}", link.mask, link.way)
        high = bool(number % 2)
        layout = at_an_end(laid.arranger, laid.layout, ways.budget_bytes, high=high)
        laid = replace(laid, layout=layout)
        if link.early and number:
            at = early_at(links[number - 1], link.way.pace.early_s)
            laid = replace(laid, early=may_be_early(done[-1], laid), early_at=at)
        done.append(laid)
    return done


def early_at(before: Link, early_s: float) -> int:
    """The step of a group after whose loads those of so many seconds come: the last one that
    leaves them time enough; the very last where there is none."""
    pace, steps = before.way.pace, before.way.plan.strips
    idle_s = pace.alone_s - pace.in_s
    if idle_s <= early_s:
        return steps - 1
    return max(0, steps - 1 - ceil(steps * early_s / idle_s))


# ---- What earlier searches of the same problem found: a longer one goes on from there ------------


@dataclass
class KnownGroups:
    """Of what was asked: timed ways of groups, the seconds that each instruction of a plan takes to
    be written and timed, the search for the partition of least traffic, and the quickest plan."""

    asked: tuple[GroupModel, int, bool]
    ways: TimedWays
    each_s: float
    partitions: PartitionSearch
    best: TimedGroups | None = None


_recent = RecentObjects[KnownGroups](6)


def known_groups(model: GroupModel, budget_bytes: int, double_buffer: bool) -> KnownGroups:
    """What is known of this very model in a budget; of the last few problems only."""
    key = (model, budget_bytes, double_buffer)
    return _recent.get(
        lambda known: known.asked == key,
        lambda: KnownGroups(key, TimedWays(*key), EACH_S, least_traffic(model, budget_bytes)),
    )


def least_traffic(model: GroupModel, budget_bytes: int) -> PartitionSearch:
    """The search for the partition of least traffic, which can be gone on with."""
    budgets = (budget_bytes,)
    return PartitionSearch(
        PartitionRequest(model, model.graph, budgets, None, None, None, GROUP_RULES)
    )


def known_in_less(known: KnownGroups) -> list[tuple[LaidGroup, ...]]:
    """The quickest plans found for smaller budgets, otherwise the same: these fit too."""
    model, budget_bytes, double_buffer = known.asked
    groups_in_less = []
    for other in _recent:
        its_model, its_bytes, its_buffer = other.asked
        same = its_model is model and its_buffer == double_buffer
        if same and other.best is not None and its_bytes < budget_bytes:
            groups_in_less.append(other.best.laid)
    return groups_in_less
