"""The layers and rings of a streaming plan, checked, in bytes as they are held.

Parameters are held as float32 or int32: a plan made for one or two bytes an element runs with
every size and offset scaled to four, as `execute` does it.
"""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from planners.backends.disk.gates import Gates, gates_of
from planners.core.details.streamed import Ring, StreamedLayer, StreamedParameters
from planners.core.errors import BadInput
from planners.core.graph import Graph
from planners.core.integers import rounded_up
from planners.core.plan import Plan, streamed_of
from planners.core.program import Box, whole

ELEMENT_BYTES = 4
LARGEST = 2**34
"""Bytes of rings beyond which a plan is not run: they are really allocated."""
_HELD = {"float32": "F32"} | dict.fromkeys(("int64", "int32", "int16", "int8", "uint8"), "I32")
_HELD |= {"bool": "I32"}


@dataclass(frozen=True, slots=True)
class Held:
    """A parameter, or a box of one, as it lies in a file and in a ring.

    `stored` is its name in the file, `dtype` how the file calls its type (`F32`, `I32`).
    """

    stored: str
    tensor: str
    box: Box
    dtype: str

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(stop - start for start, stop in self.box)

    @property
    def size_bytes(self) -> int:
        return prod(self.shape) * ELEMENT_BYTES


@dataclass(frozen=True, slots=True)
class Streamed:
    """A layer that streams: its operator by position, its parameters, an offset in each ring.

    `part` is the box of its output that a slice makes. Times are as planned, in seconds.
    """

    name: str
    operator: int
    held: tuple[Held, ...]
    size_bytes: int
    offsets: tuple[int, ...]
    part: Box | None
    read_s: float
    copy_s: float
    kernel_s: float


@dataclass(frozen=True, slots=True)
class DiskLayout:
    """A plan's layers and rings. `rings` are bytes: the CPU's and the device's, or one for both.

    `scale` is what sizes were multiplied with to hold four bytes an element. Rings mapped `twice`
    are whole pages, and layers lie end to end in them: where a ring was planned with a part of a
    page they lie elsewhere than planned, and wait no longer. In a `joint` plan the ring has the
    activations too, which run elsewhere.
    """

    pipeline: str
    rings: tuple[int, ...]
    layers: tuple[Streamed, ...]
    gates: tuple[Gates, ...]
    activation_bytes: int
    delay_s: float
    preload_s: float
    scale: int
    twice: bool = False
    joint: bool = False

    @property
    def size_bytes(self) -> int:
        """Bytes of all layers."""
        return sum(layer.size_bytes for layer in self.layers)


def layout_of(plan: Plan) -> DiskLayout:
    """The layout of a streaming plan.

    Raises `BadInput` for other plans, for details that contradict the graph or the rings, and
    for parameters that four bytes an element cannot hold.
    """
    streamed = streamed_of(plan)
    if plan.graph.state:
        raise BadInput("what a network keeps from run to run (state) is not streamed from files")
    try:
        return _layout(plan.graph, streamed)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        reason = f"missing {error}" if isinstance(error, KeyError) else str(error)
        raise BadInput(f"malformed plan: details of streaming: {reason}") from error


def _layout(graph: Graph, streamed: StreamedParameters) -> DiskLayout:
    width = graph.bytes_per_element
    if not isinstance(width, int) or ELEMENT_BYTES % width:
        raise BadInput(
            f"streaming runs in float32: plans of 1, 2 or 4 bytes an element, not {width}"
        )
    scale = ELEMENT_BYTES // width
    names: tuple[Ring, ...] = ("shared",) if "shared" in streamed.rings else ("cpu", "gpu")
    rings = tuple(streamed.rings[name] * scale for name in names)
    taken: dict[str, int] = {}
    layers = tuple(_layer(graph, row, names, scale, taken) for row in streamed.layers)
    _check(graph, layers)
    if streamed.twice:
        rings, layers = _end_to_end(rings, layers)
    _check_places(rings, layers, streamed.twice)
    if sum(rings) > LARGEST:
        raise BadInput(f"rings are allocated as planned: {sum(rings)} bytes are over {LARGEST}")
    sizes = [layer.size_bytes for layer in layers]
    offsets = [[layer.offsets[i] for layer in layers] for i in range(len(rings))]
    return DiskLayout(
        pipeline=streamed.pipeline,
        rings=rings,
        layers=layers,
        gates=gates_of(streamed.pipeline, sizes, offsets, rings),
        activation_bytes=streamed.activation_bytes * scale,
        delay_s=streamed.delay_s,
        preload_s=streamed.preload_s,
        scale=scale,
        twice=streamed.twice,
        joint=streamed.joint,
    )


