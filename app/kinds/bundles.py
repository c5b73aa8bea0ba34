"""Long programs of pixels, bundled for drawing: what comes and goes together is one.

A program of overlap has a piece for each pixel: a hundred thousand of them, which no browser can
draw and no eye can separate. Its timesteps are rows of outputs. Here each step keeps one compute
for each operator and one transfer and one release for each tensor; pixels that are on chip in the
same steps are one residency. A pixel counts for a step if it is on chip when the step holds most
bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import planners as sp
from app.model.checked_plan import Shown
from app.model.packing import packed
from planners.core.boxes import around
from planners.core.details.pool import Buffer
from planners.core.program import (
    Box,
    Compute,
    Instruction,
    Load,
    Operand,
    Piece,
    Region,
    Release,
    Span,
    Store,
)
from planners.core.progress import ProgressCallback
from planners.simulator.simulate import traced


def checked_bundled(plan: sp.Plan, progress: ProgressCallback | None = None) -> Shown:
    """Check and time a plan, and bundle it; its text is sent later. Raises `InvalidPlan`."""
    report = sp.check(plan, progress)
    return bundled(Shown(plan, report, traced(plan, report, plan.machine), ""))


def is_bundled(plan: sp.Plan) -> bool:
    """Whether a plan has a piece for each pixel: it is drawn in bundles."""
    return plan.details.pool is not None


def plan_text(plan: sp.Plan) -> str:
    """A plan's JSON, packed."""
    return packed(json.dumps(plan.to_json(), separators=(",", ":")))


def bundled(shown: Shown) -> Shown:
    """The same plan with fewer and larger pieces, for drawing and for its sentences."""
    drawn: list[Instruction] = []
    place: list[int] = [0] * len(shown.instructions)  # old position to new
    firsts: list[int] = []
    for items in shown.by_step:
        firsts.append(len(drawn))
        for positions, item in _merged(shown, items):
            for position in positions:
                place[position] = len(drawn)
            drawn.append(item)
    firsts.append(len(drawn))
    program = replace(shown.plan.program, instructions=tuple(drawn))
    plan = replace(shown.plan, program=program)
    report = replace(shown.report, residencies=tuple(_stays(shown, firsts)))
    trace = replace(shown.trace, intervals=tuple(_intervals(shown, place)))
    return Shown(plan, report, trace, shown.packed)


def _merged(shown: Shown, positions: Sequence[int]) -> Iterator[tuple[list[int], Instruction]]:
    """The instructions of a step: a load, a compute, a release and a store for each name."""
    positions_of: dict[tuple[int, str], list[int]] = {}
    order = {Load: 0, Compute: 1, Store: 2, Release: 3}
    for position in positions:
        item = shown.instructions[position]
        if not isinstance(item, (Load, Compute, Store, Release)):
            continue
        name = item.operator if isinstance(item, Compute) else item.piece.tensor
        positions_of.setdefault((order[type(item)], name), []).append(position)
    freed = [
        Release(item.step, item.reads[at].piece, item.reads[at].region)
        for position in positions
        if isinstance(item := shown.instructions[position], Compute)
        for at in item.frees
    ]
    for (kind, _), some in sorted(positions_of.items(), key=lambda entry: entry[0][0]):
        if kind != order[Release]:
            yield some, _one([shown.instructions[position] for position in some])
    released = {name: some for (kind, name), some in positions_of.items() if kind == order[Release]}
    more: dict[str, list[Release]] = {}
    for item in freed:
        more.setdefault(item.piece.tensor, []).append(item)
    for name in {**released, **more}:
        old = released.get(name, [])
        yield old, _one([*(shown.instructions[p] for p in old), *more.get(name, [])])


def _one(items: Sequence[Any]) -> Instruction:
    """Several instructions of one kind and name as one."""
    first = items[0]
    if isinstance(first, Compute):
        reads = _operands(o for item in items for o in item.reads)
        writes = _operands(o for item in items for o in item.writes)
        macs = sum(item.macs for item in items)
        return Compute(first.step, first.operator, reads, writes, macs, (), first.engine)
    piece = Piece(first.piece.tensor, around(*(item.piece.box for item in items)))
    if isinstance(first, Release):
        size = sum(item.region.size_bytes for item in items)
        return Release(first.step, piece, first.region._replace(size_bytes=size))
    size = sum(item.source.size_bytes for item in items)
    source, target = (r._replace(size_bytes=size) for r in (first.source, first.target))
    return type(first)(first.step, piece, source, target, first.engine)  # type: ignore[no-any-return]


def _operands(operands: Iterable[Operand]) -> tuple[Operand, ...]:
    """One operand for each tensor: the box around its pieces, each counted once."""
    pieces: dict[str, dict[Box, Region]] = {}
    for piece, region in operands:
        pieces.setdefault(piece.tensor, {})[piece.box] = region
    merged = []
    for tensor, boxes in pieces.items():
        regions = list(boxes.values())
        size = sum(region.size_bytes for region in regions)
        merged.append(Operand(Piece(tensor, around(*boxes)), regions[0]._replace(size_bytes=size)))
    return tuple(merged)


# ---- residencies ---------------------------------------------------------------------------


