"""Sentences: what a step ran, what moved in and out and why, what a whole plan did."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

import planners as sp
from app.sentence import Sentence
from app.shown import Shown
from app.story_pool import pool_story
from app.story_stream import stream_story
from app.story_tiles import tile_story
from planners.program import Compute, Load, Store
from planners.units import format_bytes

NAMED = 3
LISTED = 6


def step_story(shown: Shown, step: int) -> list[Sentence]:
    """What happened during a step, in the order in which it happened."""
    if (group := shown.group_at(step)) is not None:
        return tile_story(shown, step, group)
    if shown.pool is not None:
        return pool_story(shown, step, shown.pool)
    if shown.stream is not None:
        return stream_story(shown, step, shown.stream)
    moves = _moves(shown, step)
    first, last = shown.computes[step]
    before = [s for position, s in moves if position < first]
    within = [s for position, s in moves if first <= position <= last]
    after = [s for position, s in moves if position > last]
    return [*before, *_ran(shown, step), *within, *after, *_freed(shown, step)]


def _ran(shown: Shown, step: int) -> list[Sentence]:
    """The operator with what it reads and writes, counted once over all its parts."""
    items = [shown.instructions[p] for p in shown.by_step[step]]
    runs = [item for item in items if isinstance(item, Compute)]
    if not runs:
        return []
    graph, name = shown.graph, runs[0].operator
    operator = graph.operators[graph.index[name]]
    reads = dict.fromkeys(o.piece.tensor for run in runs for o in run.reads)
    writes = dict.fromkeys(o.piece.tensor for run in runs for o in run.writes)
    parts = f" in {len(runs)} parts" if len(runs) > 1 else ""
    text = f"{name} ({operator.kind}) ran{parts}: read {_sizes(graph, reads)}"
    return [Sentence("ran", f"{text}, wrote {_sizes(graph, writes)}.")]


def _moves(shown: Shown, step: int) -> list[tuple[int, Sentence]]:
    """A sentence for each transfer of a step, with the position of its instruction."""
    found = []
    for position in shown.by_step[step]:
        item = shown.instructions[position]
        if isinstance(item, Load):
            found.append((position, _loaded(shown, step, position, item)))
        elif isinstance(item, Store):
            found.append((position, _stored(shown, step, item)))
    return found


def _loaded(shown: Shown, step: int, position: int, item: Load) -> Sentence:
    graph, tensor = shown.graph, item.piece.tensor
    what = f"{tensor} ({format_bytes(item.source.size_bytes)})"
    origin = next(
        (r.origin for r in shown.report.residencies if r.start_instruction == position), "load"
    )
    if origin == "retrieve":
        return Sentence("in", f"{what} came back: {_reader(shown, step, tensor)}.", tensor)
    kind = graph.tensors[tensor].kind
    why = "the network's input" if kind == "input" else "a parameter" if kind == "parameter" else ""
    return Sentence("in", f"{what}{', ' + why + ',' if why else ''} was loaded.", tensor)


def _reader(shown: Shown, step: int, tensor: str) -> str:
    if step in shown.reads.get(tensor, ()):
        return "this step reads it"
    following = next_use(shown, tensor, step)
    return f"step {following + 1} reads it" if following is not None else "it is read later"


def _stored(shown: Shown, step: int, item: Store) -> Sentence:
    tensor, size = item.piece.tensor, format_bytes(item.source.size_bytes)
    if tensor in shown.graph.outputs:
        return Sentence("out", f"{tensor} ({size}), an output of the network, was stored.", tensor)
    following = next_use(shown, tensor, step)
    until = f" until step {following + 1} reads it again" if following is not None else ""
    return Sentence(
        "out", f"{tensor} ({size}) was spilled{until}{_pressure(shown, step, following)}.", tensor
    )


def _pressure(shown: Shown, step: int, following: int | None) -> str:
    """Why there was no room: the fullest step before the tensor is needed again."""
    occupancy, budget = shown.report.occupancy, shown.plan.budget_bytes
    between = range(step + 1, shown.steps if following is None else following)
    if not between:
        return ""
    fullest = max(between, key=lambda s: occupancy[s])
    held = f"{format_bytes(occupancy[fullest])} of {format_bytes(budget)}"
    return f": step {fullest + 1} holds {held} without it"


def _freed(shown: Shown, step: int) -> list[Sentence]:
    ends = [
        r
        for r in shown.report.residencies
        if r.ending == "dead" and r.stop_step == step + 1 and r.stop_instruction >= 0
    ]
    whole = dict.fromkeys(r.tensor for r in ends if next_use(shown, r.tensor, step) is None)
    if not whole:
        return []
    its = "its last use" if len(whole) == 1 else "their last use"
    return [Sentence("freed", f"{_sizes(shown.graph, whole)} had {its} and made room.")]


def next_use(shown: Shown, tensor: str, step: int) -> int | None:
    """The next step after `step` that reads a tensor."""
    steps = shown.reads.get(tensor, ())
    after = bisect_right(steps, step)
    return steps[after] if after < len(steps) else None


def _sizes(graph: sp.Graph, names: Iterable[str]) -> str:
    found = list(names)
    named = [f"{name} ({format_bytes(graph.size_bytes(name))})" for name in found[:NAMED]]
    rest = [f"{len(found) - NAMED} more"] if len(found) > NAMED else []
    return " and ".join([*named, *rest]) if found else "nothing"


def infeasible_story(why: dict[str, object]) -> str:
    """What binds, in one sentence."""
    tensors: list[tuple[str, int]] = list(why.get("tensors") or ())  # type: ignore[call-overload]
    listed = ", ".join(f"{name} ({format_bytes(size)})" for name, size in tensors[:LISTED])
    listed += f" and {len(tensors) - LISTED} more" if len(tensors) > LISTED else ""
    held = f" holds {listed} at once" if listed else ""
    if why.get("streams"):
        total = format_bytes(sum(size for _, size in tensors))
        return f"the largest layer, {why['operator']}, has {total} of parameters; {why['remedy']}"
    return f"{why['operator']}{held}"


def assumptions(shown: Shown) -> str:
    """What the numbers rest on."""
    plan, graph = shown.plan, shown.graph
    counted = "counted" if plan.program.counts_parameters else "not counted"
    width = f"{graph.bytes_per_element} B an element"
    return f"{graph.granularity} operators · {width} · parameters {counted} · {plan.machine.title}"
