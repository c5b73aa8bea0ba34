"""Addresses for groups and what stays on chip between them.

What is held has one place as long as it stays, and each group a place for its buffers while it
runs. They are packed with the least buffers; then each group takes all that is free around its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from planners.allocation import Lifetime
from planners.allocation.portfolio import LONG_WORK, pack
from planners.core.masks import bits
from planners.core.progress import Clock
from planners.fusion.cost.group import GroupModel
from planners.fusion.emit.coarser import PlacedGroup
from planners.fusion.emit.laid import LaidGroup
from planners.fusion.emit.layout import Arranger
from planners.fusion.emit.residents import FoundOnChip
from planners.fusion.joint.resident_cost import HeldCosts
from planners.fusion.joint.space import Leg
from planners.fusion.tile.ways import GroupPlan


@dataclass(frozen=True, slots=True)
class RouteStep:
    """A group of a route and the tensors around it as masks: what comes, stays and goes."""

    leg: Leg
    stored: int
    dropped: int
    loaded: int
    there: int  # on chip while the group runs
    over: int


def turns(costs: HeldCosts, legs: Sequence[Leg]) -> list[RouteStep]:
    """What a route does with tensors, group by group."""
    done = resident = clean = 0
    steps = []
    for leg in legs:
        reads = costs.around(leg.group).reads
        done |= leg.group
        loaded = leg.held & reads & ~resident
        there = resident & ~leg.gone | leg.held
        stored, dropped = leg.gone & ~clean, leg.gone & clean
        clean |= reads & ~resident | costs.tensors.host
        resident = there & costs.tensors.live(done)
        clean &= resident
        steps.append(RouteStep(leg, stored, dropped, loaded, there, there & ~resident))
    return steps


def lay_out_jointly(
    model: GroupModel,
    costs: HeldCosts,
    legs: Sequence[Leg],
    budget_bytes: int,
    clock: Clock,
    *,
    double_buffer: bool = True,
) -> tuple[PlacedGroup, ...] | None:
    """The groups of a route with their ways and addresses; None where none were found."""
    steps = turns(costs, legs)
    ways = [_least(model, costs, turn, budget_bytes) for turn in steps]
    stays = list(_stays(steps))
    size = costs.tensors.size
    lifetimes = [Lifetime(f"{k} {first}", first, last, size[k]) for k, first, last in stays]
    lifetimes += [Lifetime(f"g{n}", n, n + 1, way.buffer_bytes) for n, way in enumerate(ways)]
    packing = pack(lifetimes, budget_bytes, explain=False, clock=clock.work(LONG_WORK))
    if packing.status != "packed":
        return None
    places: list[dict[int, int]] = [{} for _ in steps]
    for k, first, last in stays:
        for n in range(first, last):
            places[n][k] = packing.offsets[f"{k} {first}"]
    placed = []
    for n, (turn, at) in enumerate(zip(steps, places, strict=True)):
        around = [(base, base + size[k]) for k, base in at.items()]
        hole = _hole(around, packing.offsets[f"g{n}"], budget_bytes)
        laid = _laid(model, costs, (n, turn, at), hole, double_buffer)
        placed.append(PlacedGroup(laid, turn.leg.group, *hole))
    return tuple(placed)


def _least(model: GroupModel, costs: HeldCosts, turn: RouteStep, budget_bytes: int) -> GroupPlan:
    """The way of least buffer of those that move least in the room that there is."""
    room = budget_bytes - costs.tensors.bytes(turn.there)
    way = model.best(turn.leg.group, room, frozenset(costs.tensors.named(turn.leg.held)))
    assert way is not None, "the search had a way in this room"
    return way


def _stays(steps: Sequence[RouteStep]) -> Iterator[tuple[int, int, int]]:
    """Each tensor's stays on chip: the first group with it there, and the first without."""
    since: dict[int, int] = {}
    for n, turn in enumerate(steps):
        for k in bits(turn.stored | turn.dropped):
            yield k, since.pop(k), n
        for k in bits(turn.there):
            since.setdefault(k, n)
        for k in bits(turn.over):
            yield k, since.pop(k), n + 1


def _hole(around: list[tuple[int, int]], at: int, budget_bytes: int) -> tuple[int, int]:
    """The free bytes around an address, between the places of tensors."""
    low = max((stop for _, stop in around if stop <= at), default=0)
    return low, min((start for start, _ in around if start >= at), default=budget_bytes)


def _laid(
    model: GroupModel,
    costs: HeldCosts,
    step: tuple[int, RouteStep, dict[int, int]],
    hole: tuple[int, int],
    double_buffer: bool,
) -> LaidGroup:
    """A group in all of the room that its place has."""
    number, turn, at = step
    tensors, room = costs.tensors, hole[1] - hole[0]
    held_tensors = tensors.named(turn.leg.held)
    way = model.roomiest(turn.leg.group, room, frozenset(held_tensors))
    assert way is not None, "the least way was packed there"
    group = model.group(turn.leg.group)
    arranger = Arranger(model.graph, group, way, held_tensors)
    layout = arranger.arrange(room, double_buffer).moved(hole[0])
    stays = FoundOnChip(
        at={tensors.names[k]: at[k] for k in bits(turn.leg.held)},
        stored=tensors.named(turn.stored),
        dropped=tensors.named(turn.dropped),
        loaded=tensors.named(turn.loaded),
        over=tensors.named(turn.over),
    )
    return LaidGroup(f"g{number}", group, way, layout, arranger, stays)
