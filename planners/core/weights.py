"""What weights do: a field of the problem, with one meaning for all planners.

`left-out`: they are not planned, operators read them from somewhere that costs nothing. `counted`:
they come from their home and take bytes of the budget while they are used. `in-place`: operators
read them where they live, which takes time and energy and no byte of the budget; of a table that is
looked up only the rows that are read cross (`planners.core.lookups`). Plans are compared
on one of the three; a planner that cannot have it says so, before it is run and in its plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from planners.core.errors import BadInput
from planners.core.graph import Graph
from planners.core.program import Compute, Load, Program

LEFT_OUT, COUNTED, IN_PLACE = WEIGHTS = ("left-out", "counted", "in-place")
WORDS = {LEFT_OUT: "left out", COUNTED: "counted", IN_PLACE: "read in place"}


def weights_of(graph: Graph, program: Program) -> str | None:
    """What weights do in a program; None where the graph has none, which is all of the three."""
    names = {name for op in graph.operators for name in op.parameters}
    if not names:
        return None
    if "parameter" not in program.homes:
        return LEFT_OUT
    offchip = {memory.name for memory in program.memories if memory.offchip}
    for item in program.instructions:
        if isinstance(item, Load) and item.piece.tensor in names:
            return COUNTED
        if isinstance(item, Compute):
            for piece, region in item.reads:
                if piece.tensor in names:
                    return IN_PLACE if region.memory in offchip else COUNTED
    return COUNTED


def asked_weights(options: Mapping[str, Any]) -> str:
    """What options ask for: `weights`, or `parameters`, which is short for counted.

    Raises `BadInput` where they contradict each other, or for what is none of the three.
    """
    short = options.get("parameters")
    if short is not None and not isinstance(short, bool):
        raise BadInput(f"parameters must be true or false, not {short!r:.60}")
    given = options.get("weights", COUNTED if short else LEFT_OUT)
    given = str(given).strip().lower().replace(" ", "-").replace("read-in-place", IN_PLACE)
    if given not in WEIGHTS:
        raise BadInput(f"weights must be one of {', '.join(WEIGHTS)}, not {given!r:.60}")
    if short is not None and short != (given == COUNTED):
        raise BadInput(f"parameters={short} and weights={given!r} contradict each other: give one")
    return given


def cannot(planner: str, handling: str, honoured: Iterable[str]) -> str:
    """Why plans of a planner are not of the problem asked; empty where they are."""
    has = list(honoured)
    if handling in has:
        return ""
    instead = WORDS[instead_of(handling, has)]
    return (
        f"{planner} cannot plan with weights {WORDS[handling]}: its plans have them {instead}, and "
        "are not comparable"
    )


def instead_of(handling: str, honoured: Iterable[str]) -> str:
    """What weights do in plans of a planner that honours these: what is asked, or the most like it.

    Counted and read in place are both charged for; where one cannot be had it is the other.
    """
    has = list(honoured)
    others = [handling, *(w for w in (COUNTED, IN_PLACE) if w != handling), LEFT_OUT]
    return next(weights for weights in others if weights in has)
