"""What each step of a program runs, reads, writes and moves, counted from its columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

import planners as sp
from planners.core.loops import MOST_INSTRUCTIONS
from planners.core.program import Program
from planners.core.tables.build import table_of
from planners.core.tables.distinct import distinct
from planners.core.tables.table import (
    COMPUTE,
    ENDED,
    LOAD,
    READ,
    STORE,
    WRITE,
    Flags,
    Numbers,
    Table,
)

Sizes = Mapping[str, tuple[tuple[int, int], ...]]
"""By tensor, steps and bytes."""


@dataclass(frozen=True)
class ProgramFacts:
    """What is asked of a whole program, by step or by tensor.

    `by_step` has the positions of each step's instructions, `computes` the first and the last
    compute among them (the step's bounds where it has none), `ran` the operators that it runs, or
    runs a part of. `computing` says of each instruction whether it is a compute. `reads` are the
    steps that read each tensor, `writes` and `releases` step and bytes of each time, `moves` the
    steps in which bytes cross the chip's edge, `crossed` how many of each tensor do, and `stored`
    the step in which some of it first go out.
    """

    by_step: Sequence[range]
    computes: Sequence[tuple[int, int]]
    ran: tuple[tuple[str, ...], ...]
    computing: Flags
    reads: Mapping[str, tuple[int, ...]]
    writes: Sizes
    releases: Sizes
    moves: tuple[int, ...]
    crossed: Mapping[str, int]
    stored: Mapping[str, int]


def facts_of(program: Program) -> ProgramFacts:
    """All of it. Raises `BadInput` for a program of more instructions than are ever drawn."""
    table = table_of(program)
    if table is None:
        raise sp.BadInput(f"programs of more than {MOST_INSTRUCTIONS:,} instructions are not drawn")
    steps = len(program.steps)
    bounds = np.searchsorted(table.step, np.arange(steps + 1))
    by_step = [range(a, b) for a, b in zip(bounds.tolist(), bounds[1:].tolist(), strict=False)]
    computing = table.kind == COMPUTE
    crossing = _crossing(program, table)
    return ProgramFacts(
        by_step=by_step,
        computes=_computes(computing, bounds),
        ran=_ran(table, computing, steps),
        computing=computing,
        reads=_reads(table, computing),
        writes=_sizes(table, np.flatnonzero(table.role == WRITE)),
        releases=_sizes(table, np.flatnonzero(table.role == ENDED)),
        moves=tuple(np.unique(table.step[crossing]).tolist()),
        crossed=_crossed(table, crossing),
        stored=_stored(table, crossing),
    )


def _computes(computing: Flags, bounds: Numbers) -> list[tuple[int, int]]:
    positions = np.flatnonzero(computing)
    if not len(positions):
        positions = bounds[-1:]  # None is in any step.
    low, high = (np.searchsorted(positions, side) for side in (bounds[:-1], bounds[1:]))
    some, filled = high > low, bounds[1:] > bounds[:-1]
    last = len(positions) - 1
    first = np.where(some, positions[np.minimum(low, last)], np.where(filled, bounds[:-1], 0))
    until = np.where(some, positions[np.maximum(high - 1, 0)], np.where(filled, bounds[1:] - 1, 0))
    return list(zip(first.tolist(), until.tolist(), strict=True))


def _ran(table: Table, computing: Flags, steps: int) -> tuple[tuple[str, ...], ...]:
    rows = np.flatnonzero(computing)
    every, which = distinct(table.step[rows], table.operator[rows])
    order = np.argsort(np.unique(which, return_index=True)[1], kind="stable")
    ran: list[list[str]] = [[] for _ in range(steps)]
    for step, operator in every[order].tolist():
        ran[step].append(table.operators[operator])
    return tuple(map(tuple, ran))


def _reads(table: Table, computing: Flags) -> dict[str, tuple[int, ...]]:
    rows = np.flatnonzero(table.role == READ)
    every, which = distinct(table.tensor[rows], table.step[table.instruction[rows]])
    reads: dict[str, list[int]] = {}
    first = np.unique(which, return_index=True)[1]
    for tensor, step in every[np.argsort(first, kind="stable")].tolist():
        reads.setdefault(table.tensors[tensor], []).append(step)
    return {name: tuple(steps) for name, steps in reads.items()}


def _sizes(table: Table, rows: Numbers) -> Sizes:
    """Step and bytes of each of these rows, by tensor in the order of their first."""
    order = np.argsort(table.tensor[rows], kind="stable")
    rows = rows[order]
    tensor = table.tensor[rows]
    begins = np.flatnonzero(np.append(True, tensor[1:] != tensor[:-1])[: len(rows)])
    ends = np.append(begins[1:], len(rows))
    steps, sizes = table.step[table.instruction[rows]].tolist(), table.size[rows].tolist()
    sizes_of = {}
    for at in np.argsort(rows[begins], kind="stable").tolist():
        some = slice(int(begins[at]), int(ends[at]))
        name = table.tensors[tensor[begins[at]]]
        sizes_of[name] = tuple(zip(steps[some], sizes[some], strict=True))
    return sizes_of


def _crossing(program: Program, table: Table) -> Numbers:
    """The transfers whose end that is farther from the compute engine is off chip."""
    offchip = {memory.name for memory in program.memories if memory.offchip}
    away = np.array([*(name in offchip for name in table.memories), False], np.bool_)
    rows = np.flatnonzero((table.kind == LOAD) | (table.kind == STORE))
    far = table.first[:-1][rows] + (table.kind[rows] == STORE)
    crossing_rows: Numbers = rows[away[table.memory[far]]]
    return crossing_rows


def _crossed(table: Table, crossing: Numbers) -> dict[str, int]:
    source = table.first[:-1][crossing]
    total = np.zeros(len(table.tensors), np.int64)
    np.add.at(total, table.tensor[source], table.size[source])
    seen = dict.fromkeys(table.tensor[source].tolist())
    return {table.tensors[at]: int(total[at]) for at in seen}


def _stored(table: Table, crossing: Numbers) -> dict[str, int]:
    out = crossing[table.kind[crossing] == STORE]
    tensors, first = np.unique(table.tensor[table.first[:-1][out]], return_index=True)
    steps = table.step[out[first]].tolist()
    return {table.tensors[at]: step for at, step in zip(tensors.tolist(), steps, strict=True)}
