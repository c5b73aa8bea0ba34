"""What an operator of a graph does, as far as int8 kernels exist for it; no numbers yet."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planners.backends.int8.activations import function_of
from planners.backends.int8.geometry import Image, image
from planners.backends.int8.net import Channels, Kind
from planners.core.errors import BadInput
from planners.core.graph import Graph, Operator, Part

Indices = NDArray[np.int64]

KINDS: dict[str, Kind] = {
    "conv2d": "conv",
    "linear": "linear",
    "max_pool2d": "max_pool",
    "avg_pool2d": "avg_pool",
    "adaptive_avg_pool2d": "avg_pool",
    "mean": "avg_pool",
    "add": "add",
    "mul": "mul",
    "cat": "cat",
}

COPIES = ("contiguous", "clone", "alias", "detach", "expand", "view_as", "reshape_as")


@dataclass(frozen=True, slots=True, eq=False)
class Sketch:
    """An operator as `QOp` has it, before weights and scales.

    `main` is the part that gives its kind, `norm` the batch norm after it, `activations` what is
    applied to its value, in order. For a linear operator `columns` says where in its input's
    memory each column of the weight lies; `channels` is as in `QOp`, but may be there for any
    operator.
    """

    kind: Kind
    main: Part
    norm: Part | None
    activations: tuple[Part, ...]
    inputs: tuple[str, ...]
    channels: tuple[Channels, ...]
    columns: Indices | None
    kernel: tuple[int, int] = (1, 1)
    stride: tuple[int, int] = (1, 1)
    padding: tuple[int, int] = (0, 0)
    dilation: tuple[int, int] = (1, 1)


def sketch(graph: Graph, op: Operator) -> Sketch:
    """What int8 kernels do for an operator. Raises `BadInput` where none exist for it."""
    parts = op.parts or (Part(op.name, op.kind),)
    named = [part for part in parts if part.name == op.name]
    main = next(iter(named or [part for part in parts if part.kind == op.kind]), None)
    if main is None or len(op.outputs) != 1:
        raise unknown(op, "is not one call with a value")
    at = parts.index(main)
    if at and not main.detailed:
        raise unknown(op, f"has {parts[0].kind!r} before it")
    after = list(parts[at + 1 :])
    norm = after.pop(0) if after and after[0].kind == "batch_norm" else None
    kind = KINDS.get(main.kind, "table")
    activations = tuple([main, *after] if kind == "table" else after)
    for part in activations:
        if function_of(part.kind, {}) is None:
            raise unknown(op, f"has {part.kind!r}")
    if norm is not None and kind not in ("conv", "linear"):
        raise unknown(op, "has a batch norm without a convolution")
    if kind not in ("conv", "linear") and op.parameters:
        raise unknown(op, f"has parameters, {op.parameters[0]!r} among them")
    reads = [_ElementRead(graph, op, name) for name in _operands(op, main)]
    if kind == "mul" and reads and reads[0].image.pixels < reads[-1].image.pixels:
        reads.reverse()
    spec = Sketch(
        kind,
        main,
        norm,
        activations,
        tuple(read.tensor for read in reads),
        tuple(read.channels() for read in reads) if kind != "linear" else (None,),
        reads[0].columns() if kind == "linear" and reads else None,
        **_window(graph, op, kind),
    )
    _check(graph, op, spec, [read.image for read in reads])
    return spec


def unknown(op: Operator, why: str) -> BadInput:
    """The error for an operator that has no int8 kernel."""
    kernels = ", ".join(KINDS)
    return BadInput(
        f"operator {op.name!r} of kind {op.kind!r} {why}: int8 kernels exist for {kernels} of "
        "images one at a time, and for activations of one operand"
    )


def _operands(op: Operator, main: Part) -> tuple[str, ...]:
    """The values, not parameters, that the main part reads; else the op's inputs."""
    if main.detailed:
        return tuple(name for name in main.reads if name not in op.parameters)
    return op.inputs


