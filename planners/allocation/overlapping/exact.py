"""The least pool for blocks of which some may overlap, by CP-SAT: which of two begins first."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from math import ceil, inf
from typing import Any

from planners.allocation.cp_sat import available, can_begin, solve_within
from planners.allocation.overlapping.model import Places, PoolProblem
from planners.core.progress import Clock

MOST_PAIRS = 4000
WORKERS = 2
LINEAR_WORK = 4096  # looks at a clock, where addresses do not go round: some seconds


def improve(
    part: PoolProblem, least: int, pool: int, places: Places, clock: Clock
) -> tuple[int, Places, int]:
    """A circular pool smaller than that known and places in it, or those known; and a bound.

    It ends with the first pool of `least` bytes. OR-Tools is not available beside highspy.
    """
    if len(part.pairs) > MOST_PAIRS or not can_begin(clock):
        return pool, places, part.floor
    least = max(least, part.floor)
    size, placed, bound = _solved(part, least, pool, places, clock, circular=True)
    # The search begins at `least`, so a bound of `least` is no proof.
    return size, placed, bound if bound > least else part.floor


def least_extent(part: PoolProblem, extent: int, places: Places) -> tuple[int, Places, int]:
    """The same for addresses that do not go round: places up to the least extent."""
    if not available():
        return extent, places, part.floor
    return _solved(part, part.floor, extent, places, Clock(inf).work(LINEAR_WORK), circular=False)


def _solved(
    part: PoolProblem, least: int, most: int, places: Places, clock: Clock, *, circular: bool
) -> tuple[int, Places, int]:
    """The least size from `least` to `most`, places in it, and the bound that the solver proved."""
    from ortools.sat.python import cp_model  # slow to import, and never with highspy loaded

    unit = part.unit
    model = cp_model.CpModel()
    size, offsets = _build(model, part, least // unit, most // unit, circular)
    for offset, place in zip(offsets, places, strict=True):
        model.add_hint(offset, place // unit)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = WORKERS if circular else 1
    if solve_within(solver, model, clock) not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return most, places, part.floor
    placed = tuple(int(solver.value(offset)) * unit for offset in offsets)
    proven = ceil(solver.best_objective_bound - 1e-6) * unit
    return int(solver.value(size)) * unit, placed, proven


def _build(
    model: Any, part: PoolProblem, least: int, most: int, circular: bool
) -> tuple[Any, list[Any]]:
    """The size of the pool and all places, in units; each pair's gaps, whichever begins first."""
    unit = part.unit
    size = model.new_int_var(least, max(least, most), "")
    offsets = [model.new_int_var(0, max(0, most - 1), "") for _ in part.blocks]
    for offset, block in zip(offsets, part.blocks, strict=True):
        model.add(offset < size if circular else offset + block.size // unit <= size)
    if circular:  # It may be turned round: the largest block lies at its beginning.
        largest = max(range(len(offsets)), key=lambda i: part.blocks[i].size)
        model.add(offsets[largest] == 0)
    for a, b, ab, ba in part.pairs:
        front = model.new_bool_var("")
        ahead = offsets[b] - offsets[a]
        model.add(ahead >= ab // unit).only_enforce_if(front)
        model.add(-ahead >= ba // unit).only_enforce_if(~front)
        if circular:
            model.add(ahead <= size - ba // unit).only_enforce_if(front)
            model.add(-ahead <= size - ab // unit).only_enforce_if(~front)
    model.minimize(size)
    return size, offsets


# ---- Offsets from the lowest address on, exactly, for the few blocks of a few kernels ------------
# Orders of placing are tried until a bound is met, then a solver decides.

MOST_ORDERS = 240


@dataclass(frozen=True, slots=True)
class Packed:
    """Offsets from the lowest address, by name, the bytes in all, and a bound on them."""

    offsets: Mapping[str, int]
    size_bytes: int
    bound_bytes: int


def pack_overlapping(
    part: PoolProblem, most_bytes: int | None = None, enough: int = 0, exact: bool = True
) -> Packed | None:
    """The least bytes for all, or the first found that are `enough`.

    None where more than `most_bytes` are needed. Without `exact` no solver is used.
    """
    bound = part.floor
    if most_bytes is not None and bound > most_bytes:
        return None
    size, places = -1, tuple[int, ...]()
    for order in _orders(part):
        extent, placed = part.lowest(order)
        if size < 0 or extent < size:
            size, places = extent, placed
        if size <= max(bound, enough):
            break
    if exact and size > max(bound, enough):
        size, places, bound = least_extent(part, size, places)
    if most_bytes is not None and size > most_bytes:
        return None
    return Packed(part.named(places), size, bound)


def _orders(part: PoolProblem) -> Iterator[Sequence[int]]:
    """Orders to place in: all where there are few, else those by size and time and random ones."""
    blocks = part.blocks
    every = range(len(blocks))
    if len(blocks) <= 5:
        yield from permutations(every)
        return
    yield sorted(every, key=lambda i: (-blocks[i].size, blocks[i].first))
    yield sorted(every, key=lambda i: (blocks[i].first - blocks[i].last, -blocks[i].size))
    yield sorted(every, key=lambda i: (-blocks[i].first, -blocks[i].size))
    yield every
    rng = random.Random(len(blocks))
    for _ in range(MOST_ORDERS):
        yield rng.sample(every, len(blocks))
