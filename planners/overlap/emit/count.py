"""How many instructions a layout's program has: about, before it is written."""

from __future__ import annotations

from math import prod

from planners.core.details.pool import KernelRun, PoolLayout
from planners.core.graph import Graph, Operator
from planners.overlap.model.dependences import Reach
from planners.overlap.model.rows import TensorRows
from planners.overlap.model.segments import Segments

AN_INSTRUCTION = 12
"""Operands that take as long to write as an instruction takes to be written, checked and timed."""


def instructions(graph: Graph, layout: PoolLayout) -> int:
    """A compute for each segment or block of rows that is made, and its release."""
    in_rows = {name for run in layout.runs if run.rows for name in run.operators}
    loaded = 0
    for tensor in graph.inputs:
        by_row = all(graph.operators[i].name in in_rows for i in graph.consumers[tensor])
        pieces = TensorRows(graph, tensor) if by_row else Segments(graph, tensor)
        loaded += 2 * pieces.count
    return loaded + sum(_of_run(graph, run) for run in layout.runs)


def effort(graph: Graph, layout: PoolLayout) -> int:
    """The same, where instructions that name many segments count for as long as they take."""
    segments = [run for run in layout.runs if not run.rows and run.form in ("alone", "line")]
    ops = [graph.operators[graph.index[name]] for run in segments for name in run.operators]
    named = sum(operands(graph, op) for op in ops)
    return instructions(graph, layout) + named // AN_INSTRUCTION


def operands(graph: Graph, op: Operator) -> int:
    """About how many segments an operator names, one instruction for each segment of its output."""
    return sum(Reach(graph, op, name).about() for name in op.inputs)


def _of_run(graph: Graph, run: KernelRun) -> int:
    ops = [graph.operators[graph.index[name]] for name in run.operators]
    if run.rows:
        return sum(2 * -(-TensorRows(graph, t).count // run.rows) for op in ops for t in op.outputs)
    counts = [sum(Segments(graph, t).count for t in op.outputs) for op in ops]
    if run.form not in ("alone", "line"):
        counts[0] = counts[1] * _made_anew(graph, run, ops)
    return 2 * sum(counts)


def _made_anew(graph: Graph, run: KernelRun, ops: list[Operator]) -> int:
    """Expanded pixels that are made for each output pixel, in tiles of channels."""
    kernel = ops[1].kernel
    under = kernel[0] if run.form == "columns" else prod(kernel)
    tiles = -(-graph.tensors[ops[0].outputs[0]].shape[1] // run.channels) if run.channels else 1
    return under * tiles
