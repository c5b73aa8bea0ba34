"""The address map of streamed parameters: layers rolling through their rings, and what is lost."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from app.display.displayed_plan import DisplayedPlan
from app.display.stream import RingOf, Stream, StreamLayer
from app.kinds.map_rows import Row, describe, row_of
from planners.core.colours import STREAMED
from planners.core.units import format_bytes

Steps = tuple[float, float]
WEIGHTS = "weights of "
LOST = "lost at the ring's end"


def stream_rows(shown: DisplayedPlan, memory: str) -> Iterator[Row]:
    """Rows of the rings in a memory, and of what else is in it."""
    stream = shown.stream
    assert stream is not None
    for ring in stream.rings:
        if ring.memory == memory and ring.size_bytes:
            yield from _lost(shown, stream, ring)
            yield from _layers(shown, stream, ring)
    for residency in shown.report.residencies:
        kind = stream.acts.get(residency.start_instruction, ("kernel", 0, ""))[0]
        if residency.memory != memory or kind != "kernel":
            continue
        for span in residency.spans:
            place = span.start, span.stop
            row = _row("activation", shown.columns(residency), place, residency.tensor)
            yield {
                **row,
                "what": describe(shown, residency.tensor),
                "size": format_bytes(residency.size_bytes),
            }


def _layers(shown: DisplayedPlan, stream: Stream, ring: RingOf) -> Iterator[Row]:
    """A layer ahead of its kernel, and while it runs; in the CPU ring, until it is copied."""
    for number, (left, right) in placed(shown, stream, ring).items():
        at = right if ring.key == "cpu" else max(left, min(right, number))
        ahead = "to be copied" if ring.key == "cpu" else "read ahead"
        for role, start, stop in ((ahead, left, at), ("running", at, right)):
            if start < stop:
                yield from _of_layer(stream.layers[number], ring, role, (start, stop))


def placed(shown: DisplayedPlan, stream: Stream, ring: RingOf) -> dict[int, Steps]:
    """The steps that each layer is drawn over.

    Where two layers have the same bytes one after the other within a step, each has half of it.
    """
    steps_of: dict[int, Steps] = {}
    for layer, life in zip(stream.layers, shown.lives[ring.key], strict=True):
        if life is None:
            continue
        left, right = float(life[0]), float(life[1])
        for number, (start, stop) in steps_of.items():
            if stop > left and _meet(stream.layers[number], layer, ring):
                left = life[0] + 0.5
                steps_of[number] = start, min(stop, left)
        steps_of[layer.number] = left, right
    return steps_of


def _meet(one: StreamLayer, other: StreamLayer, ring: RingOf) -> bool:
    return any(a < d and c < b for a, b in _parts(one, ring) for c, d in _parts(other, ring))


def _parts(layer: StreamLayer, ring: RingOf) -> list[tuple[int, int]]:
    """Bytes of a layer in a ring: two ranges where it wraps."""
    at = layer.offsets[ring.key]
    end = at + layer.size_bytes
    parts = [(at, min(end, ring.size_bytes))]
    return [*parts, (0, end - ring.size_bytes)] if end > ring.size_bytes else parts


def _of_layer(layer: StreamLayer, ring: RingOf, role: str, steps: Steps) -> Iterator[Row]:
    for start, stop in _parts(layer, ring):
        place = ring.base + start, ring.base + stop
        row = _row(role, steps, place, WEIGHTS + layer.operator)
        what = f"{len(layer.parameters)} parameters of {layer.name}, run in step {layer.number + 1}"
        yield {**row, "what": what, "size": format_bytes(layer.size_bytes)}


def _lost(shown: DisplayedPlan, stream: Stream, ring: RingOf) -> Iterator[Row]:
    """Lost gaps at a ring's end, drawn while the layer before them is there."""
    lives = placed(shown, stream, ring)
    for gap in stream.gaps[ring.key]:
        if gap.before not in lives:
            continue
        left, right = lives[gap.before]
        for number, (start, stop) in lives.items():
            inside = any(
                a < gap.stop and gap.start < b for a, b in _parts(stream.layers[number], ring)
            )
            if inside and number < gap.before:
                left = max(left, stop)
            elif inside and number > gap.before:
                right = min(right, start)
        if left < right:
            row = _row("lost", (left, right), (ring.base + gap.start, ring.base + gap.stop), LOST)
            after = stream.layers[gap.number]
            what = f"too short for {after.name} ({format_bytes(after.size_bytes)})"
            what += ", which begins at 0 again"
            yield {**row, "what": what, "size": format_bytes(gap.stop - gap.start)}


def _row(role: str, steps: Steps, where: tuple[int, int], name: str) -> Row:
    colour, hatch, about = STREAMED[role]
    left, right = steps
    row = row_of((int(left), ceil(right)), where, "made here", name)
    row |= {"left": left, "right": right, "label_x": (left + right) / 2}
    return {**row, "colour": colour, "hatch": hatch, "story": f"{role}: {about}", "stay": role}
