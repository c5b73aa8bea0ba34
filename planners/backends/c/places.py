"""Where the tensors of a network lie, as the kernels' `place` in C."""

from __future__ import annotations

from dataclasses import dataclass

from planners.backends.int8.geometry import Image, image
from planners.core.details.pool import Buffer, KernelRun, PoolLayout
from planners.core.errors import BadInput
from planners.core.graph import Graph
from planners.overlap.model.segments import Segments

MOST_BYTES = 2**30  # Twice as much is still an int32, which is what addresses are.


def as_image(graph: Graph, name: str) -> Image:
    """A tensor as pixels. Raises `BadInput` where it has more than one image."""
    shape = graph.tensors[name].shape
    if len(shape) == 4 and shape[0] != 1:
        raise BadInput(f"tensor {name!r} has batch {shape[0]}: C code is for a batch of 1")
    return image(shape)


def shown_as(seen: Image) -> str:
    """Rows, columns and channels, as comments have them."""
    return f"{seen.height}x{seen.width}x{seen.channels}"


@dataclass(frozen=True, slots=True)
class PlaceFields:
    """The fields of a `place` (see kernels.h)."""

    at: int
    height: int
    width: int
    channels: int
    bytes: int
    pixels: int
    columns: int = 0

    @property
    def initializer(self) -> str:
        fields = ("at", "height", "width", "channels", "bytes", "pixels", "columns")
        return "{" + ", ".join(f".{f} = {getattr(self, f)}" for f in fields) + "}"


def whole(graph: Graph, layout: PoolLayout, name: str) -> PlaceFields:
    """A tensor that lies whole in the pool."""
    seen = as_image(graph, name)
    at = layout.offsets[name] % layout.pool_bytes
    pitch = max(seen.channels, layout.pitches.get(name, 0))
    return PlaceFields(at, seen.height, seen.width, seen.channels, pitch, seen.pixels)


def kept(graph: Graph, layout: PoolLayout, buffer: Buffer, columns: int = 0) -> PlaceFields:
    """A tensor of which a buffer keeps some pixels."""
    seen = as_image(graph, buffer.tensor)
    at = buffer.offset % layout.pool_bytes
    size = buffer.pixel_bytes
    return PlaceFields(at, seen.height, seen.width, size, size, buffer.pixels, columns)


def flat(place: PlaceFields, seen: Image, name: str) -> PlaceFields:
    """The same bytes as one pixel; all of the tensor must be there, in order."""
    if place.pixels != seen.pixels or place.columns:
        raise BadInput(f"tensor {name!r} is flattened, but its buffer keeps only a part of it")
    if place.bytes != seen.channels and seen.pixels > 1:
        raise BadInput(f"tensor {name!r} is read as one vector, so it cannot be padded")
    size = seen.pixels * seen.channels
    return PlaceFields(place.at, 1, 1, size, size, 1)


def check_layout(graph: Graph, layout: PoolLayout) -> None:
    """Raises `BadInput` unless the layout can be addressed and names all that it must.

    Inputs are written before the first run and outputs read after the last one: until an input is
    first read, and once an output is made, nothing may be written over it. Whether all else is
    still there when it is read is for the plan's `check` to say.
    """
    if not 0 < layout.pool_bytes <= MOST_BYTES:
        raise BadInput(f"C code needs a pool of 1 to {MOST_BYTES} bytes, not {layout.pool_bytes}")
    run = [name for item in layout.runs for name in item.operators]
    if sorted(run) != sorted(op.name for op in graph.operators):
        raise BadInput(f"the layout does not run each operator of {graph.name!r:.60} once")
    for name in (*graph.inputs, *graph.outputs):
        if name not in layout.offsets:
            raise BadInput(f"the layout has no place for {name!r}")
    for name in (*layout.offsets, *(b.tensor for item in layout.runs for b in item.buffers)):
        if name not in graph.tensors:
            raise BadInput(f"the layout places {name!r:.60}, which is not a tensor")
    _check_ends(graph, layout, [_written(graph, layout, item) for item in layout.runs])


Range = tuple[str, int, int]
"""Whose bytes, their first address and their number."""


def _written(graph: Graph, layout: PoolLayout, run: KernelRun) -> list[Range]:
    """What a run writes. Raises `BadInput` where that is more than the pool has."""
    outputs = [name for op in graph.operators if op.name in run.operators for name in op.outputs]
    ranges = [_range(graph, layout, name) for name in outputs if name in layout.offsets]
    ranges += [(b.tensor, b.offset, b.size_bytes) for b in run.buffers]
    for name, _, size in ranges:
        if size > layout.pool_bytes:
            raise BadInput(f"tensor {name!r} of {size} bytes is larger than the pool")
    return ranges


def _check_ends(graph: Graph, layout: PoolLayout, written: list[list[Range]]) -> None:
    """Nothing is written over inputs that are still to be read, or over outputs."""
    number = {name: i for i, run in enumerate(layout.runs) for name in run.operators}
    inputs = [_range(graph, layout, name) for name in graph.inputs]
    for i, given in enumerate(inputs):
        readers = [number[graph.operators[p].name] for p in graph.consumers[given[0]]]
        before = written[: min(readers, default=0)]
        _check_apart(layout, given, [*inputs[:i], *(r for w in before for r in w)])
    for name in graph.outputs:
        writer = (
            number[graph.operators[graph.producer[name]].name] if name in graph.producer else -1
        )
        after = [r for w in written[writer + 1 :] for r in w]
        _check_apart(layout, _range(graph, layout, name), after)


def _check_apart(layout: PoolLayout, one: Range, others: list[Range]) -> None:
    name, at, size = one
    for other, start, length in others:
        here, there = (start - at) % layout.pool_bytes, (at - start) % layout.pool_bytes
        if here < size or there < length:
            raise BadInput(f"{other!r} is written over {name!r}, an input or output of the network")


def _range(graph: Graph, layout: PoolLayout, name: str) -> Range:
    segments = Segments(graph, name)
    pitch = max(segments.size_bytes, layout.pitches.get(name, 0))
    return name, layout.offsets[name], segments.span_bytes(pitch)


def distance(layout: PoolLayout, source: str, target: str) -> int:
    """By how many bytes `target` begins before `source` in the pool, d of the paper's eq. 1."""
    return (layout.offsets[source] - layout.offsets[target]) % layout.pool_bytes


def buffer_of(run: KernelRun, name: str, sums: bool = False) -> Buffer | None:
    """The run's buffer for a tensor, or for sums of its values."""
    return next((b for b in run.buffers if b.tensor == name and b.sums == sums), None)