def _layer(
    graph: Graph, row: StreamedLayer, names: Sequence[Ring], scale: int, taken: dict[str, int]
) -> Streamed:
    position, part = graph.index[row.operator], row.part
    parameters = []
    for number, name in enumerate(row.parameters):
        box = whole(graph.tensors[name]).box if row.boxes is None else row.boxes[number]
        parameters.append(_held(graph, name, box, taken))
    label = row.operator if part is None else f"{row.operator}{_suffix(part)}"
    size = sum(item.size_bytes for item in parameters)
    if size != row.size_bytes * scale:
        raise BadInput(f"layer {label!r} has {size} bytes of parameters, the plan says otherwise")
    return Streamed(
        name=label,
        operator=position,
        held=tuple(parameters),
        size_bytes=size,
        offsets=tuple(row.offsets[name] * scale for name in names),
        part=part,
        read_s=row.read_s,
        copy_s=row.copy_s,
        kernel_s=row.kernel_s,
    )


def _held(graph: Graph, name: str, box: Box, taken: dict[str, int]) -> Held:
    """A name of its own for each: parameters that are read again are stored again."""
    tensor = graph.tensors[name]
    if tensor.dtype not in _HELD:
        raise BadInput(f"streaming holds float32 and whole numbers, not {name!r} in {tensor.dtype}")
    if tensor.kind != "parameter" or len(box) != len(tensor.shape):
        raise BadInput(f"{name!r} is not a parameter with {len(box)} axes")
    stored = name if box == whole(tensor).box else f"{name}{_suffix(box)}"
    taken[stored] = taken.get(stored, 0) + 1
    if taken[stored] > 1:
        stored = f"{stored}@{taken[stored]}"
    return Held(stored, name, box, _HELD[tensor.dtype])


def _suffix(box: Box) -> str:
    return "[" + ",".join(f"{start}:{stop}" for start, stop in box) + "]"


def _check(graph: Graph, layers: Sequence[Streamed]) -> None:
    """Every operator runs, in order, with all of its parameters where it is not sliced."""
    order = list(dict.fromkeys(layer.operator for layer in layers))
    if order != list(range(len(graph.operators))):
        raise BadInput("malformed plan: its layers are not the graph's operators in their order")
    for layer in layers:
        op = graph.operators[layer.operator]
        if layer.part is None and tuple(item.tensor for item in layer.held) != op.parameters:
            raise BadInput(f"malformed plan: layer {layer.name!r} lacks parameters of its operator")


def _check_places(rings: Sequence[int], layers: Sequence[Streamed], twice: bool) -> None:
    for layer in layers:
        for at, ring in zip(layer.offsets, rings, strict=True):
            if layer.size_bytes > ring:
                raise BadInput(
                    f"layer {layer.name!r} has {layer.size_bytes} bytes of parameters, the ring "
                    f"{ring}: plan with a larger ring, or in slices"
                )
            end = at if twice else at + layer.size_bytes
            if layer.size_bytes and not 0 <= at <= end <= ring:
                raise BadInput(f"malformed plan: layer {layer.name!r} lies outside of its ring")


def _end_to_end(
    rings: Sequence[int], layers: Sequence[Streamed]
) -> tuple[tuple[int, ...], tuple[Streamed, ...]]:
    """Rings of whole pages, layers end to end in them: `planners.streaming.schedule.ring`."""
    rings = tuple(rounded_up(ring, mmap.PAGESIZE) for ring in rings)
    placed, tail = [], 0
    for layer in layers:
        offsets = tuple(tail % ring if layer.size_bytes else 0 for ring in rings)
        placed.append(replace(layer, offsets=offsets))
        tail += layer.size_bytes
    return rings, tuple(placed)
