"""Sentences on one row of an overlap plan: what is read, where it is written, what is freed."""

from __future__ import annotations

from collections.abc import Iterator

from app.pool import FORMS, Pool, PoolRun
from app.sentence import Sentence
from app.shown import Shown
from app.story_tiles import boxes, part
from planners.program import Compute, Load, Release, Store
from planners.units import format_bytes

NAMED = 2


def pool_story(shown: Shown, step: int, pool: Pool) -> list[Sentence]:
    """What a row did: what it is, what came, what was computed, went and made room."""
    run = pool.run_at(step)
    items = [shown.instructions[position] for position in shown.by_step[step]]
    computes = [item for item in items if isinstance(item, Compute)]
    loads = [item for item in items if isinstance(item, Load)]
    stores = [item for item in items if isinstance(item, Store)]
    ends = {item.piece.tensor: item.region.size_bytes for item in items if _ends(item)}
    return [
        *(_loaded(shown, item) for item in loads),
        *_computed(shown, step, pool, run, computes),
        *_behind(shown, step, pool, run, ends),
        *_kept(shown, run, computes),
        *(_stored(shown, item) for item in stores),
    ]


def _ends(item: object) -> bool:
    return isinstance(item, Release)


def _loaded(shown: Shown, item: Load) -> Sentence:
    name, size = item.piece.tensor, format_bytes(item.target.size_bytes)
    return Sentence("in", f"{part(shown, name, item.piece.box)} came in: {size}.", name)


def _stored(shown: Shown, item: Store) -> Sentence:
    name, size = item.piece.tensor, format_bytes(item.source.size_bytes)
    return Sentence("out", f"{name} ({size}), an output of the network, was stored.", name)


def _computed(
    shown: Shown, step: int, pool: Pool, run: PoolRun, computes: list[Compute]
) -> Iterator[Sentence]:
    """The row of the run's output: what it reads of what lies in the pool, and where it goes."""
    out = run.writes[0]
    written = [o for item in computes for o in item.writes if o.piece.tensor == out]
    if not written:
        return
    read = boxes(o for item in computes for o in item.reads if o.piece.tensor in run.reads)
    of = " and ".join(part(shown, name, box) for name, box in read.items()) or "nothing"
    done = sum(size for at, size in written_bytes(shown, out) if at < step)
    start = (pool.layout.offsets[out] + done) % pool.size_bytes
    size = sum(operand.region.size_bytes for operand in written)
    row, rows = step - first_row(shown, run), run.stop_step - first_row(shown, run)
    number = f"Row {row + 1} of {rows}" if rows > 1 else "All"
    how = f", {len(run.run.operators)} operators {FORMS[run.run.form]}" * bool(run.run.buffers)
    text = (
        f"{number} of {run.name} is computed{how}: reads {of}, writes {size:,} bytes at {start:,}"
    )
    yield Sentence("ran", f"{text}.", out)


def _behind(
    shown: Shown, step: int, pool: Pool, run: PoolRun, ends: dict[str, int]
) -> Iterator[Sentence]:
    """What of the dying inputs is freed, and how far the output is behind what is still needed."""
    freed = [f"{ends[name]:,} bytes of {name}" for name in run.dying if ends.get(name)]
    words = f"{' and '.join(freed)} freed" if freed else ""
    gap = gap_bytes(shown, step, pool, run)
    if gap is not None:
        behind = f"the output is {gap:,} bytes behind what {run.over} still has to give"
        words = f"{words}; {behind}" if words else behind
    if words:
        yield Sentence("freed", f"{words[0].upper()}{words[1:]}.", run.over)


def gap_bytes(shown: Shown, step: int, pool: Pool, run: PoolRun) -> int | None:
    """Bytes between the next to be written and the first of the dying input that is still needed.

    d, less what is written, more what is freed, up to the end of a step; None once all is freed.
    """
    if run.distance_bytes is None:
        return None
    freed = sum(size for at, size in freed_bytes(shown, run.over) if at <= step)
    written = sum(size for at, size in written_bytes(shown, run.writes[0]) if at <= step)
    if freed >= pool.sizes[run.over]:
        return None
    return run.distance_bytes + freed - written


def written_bytes(shown: Shown, tensor: str) -> list[tuple[int, int]]:
    """Step and size of what is written of a tensor."""
    return [
        (item.step, operand.region.size_bytes)
        for item in shown.instructions
        if isinstance(item, Compute)
        for operand in item.writes
        if operand.piece.tensor == tensor
    ]


def freed_bytes(shown: Shown, tensor: str) -> list[tuple[int, int]]:
    """Step and size of what is freed of a tensor."""
    return [
        (item.step, item.region.size_bytes)
        for item in shown.instructions
        if isinstance(item, Release) and item.piece.tensor == tensor
    ]


def first_row(shown: Shown, run: PoolRun) -> int:
    """The first step of a run that computes: one that loads its input may be in front."""
    return next((s for s in range(run.start_step, run.stop_step) if shown.ran[s]), run.start_step)


def _kept(shown: Shown, run: PoolRun, computes: list[Compute]) -> Iterator[Sentence]:
    """What of inner tensors is in their workspace."""
    words = []
    made = boxes(o for item in computes for o in item.writes)
    for buffer in run.run.buffers[:NAMED]:
        if buffer.tensor in made:
            now = part(shown, buffer.tensor, made[buffer.tensor])
            words.append(f"{now} in {format_bytes(buffer.size_bytes)}")
    if words:
        more = f" and {len(run.run.buffers) - NAMED} more" * (len(run.run.buffers) > NAMED)
        yield Sentence("tile", f"Workspace: {', '.join(words)}{more}.", run.run.buffers[0].tensor)
