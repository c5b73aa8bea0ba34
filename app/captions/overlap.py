"""Sentences on one row of an overlap plan: what is read, where it is written, what is freed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.captions.fusion import boxes, part
from app.captions.sentence import Sentence
from app.captions.spill_reasons import output_words
from app.display.displayed_plan import DisplayedPlan
from app.display.pool import FORMS, PoolRun, PoolRuns
from planners.core.program import Compute, Load, Operand, Release, Store
from planners.core.units import format_bytes

NAMED = 2


def pool_story(shown: DisplayedPlan, step: int, pool: PoolRuns) -> list[Sentence]:
    """What a row did: its run, what was loaded, computed, stored and freed."""
    run = pool.run_at(step)
    items = shown.at(step)
    computes = [item for item in items if isinstance(item, Compute)]
    loads = [Operand(item.piece, item.target) for item in items if isinstance(item, Load)]
    stores = [item for item in items if isinstance(item, Store)]
    ends = {i.piece.tensor: i.region.size_bytes for i in items if isinstance(i, Release)}
    return [
        *_loaded(shown, loads),
        *_computed(shown, step, pool, run, computes),
        *_over(shown, pool, run, computes),
        *_behind(shown, step, pool, run, ends),
        *_kept(shown, run, computes),
        *(_stored(shown, item) for item in stores),
    ]


def _loaded(shown: DisplayedPlan, loads: list[Operand]) -> Iterator[Sentence]:
    """What was loaded of each tensor, however many pieces it is in."""
    for name, box in boxes(loads).items():
        size = sum(o.region.size_bytes for o in loads if o.piece.tensor == name)
        text = f"{part(shown, name, box)} came in: {format_bytes(size)}."
        yield Sentence("in", f"{text[0].upper()}{text[1:]}", name)


def _stored(shown: DisplayedPlan, item: Store) -> Sentence:
    name, size = item.piece.tensor, format_bytes(item.source.size_bytes)
    what = output_words(shown.graph, name)
    return Sentence("out", f"{name} ({size}), {what}, was stored.", name)


def _computed(
    shown: DisplayedPlan, step: int, pool: PoolRuns, run: PoolRun, computes: list[Compute]
) -> Iterator[Sentence]:
    """The row of the run's output: what it reads of what lies in the pool, and where it is
    written."""
    out = run.writes[0]
    written = [o for item in computes for o in item.writes if o.piece.tensor == out]
    if not written:
        return
    read = boxes(o for item in computes for o in item.reads if o.piece.tensor in run.reads)
    of = " and ".join(part(shown, name, box) for name, box in read.items()) or "its line buffers"
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


def _over(
    shown: DisplayedPlan, pool: PoolRuns, run: PoolRun, computes: list[Compute]
) -> Iterator[Sentence]:
    """Which bytes of dying inputs this row's output overwrote."""
    out = run.writes[0]
    size = sum(o.region.size_bytes for c in computes for o in c.writes if o.piece.tensor == out)
    if not size or not computes:
        return
    taken = taken_bytes(shown, computes[0].step, pool, run)
    for name, count in taken.items():
        if count:
            many = "They" if count == size else f"{count:,} of them"
            text = f"{many} take the place of bytes of {name} that were read and freed."
            yield Sentence("ran", text, name)


def taken_bytes(shown: DisplayedPlan, step: int, pool: PoolRuns, run: PoolRun) -> dict[str, int]:
    """By dying input how many of its bytes a step overwrites with the output."""
    out, offsets = run.writes[0], pool.layout.offsets
    done = sum(size for at, size in written_bytes(shown, out) if at < step)
    now = sum(size for at, size in written_bytes(shown, out) if at == step)
    written = pool.ranges(offsets[out] + done, now)
    taken = {}
    for name in run.dying:
        lay = pool.ranges(offsets[name], pool.sizes[name])
        taken[name] = sum(max(0, min(b, d) - max(a, c)) for a, b in written for c, d in lay)
    return taken


def _behind(
    shown: DisplayedPlan, step: int, pool: PoolRuns, run: PoolRun, ends: dict[str, int]
) -> Iterator[Sentence]:
    """What is freed of the dying inputs, and how far the output is behind what is still needed."""
    freed = [f"{ends[name]:,} bytes of {name}" for name in run.dying if ends.get(name)]
    words = f"{' and '.join(freed)} freed" if freed else ""
    gap = gap_bytes(shown, step, pool, run)
    if gap is not None:
        behind = _pointers(shown, step, pool, run, gap)
        words = f"{words}; {behind}" if words else behind
    if words:
        yield Sentence("freed", f"{words[0].upper()}{words[1:]}.", run.over)


def _pointers(shown: DisplayedPlan, step: int, pool: PoolRuns, run: PoolRun, gap: int) -> str:
    """Where the output continues, where the input is still needed, and the bytes between."""
    done = sum(size for at, size in written_bytes(shown, run.writes[0]) if at <= step)
    write = (pool.layout.offsets[run.writes[0]] + done) % pool.size_bytes
    read = (write + gap) % pool.size_bytes
    text = f"write pointer at {write:,}, read pointer at {read:,}: the output is"
    if not gap:
        return f"{text} directly behind the bytes of {run.over} that are still to be read"
    return f"{text} {gap:,} bytes behind the bytes of {run.over} that are still to be read"


def gap_bytes(shown: DisplayedPlan, step: int, pool: PoolRuns, run: PoolRun) -> int | None:
    """Bytes between the next output byte and the first byte of the dying input still needed.

    d, less what is written, plus what is freed, up to the end of a step; None once all is freed.
    """
    if run.distance_bytes is None:
        return None
    freed = sum(size for at, size in freed_bytes(shown, run.over) if at <= step)
    written = sum(size for at, size in written_bytes(shown, run.writes[0]) if at <= step)
    if freed >= pool.sizes[run.over]:
        return None
    return run.distance_bytes + freed - written


def written_bytes(shown: DisplayedPlan, tensor: str) -> Sequence[tuple[int, int]]:
    """Step and size of each write to a tensor."""
    return shown.writes.get(tensor, ())


def freed_bytes(shown: DisplayedPlan, tensor: str) -> Sequence[tuple[int, int]]:
    """Step and size of each release of a tensor."""
    return shown.releases.get(tensor, ())


def first_row(shown: DisplayedPlan, run: PoolRun) -> int:
    """The first step of a run that computes: a step that loads its input may come before."""
    return next((s for s in range(run.start_step, run.stop_step) if shown.ran[s]), run.start_step)


def _kept(shown: DisplayedPlan, run: PoolRun, computes: list[Compute]) -> Iterator[Sentence]:
    """What the workspace holds of inner tensors."""
    words = []
    written = boxes(o for item in computes for o in item.writes)
    for buffer in run.run.buffers[:NAMED]:
        if buffer.tensor in written:
            now = part(shown, buffer.tensor, written[buffer.tensor])
            words.append(f"{now} in {format_bytes(buffer.size_bytes)}")
    if words:
        more = f" and {len(run.run.buffers) - NAMED} more" * (len(run.run.buffers) > NAMED)
        yield Sentence("tile", f"Workspace: {', '.join(words)}{more}.", run.run.buffers[0].tensor)
