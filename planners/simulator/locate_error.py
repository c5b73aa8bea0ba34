"""A long program that columns do not say is right: the readable replay, from where it may be wrong.

The beginning of the program of which columns still say that it is right is found by halving, and
by what a look at more of it says; what is then resident and at home is handed to the readable
replay, which says what is wrong, and where.
"""

from __future__ import annotations

import numpy as np

from planners.core.graph import Graph
from planners.core.machine import Machine
from planners.core.program import AddressSpace, Box, Operand, Program, Region
from planners.core.progress import ProgressCallback
from planners.core.tables.boxes import pieces_of
from planners.core.tables.build import table_of
from planners.core.tables.table import TARGET, WRITE, Table
from planners.simulator.columns.pairing import FOREVER
from planners.simulator.columns.replay import Columns, ColumnsReplay
from planners.simulator.columns.undecided import Undecided
from planners.simulator.records.replayed import Replayed
from planners.simulator.state import Unfinished
from planners.simulator.symbolic import Replay

STRETCH = 4000
"""Instructions that are replayed one by one rather than halved."""


def replay_from(
    graph: Graph,
    program: Program,
    progress: ProgressCallback | None,
    machine: Machine | None,
) -> Replay:
    """The readable replay of a program, begun where columns no longer say that it is right."""
    replay = Replay(graph, program, AddressSpace(program.memories), progress, machine)
    table = table_of(program)
    longest = None if table is None else _longest(graph, program, table, machine)
    if longest is not None:
        _hand_over(longest, replay)
    return replay


def _longest(
    graph: Graph, program: Program, table: Table, machine: Machine | None
) -> Replayed | None:
    """What a beginning does that is right and, but for a short stretch, as long as there is one;
    None for none."""
    right, wrong, at, longest = 0, len(table) + 1, len(table), None
    while wrong - right > 1:
        hint = None
        try:
            begun = table.until(at)
            longest = ColumnsReplay(graph, program, begun, machine, begun=True).run()
            right = at
        except Undecided as error:
            hint = error.at
            wrong = at if hint is None else min(at, hint + 1)
        if hint is not None and hint > right:
            at = hint
        elif wrong - right > STRETCH:
            at = (right + wrong) // 2
        else:
            break
    return longest


def _hand_over(found: Replayed, replay: Replay) -> None:
    columns: Columns = found.columns
    table, residencies = columns.operands.table, columns.residencies
    replay.index, replay.step = len(table) - 1, int(table.step[-1])
    for at in np.flatnonzero(residencies.end == FOREVER).tolist():
        _place(columns, at, replay)
    stored = np.flatnonzero((table.role == TARGET) & columns.operands.at_home)
    for row, piece in zip(stored.tolist(), pieces_of(table, stored), strict=True):
        replay.home[table.memories[table.memory[row]], piece.tensor][piece.box] = None
    for piece in pieces_of(table, np.flatnonzero(residencies.last & (table.role == WRITE))):
        replay.written[piece.tensor][piece.box] = None
    for tensor, boxes in found.fetched.items():
        replay.fetched[tensor] = dict.fromkeys(boxes)
    replay.loaded, replay.stored, replay.macs = found.loaded_bytes, found.stored_bytes, found.macs
    replay.extent, replay.occupancy = found.extent_bytes, list(found.occupancy)


def _place(columns: Columns, at: int, replay: Replay) -> None:
    """Have a residency that lasts where it is, with those of its parts that are there."""
    table, residencies, pairing = columns.operands.table, columns.residencies, columns.pairing
    row = int(residencies.place[at])
    (piece,) = pieces_of(table, np.array([row]))
    complete = bool(residencies.complete[at] < FOREVER)
    size = int(columns.operands.own_bytes[row] if complete else residencies.wide[at])
    region = Region(table.memories[table.memory[row]], int(table.offset[row]), size)
    residency = replay.place(Operand(piece, region), None if complete else size)
    if complete:
        return
    adds = np.flatnonzero((residencies.of == at) & (table.role == WRITE))
    parts: list[Box]
    if pairing.summed[row]:
        channels = int(pairing.channels[table.operator[table.instruction[row]]])
        residency.unfinished = Unfinished(((0, channels),), sums=True)
        parts = [((a, b),) for a, b in table.sums[table.instruction[adds]].tolist()]
    else:
        residency.unfinished = Unfinished(piece.box, sums=False)
        parts = [part.box for part in pieces_of(table, pairing.made[adds])]
    for part in parts:
        residency.unfinished.add(part)
