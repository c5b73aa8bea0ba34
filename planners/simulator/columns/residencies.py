"""The residencies of a valid program, from its stays."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from planners.core.program import Span
from planners.core.tables.boxes import pieces_of
from planners.core.tables.table import SOURCE, STORE, WRITE
from planners.simulator.columns.replay import Columns
from planners.simulator.columns.stays import FOREVER, PHASES
from planners.simulator.ground.residency import Ending, Origin, Residency

_ORIGINS: tuple[Origin, ...] = ("retrieve", "load", "compute")
_ENDINGS: tuple[Ending, ...] = ("drop", "spill", "dead", "output")


def residencies_of(columns: Columns) -> Iterator[Residency]:
    """Every residency in program order, each with why it began and why it ended."""
    operands, stays = columns.operands, columns.stays
    graph, program = operands.graph, operands.program
    table, place = operands.table, stays.place
    key = operands.root[place] * (int(operands.piece.max(initial=0)) + 1) + operands.piece[place]
    first, last = np.zeros(len(place), np.bool_), np.zeros(len(place), np.bool_)
    first[np.unique(key, return_index=True)[1]] = True
    last[len(key) - 1 - np.unique(key[::-1], return_index=True)[1]] = True
    sources = np.flatnonzero((table.role == SOURCE) & (stays.of >= 0))
    stored = np.zeros(len(place), np.bool_)
    stored[stays.of[sources]] = table.kind[table.instruction[sources]] == STORE  # By the last one.
    outputs = np.array([name in graph.outputs for name in table.tensors], np.bool_)
    spans = operands.spans(place, operands.own_bytes[place])
    names = [memory.name for memory in program.memories]
    every = [
        Span(names[root], a, b)
        for root, a, b in zip(
            operands.root[place][spans.row].tolist(),
            spans.start.tolist(),
            spans.stop.tolist(),
            strict=True,
        )
    ]
    begins = np.searchsorted(spans.row, np.arange(len(place) + 1)).tolist()
    ended = stays.end < FOREVER
    stop = np.where(ended, stays.end // PHASES, -1)
    until = np.where(ended, table.step[stop] + 1, len(program.steps))
    rows = zip(
        pieces_of(table, place),
        operands.root[place].tolist(),
        begins,
        begins[1:],
        table.step[stays.begin // PHASES].tolist(),
        until.tolist(),
        (stays.begin // PHASES).tolist(),
        stop.tolist(),
        np.where(table.role[place] == WRITE, 2, first).tolist(),
        np.where(
            last,
            2 + (stored & outputs[table.tensor[place]]),
            stored & ~outputs[table.tensor[place]],
        ).tolist(),
        strict=False,
    )
    for piece, root, a, b, start_step, stop_step, start, end, origin, ending in rows:
        yield Residency(
            piece,
            names[root],
            tuple(every[a:b]),
            start_step,
            stop_step,
            start,
            end,
            _ORIGINS[origin],
            _ENDINGS[ending],
        )
