"""Sentences on one layer of a plan that streams parameters: read, copy, kernel, and waits."""

from __future__ import annotations

from collections.abc import Mapping

from app.captions.sentence import Sentence
from app.display.displayed_plan import DisplayedPlan
from app.display.stream import Kind, RingOf, Stream, StreamLayer
from app.display.waits import Stage, Wait
from app.model.units import seconds_text
from planners.core.program import Compute
from planners.core.units import format_bytes

NAMED = 3


def stream_story(shown: DisplayedPlan, step: int, stream: Stream) -> list[Sentence]:
    """How a layer was read, what delayed it, where it lay, that it ran, and who takes its bytes."""
    layer = stream.layers[step]
    stages = {stage.kind: stage for stage in shown.stages if stage.layer == step}
    kernel = stages.get("kernel")
    return [
        *_came(stream, layer, stages, kernel),
        *_placed(shown, stream, layer),
        *_ran(shown, layer, kernel),
        *_ahead(shown, stream, layer, kernel),
        *_left(shown, stream, layer),
    ]


def _tensor(layer: StreamLayer) -> str:
    return layer.parameters[0] if layer.parameters else ""


def _came(
    stream: Stream, layer: StreamLayer, stages: Mapping[Kind, Stage], kernel: Stage | None
) -> list[Sentence]:
    """Its read and copy, with their waits, and how long it was ready or the kernel was stalled."""
    read, copy = stages.get("read"), stages.get("copy")
    if not layer.size_bytes or read is None:
        return []
    words = f"{format_bytes(layer.size_bytes)} of {layer.name} read in {_took(read)}"
    words += _held(read.wait)
    if copy is not None:
        words += f"; copied in {_took(copy)}{_held(copy.wait)}"
    ready = (copy or read).stop_s
    if kernel is not None:
        words += f"; {_readiness(kernel.start_s - ready, kernel.wait)}"
    return [Sentence("in", f"{words}.", _tensor(layer))]


def _readiness(early_s: float, wait: Wait | None) -> str:
    if wait is not None:
        return f"the kernel {wait.text}"
    return f"ready {seconds_text(max(0.0, early_s))} before its kernel, which did not wait"


def _held(wait: Wait | None) -> str:
    """What a read or copy waited for; that a copy follows its own read is not mentioned."""
    if wait is None or wait.cause == "waits for read":
        return ""
    return f" ({wait.text})"


def _took(stage: Stage) -> str:
    return seconds_text(stage.stop_s - stage.start_s)


def _placed(shown: DisplayedPlan, stream: Stream, layer: StreamLayer) -> list[Sentence]:
    """Its bytes in each ring, and what was lost at the ring's end."""
    if not layer.size_bytes:
        return []
    words = [_place(stream, ring, layer) for ring in stream.rings]
    return [Sentence("tile", f"It lay {' and '.join(words)}.", _tensor(layer))]


def _place(stream: Stream, ring: RingOf, layer: StreamLayer) -> str:
    at, size = layer.offsets[ring.key], layer.size_bytes
    where = "the memory" if stream.details.joint else f"the {ring.name}"
    text = f"at {format_bytes(at)} – {format_bytes(_end(ring, at + size))} of {where}"
    gap = next((g for g in stream.gaps[ring.key] if g.number == layer.number), None)
    if gap is not None:
        lost = format_bytes(gap.stop - gap.start)
        text += f", back at its start: the {lost} left at its end were too few"
    return text


def _end(ring: RingOf, stop: int) -> int:
    return stop - ring.size_bytes if ring.twice and stop > ring.size_bytes else stop


def _ran(shown: DisplayedPlan, layer: StreamLayer, kernel: Stage | None) -> list[Sentence]:
    """The kernel: its duration, and what it read and wrote besides its parameters."""
    graph = shown.graph
    operator = graph.operators[graph.index[layer.operator]]
    run = next(item for item in shown.at(layer.number) if isinstance(item, Compute))
    took = f" in {_took(kernel)}" if kernel else ""
    inputs, outputs = (_sizes(shown, names) for names in (operator.inputs, operator.outputs))
    part = f" ({layer.slice})" if layer.slice else ""
    work = f", {run.macs / 1e6:.4g} M MACs" if run.macs else ""
    text = f"{layer.operator}{part} ran{took}{work}: read {inputs}, wrote {outputs}."
    return [Sentence("ran", text)]


def _sizes(shown: DisplayedPlan, names: tuple[str, ...]) -> str:
    size = shown.graph.size_bytes
    named = [f"{name} ({format_bytes(size(name))})" for name in names[:NAMED]]
    more = [f"{len(names) - NAMED} more"] if len(names) > NAMED else []
    return " and ".join([*named, *more]) or "nothing"


def _ahead(
    shown: DisplayedPlan, stream: Stream, layer: StreamLayer, kernel: Stage | None
) -> list[Sentence]:
    """Which layers were read while this one ran, and which of these reads met a full ring."""
    if kernel is None:
        return []
    reads = ahead(shown, kernel)
    if not reads:
        return []
    names = [stream.layers[stage.layer].name for stage in reads]
    which = names[0] if len(names) == 1 else f"{names[0]} … {names[-1]} ({len(names)} layers)"
    most = max(stage.layer for stage in reads) - layer.number
    far = "1 layer" if most == 1 else f"{most} layers"
    text = f"While it ran, {which} came from storage, up to {far} ahead"
    full = next((s for s in reads if s.wait and s.wait.cause == "ring full"), None)
    if full is not None and full.wait is not None:
        text += f"; {stream.layers[full.layer].name} {full.wait.text}"
    return [Sentence("in", f"{text}.", _tensor(stream.layers[reads[0].layer]))]


def ahead(shown: DisplayedPlan, kernel: Stage) -> list[Stage]:
    """Reads of later layers that were under way during a kernel, in the order of layers."""
    reads = [
        stage
        for stage in shown.stages
        if stage.kind == "read"
        and stage.layer > kernel.layer
        and stage.start_s < kernel.stop_s
        and stage.stop_s > kernel.start_s
    ]
    return sorted(reads, key=lambda stage: stage.layer)


def _left(shown: DisplayedPlan, stream: Stream, layer: StreamLayer) -> list[Sentence]:
    """Which layer's bytes had to wait for this one to leave."""
    if not layer.size_bytes:
        return []
    after = []
    for ring, number in stream.followers(layer.number):
        name = next(r.name for r in stream.rings if r.key == ring)
        where = "" if stream.details.joint else f" in the {name}"
        after.append(f"{stream.layers[number].name}{where}")
    if not after:
        return []
    named = " and ".join(after[:NAMED])
    return [Sentence("freed", f"Its bytes went to {named}.", _tensor(layer))]
