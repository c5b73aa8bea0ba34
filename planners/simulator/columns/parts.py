"""What the computes of a table make: parts of operators, of which many are alike."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from planners.core.boxes import Box
from planners.core.caches import IdentityCache
from planners.core.compute_seconds import ComputeSeconds
from planners.core.machine import Machine
from planners.core.tables.distinct import distinct
from planners.core.tables.table import COMPUTE, WRITE, Numbers
from planners.simulator.columns.operands import MOST_ELEMENTS
from planners.simulator.columns.replay import Columns


class ComputedPart(NamedTuple):
    """A part of an operator: a box as large as that of its first output (None for nothing of it),
    elements of all outputs, the inputs that it sums over, and MACs."""

    operator: str
    box: Box | None
    elements: int
    sums: tuple[int, int] | None
    macs: int


_rule = IdentityCache[ComputeSeconds]()


def compute_of(columns: Columns, machine: Machine) -> ComputeSeconds:
    """The seconds of what a table's computes make on a machine: what is known of it stays known."""
    rule = _rule.get(columns, machine)
    if rule is None:
        rule = ComputeSeconds(columns.operands.graph, machine)
        _rule.keep(rule, columns, machine)
    return rule


_last = IdentityCache[tuple[list[ComputedPart], Numbers]]()


def computed_parts(columns: Columns, compute: ComputeSeconds) -> tuple[list[ComputedPart], Numbers]:
    """The different parts that computes make, and by compute which of them it makes."""
    parts = _last.get(columns, compute.machine)
    if parts is None:
        parts = _parts(columns, compute)
        _last.keep(parts, columns, compute.machine)
    return parts


def _parts(columns: Columns, compute: ComputeSeconds) -> tuple[list[ComputedPart], Numbers]:
    table = columns.operands.table
    elements, start, stop = _made_of_each(columns, compute)
    rows = table.kind == COMPUTE
    key = (table.operator, elements, *table.sums.T, table.macs, *start.T, *stop.T)
    every, which = distinct(*(column[rows] for column in key))
    rank, parts = start.shape[1], []
    for op, count, first, last, macs, *ends in every.tolist():
        box = tuple(zip(ends[:rank], ends[rank:], strict=True))
        sums = None if first < 0 else (first, last)
        written = box if box[0][1] else None
        parts.append(ComputedPart(table.operators[op], written, count, sums, macs))
    return parts, which


def _made_of_each(columns: Columns, compute: ComputeSeconds) -> tuple[Numbers, Numbers, Numbers]:
    """By instruction: the elements it makes, and where the box begins and ends on each axis that it
    makes of its operator's first output: from 0, but where groups part the channels."""
    operands, table = columns.operands, columns.operands.table
    number = {name: at for at, name in enumerate(table.tensors)}
    ops = [operands.graph.operators[operands.graph.index[name]] for name in table.operators]
    output = np.array([number.get(op.outputs[0], -1) for op in ops], np.int64)
    writes = np.flatnonzero(table.role == WRITE)
    residency, at = columns.pairing.made[writes], table.instruction[writes]
    elements = np.zeros(len(table), np.int64)
    np.add.at(elements, at, operands.elements[residency])
    first = table.tensor[writes] == output[table.operator[at]]
    start = np.full((len(table), table.start.shape[1]), MOST_ELEMENTS, np.int64)
    stop = np.zeros_like(start)
    np.minimum.at(start, at[first], table.start[residency[first]])
    np.maximum.at(stop, at[first], table.stop[residency[first]])
    grouped = [compute.grouped_axis(op.name) for op in ops]
    axis = np.array([*grouped, -1], np.int64)[table.operator]
    kept = np.arange(start.shape[1]) == axis[:, None]
    moved = np.where(kept | (stop == 0), 0, start)
    return elements, np.where(stop == 0, 0, start) - moved, stop - moved