def _stays(shown: Shown, firsts: Sequence[int]) -> Iterator[sp.Residency]:
    """Workspaces as a whole during their run, then pixels of tensors that come and go together."""
    pool = shown.pool
    assert pool is not None
    memory = shown.plan.machine.onchip
    inner = set()
    for run in pool.runs:
        for buffer in run.run.buffers:
            inner.add(buffer.tensor)
            spans = [Span(memory, *r) for r in pool.ranges(buffer.offset, buffer.size_bytes)]
            yield _stay(
                _whole(shown, buffer), memory, spans, (run.start_step, run.stop_step), firsts
            )
    stays = [stay for stay in shown.report.residencies if stay.tensor not in inner]
    first, stop = _columns(shown, stays)
    groups: dict[tuple[Any, ...], list[int]] = {}
    for i, stay in enumerate(stays):
        place = (int(first[i]), int(stop[i]))
        if place[0] < place[1]:
            groups.setdefault((stay.tensor, place, stay.origin, stay.ending), []).append(i)
    for i in _unseen(stays, groups):
        stay = stays[i]
        for step in range(stay.start_step, stay.stop_step):
            there = [stays[k] for key, some in groups.items() if _at(key, step) for k in some]
            if not any(_meet(stay, other) for other in there):
                key = (stay.tensor, (step, step + 1), stay.origin, stay.ending)
                groups.setdefault(key, []).append(i)
                break
    for (tensor, place, _, _), some in groups.items():
        members = [stays[i] for i in some]
        piece = Piece(tensor, around(*(stay.piece.box for stay in members)))
        spans = coalesced(span for stay in members for span in stay.spans)
        ends = all(stay.stop_instruction >= 0 for stay in members)
        made = _stay(piece, memory, spans, place, firsts, ends=ends)
        yield replace(made, origin=members[0].origin, ending=members[0].ending)


def _unseen(stays: Sequence[sp.Residency], groups: Mapping[tuple[Any, ...], Any]) -> list[int]:
    """Stays of tensors that are absent at every step's fullest moment, such as of a single
    pixel."""
    seen = {key[0] for key in groups}
    return [i for i, stay in enumerate(stays) if stay.tensor not in seen]


def _at(key: tuple[Any, ...], step: int) -> bool:
    return bool(key[1][0] <= step < key[1][1])


def _meet(stay: sp.Residency, other: sp.Residency) -> bool:
    return any(a.start < b.stop and b.start < a.stop for a in stay.spans for b in other.spans)


def _stay(
    piece: Piece,
    memory: str,
    spans: Sequence[Span],
    place: tuple[int, int],
    firsts: Sequence[int],
    *,
    ends: bool = True,
) -> sp.Residency:
    start, stop = place
    last = firsts[stop] - 1 if ends else -1
    return sp.Residency(
        piece, memory, tuple(spans), start, stop, firsts[start], last, "compute", "dead"
    )


def _whole(shown: Shown, buffer: Buffer) -> Piece:
    return Piece(buffer.tensor, tuple((0, n) for n in shown.graph.tensors[buffer.tensor].shape))


def _columns(shown: Shown, stays: Sequence[sp.Residency]) -> tuple[Any, Any]:
    """The steps `[first, stop)` at whose fullest moments each stay is there."""
    count = len(shown.instructions)
    every = shown.report.residencies
    change = np.zeros(count + 1, dtype=np.int64)
    sizes = np.array([stay.size_bytes for stay in every], dtype=np.int64)
    np.add.at(change, np.array([stay.start_instruction for stay in every]), sizes)
    np.subtract.at(change, _stops(every, count), sizes)
    held = change.cumsum()
    moments = [p[0] + int(np.argmax(held[p[0] : p[-1] + 1])) for p in shown.by_step]
    starts = np.array([stay.start_instruction for stay in stays])
    return (
        np.searchsorted(moments, starts, side="left"),
        np.searchsorted(moments, _stops(stays, count), side="left"),
    )


def _stops(stays: Sequence[sp.Residency], count: int) -> Any:
    ends = [stay.stop_instruction if stay.stop_instruction >= 0 else count for stay in stays]
    return np.array(ends, dtype=np.int64)


def coalesced(spans: Iterable[Span]) -> list[Span]:
    """Spans of one memory in rising order, those that touch as one."""
    joined: list[Span] = []
    for span in sorted(spans, key=lambda s: (s.start, s.stop)):
        if joined and span.start <= joined[-1].stop:
            joined[-1] = replace(joined[-1], stop=max(joined[-1].stop, span.stop))
        else:
            joined.append(span)
    return joined


# ---- times ---------------------------------------------------------------------------------


def _intervals(shown: Shown, place: Sequence[int]) -> Iterator[sp.Interval]:
    """One interval for each instruction of the bundled program, one after the other in an engine.

    Pixels of several operators alternate within a row: each operator gets its seconds of the row in
    one piece, so that sums over operators and engines are unchanged.
    """
    rows: dict[tuple[int, str], dict[int, list[sp.Interval]]] = {}
    for item in shown.trace.intervals:
        row = rows.setdefault((item.step, item.engine), {})
        row.setdefault(place[item.instruction], []).append(item)
    for row in rows.values():
        yield from _row(row, place)


def _row(row: Mapping[int, Sequence[sp.Interval]], place: Sequence[int]) -> Iterator[sp.Interval]:
    at = min(items[0].start_s for items in row.values())
    for position, items in row.items():
        busy = sum(item.stop_s - item.start_s for item in items)
        stall = sum(item.stall_s for item in items)
        longest = max(items, key=lambda item: item.stall_s)
        start = at if items[0].start_s <= at else at + stall
        blocker = None if longest.blocker is None else place[longest.blocker]
        yield replace(
            longest,
            start_s=start,
            stop_s=start + busy,
            instruction=position,
            stall_s=stall,
            blocker=blocker if stall else None,
        )
        at = start + busy
