"""How many seconds it takes, about, to find, write, stream, replay and time programs."""

from __future__ import annotations

from planners.core.graph import Graph
from planners.core.loops import items_of, size_of, written_of
from planners.core.program import Program
from planners.joined.stretches import Stretch

EACH_S = 5e-5
"""For an instruction of a program that is not in loops: to write, stream, replay and time it."""
KNOWN_EACH_S, ROUND_EACH_S = 3e-5, 2.5e-5
"""For one that is written already, and for one that another round of a loop makes of it."""
FOUND_S, WRITTEN_S, JUDGED_S = 10e-3, 6e-3, 2e-3
"""For an operator: to find its fused group, to write, replay and time it, and to replay and time it
alone."""
FULL_S = 20e-3
"""For what fills the budget once, of what operators of fused groups read and make: to write, replay
and time it."""


def known_s(program: Program) -> float:
    """Seconds to stream, replay and time a program of which all or most is written."""
    items = tuple(items_of(program))
    written, made = written_of(items), size_of(items)
    return KNOWN_EACH_S * written + ROUND_EACH_S * (made - written)


def written_s(graph: Graph, stretch: Stretch, budget_bytes: int) -> float:
    """Seconds to write, stream, replay and time a stretch that is found."""
    ops = graph.operators[stretch.first : stretch.stop]
    seconds = WRITTEN_S * len(ops)
    if not stretch.fused:
        return seconds
    crossing = sum(graph.size_bytes(name) for op in ops for name in (*op.inputs, *op.outputs))
    return max(seconds, FULL_S * crossing / budget_bytes)


def found_s(stretch: Stretch) -> float:
    """Seconds to find the fused groups of a stretch, at least."""
    return FOUND_S * (stretch.stop - stretch.first)
