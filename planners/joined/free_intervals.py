"""Which bytes on chip a program holds, and while which of its items: read off its columns.

Items, not instructions: a loop is one, and what it places and ends in any round is held by it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from planners.core.graph import Graph
from planners.core.loops import items_of, size_of
from planners.core.program import Piece, Program
from planners.core.tables.boxes import pieces_of
from planners.core.tables.build import table_of
from planners.core.tables.distinct import distinct
from planners.core.tables.table import ENDED, LOAD, TARGET, WRITE, Numbers
from planners.simulator.columns.operands import Operands


class Occupied(NamedTuple):
    """`taken` [n, 4]: first byte, end, first and last item of what holds bytes on chip, each
    row once. `loaded`: first item, last item and piece of what the program loads of parameters and
    lets go again."""

    taken: Numbers
    loaded: list[tuple[int, int, Piece]]


def occupied(graph: Graph, program: Program, parameters: str) -> Occupied | None:
    """What a program holds whose parameters are at home in a memory; None where it has more
    instructions than columns hold (`table_of`)."""
    table = table_of(program)
    if table is None:
        return None
    sizes = [size_of((item,)) for item in items_of(program)]
    item = np.repeat(np.arange(len(sizes)), sizes)[table.instruction]
    operands = Operands(graph, program, table)
    ends = operands.addressed & ((table.role == ENDED) | table.freed)
    begins = operands.addressed & ((table.role == TARGET) | (table.role == WRITE))
    row = np.flatnonzero(begins | ends)  # A compute's reads, which end, are before its writes.
    row = row[np.argsort(operands.piece[row], kind="stable")]
    piece, ending = operands.piece[row], ends[row]
    starting = ~ending  # But for parts that are added to what is there.
    starting[1:] &= ending[:-1] | (piece[1:] != piece[:-1])
    stay, place = np.cumsum(starting) - 1, row[starting]
    last = np.full(len(place), len(sizes))
    last[stay[ending]] = item[row[ending]]
    spans = operands.spans(place, table.size[place])
    first = item[place]
    taken, _ = distinct(spans.start, spans.stop, first[spans.row], last[spans.row])
    loads = (table.kind[table.instruction[place]] == LOAD) & (last < len(sizes))
    at_home = np.array([name == parameters for name in table.memories])
    loads[loads] = at_home[table.memory[place[loads] - 1]]  # Its source is the row in front.
    times = zip(first[loads].tolist(), last[loads].tolist(), strict=True)
    pieces = pieces_of(table, place[loads])
    loaded = [(*when, piece) for when, piece in zip(times, pieces, strict=True)]
    return Occupied(taken, loaded)