class _ElementRead:
    """An operand of an operator: which element of an input each of its elements is."""

    def __init__(self, graph: Graph, op: Operator, name: str) -> None:
        self.op = op
        self.parts = {part.name: part for part in op.parts}
        views: list[Part] = []
        while name not in op.inputs:
            part = self.parts.get(name)
            if part is None or not part.reads or not part.shape:
                raise unknown(op, f"reads {name!r}, which is computed inside of it")
            views.append(part)
            name = part.reads[0]
        self.tensor = name
        self.shape = graph.tensors[name].shape
        if len(self.shape) == 4 and self.shape[0] != 1:
            raise unknown(op, f"reads {self.shape[0]} images at once")
        elements = np.arange(graph.tensors[name].elements).reshape(self.shape)
        for part in reversed(views):
            elements = self._viewed(part, elements)
        self.elements = elements
        self.image = image(elements.shape)

    def _viewed(self, part: Part, value: Indices) -> Indices:
        word, numbers = (part.relation or ("",))[0], [int(n) for n in part.relation[1:]]
        if word == "reshape":
            return value.reshape(part.shape)
        if part.kind in COPIES and value.shape == part.shape:
            return value
        if word == "permute":
            return value.transpose(numbers)
        if word == "slice":
            axis, start, step = numbers
            stop = start + part.shape[axis] * step
            return value[(slice(None),) * axis + (slice(start, stop, step),)]
        if word == "select":
            return np.take(value, [numbers[1]], axis=numbers[0]).squeeze(numbers[0])
        raise unknown(self.op, f"reads through {part.kind!r}")

    def _places(self) -> Indices:
        """Where in the input's memory each element of the operand lies, in the same shape."""
        pixels, channels = image(self.shape).pixels, image(self.shape).channels
        if len(self.shape) != 4:
            return self.elements
        return self.elements % pixels * channels + self.elements // pixels

    def channels(self) -> Channels:
        """Which channels of the input are read at each pixel; None for all, as they lie."""
        places = self._places()
        if places.ndim == 4:
            places = places[0].transpose(1, 2, 0)
        places = places.reshape(-1, self.image.channels)
        stored = image(self.shape).channels
        chosen: Indices = places[0].copy()
        rows = np.arange(len(places))[:, None] * stored
        if len(places) != image(self.shape).pixels or not np.array_equal(places, rows + chosen):
            raise unknown(self.op, "reads pixels in another order")
        return None if np.array_equal(chosen, np.arange(stored)) else chosen

    def columns(self) -> Indices | None:
        """Where each column of a linear operator's weight lies; None where rows lie as they are."""
        places = self._places().reshape(-1, self.elements.shape[-1])
        if np.array_equal(places.ravel(), np.arange(self.elements.size)):
            return None
        if len(places) != 1:
            raise unknown(self.op, "reads rows in another order")
        return places.ravel()


def _window(graph: Graph, op: Operator, kind: Kind) -> dict[str, tuple[int, int]]:
    if kind in ("conv", "max_pool", "avg_pool") and op.kernel:
        if len(op.kernel) != 2:
            raise unknown(op, "has a window that is not of two axes")
        names = ("kernel", "stride", "padding", "dilation")
        pairs = ((name, getattr(op, name)) for name in names)
        return {name: (int(pair[0]), int(pair[1])) for name, pair in pairs}
    if kind != "avg_pool":
        return {}
    shape, out = graph.tensors[op.inputs[0]].shape, graph.tensors[op.outputs[0]].shape
    source, target = image(shape), image(out)
    exact = source.height % target.height == 0 and source.width % target.width == 0
    if len(shape) != 4 or source.channels != target.channels or not exact:
        raise unknown(op, "averages over windows of several sizes, or other axes than an image's")
    step = (source.height // target.height, source.width // target.width)
    return {"kernel": step, "stride": step}


def _check(graph: Graph, op: Operator, spec: Sketch, reads: list[Image]) -> None:
    """The operands' shapes suit the kernels."""
    target = image(graph.tensors[op.outputs[0]].shape)
    wanted = {"add": 2, "mul": 2, "cat": len(reads) or 1}.get(spec.kind, 1)
    if len(reads) != wanted:
        raise unknown(op, f"reads {len(reads)} values")
    if spec.kind in ("add", "mul", "table") and reads[0] != target:
        raise unknown(op, "broadcasts its first operand")
    if spec.kind == "add" and reads[1] != target:
        raise unknown(op, "broadcasts its second operand")
    if spec.kind == "mul" and reads[1] not in (target, Image(1, 1, target.channels)):
        raise unknown(op, "broadcasts its second operand over channels")
    if spec.kind == "cat":
        same = all(read[:2] == target[:2] for read in reads)
        if not same or sum(read.channels for read in reads) != target.channels:
            raise unknown(op, "joins along other axes than channels")
