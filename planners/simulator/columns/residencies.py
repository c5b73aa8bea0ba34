"""The residencies of a valid program with where each came from and how it ended."""

from __future__ import annotations

import numpy as np

from planners.core.tables.table import SOURCE, STORE, WRITE
from planners.simulator.columns.pairing import FOREVER, PHASES
from planners.simulator.columns.replay import Columns
from planners.simulator.records.residency_columns import ENDINGS, ORIGINS, ResidencyColumns


def residency_columns(columns: Columns) -> ResidencyColumns:
    """Every residency in program order, each with why it began and why it ended."""
    operands, residencies = columns.operands, columns.residencies
    graph, program = operands.graph, operands.program
    table, place = operands.table, residencies.place
    key = operands.root[place] * (int(operands.piece.max(initial=0)) + 1) + operands.piece[place]
    first, last = np.zeros(len(place), np.bool_), np.zeros(len(place), np.bool_)
    first[np.unique(key, return_index=True)[1]] = True
    last[len(key) - 1 - np.unique(key[::-1], return_index=True)[1]] = True
    sources = np.flatnonzero((table.role == SOURCE) & (residencies.of >= 0))
    stored = np.zeros(len(place), np.bool_)
    stored[residencies.of[sources]] = (
        table.kind[table.instruction[sources]] == STORE
    )  # By the last one.
    outputs = np.array([name in graph.outputs for name in table.tensors], np.bool_)
    spans = operands.spans(place, operands.own_bytes[place])
    ended = residencies.end < FOREVER
    stop = np.where(ended, residencies.end // PHASES, -1)
    begun = residencies.begin // PHASES
    loaded = np.where(first, ORIGINS.index("load"), ORIGINS.index("retrieve"))
    done = np.where(
        stored & outputs[table.tensor[place]], ENDINGS.index("output"), ENDINGS.index("dead")
    )
    again = np.where(
        stored & ~outputs[table.tensor[place]], ENDINGS.index("spill"), ENDINGS.index("drop")
    )
    return ResidencyColumns(
        tensors=table.tensors,
        ranks=tuple(len(graph.tensors[name].shape) for name in table.tensors),
        memories=tuple(memory.name for memory in program.memories),
        tensor=table.tensor[place],
        start=table.start[place],
        stop=table.stop[place],
        memory=operands.root[place],
        first=np.searchsorted(spans.row, np.arange(len(place) + 1)),
        span_start=spans.start,
        span_stop=spans.stop,
        start_step=table.step[begun],
        stop_step=np.where(ended, table.step[stop] + 1, len(program.steps)),
        start_instruction=begun,
        stop_instruction=stop,
        origin=np.where(table.role[place] == WRITE, ORIGINS.index("compute"), loaded).astype(
            np.uint8
        ),
        ending=np.where(last, done, again).astype(np.uint8),
    )
