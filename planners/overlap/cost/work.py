"""What the kernels of a layout do: MACs, bytes of RAM and flash, and checks of addresses.

Counts only, no machine: `mcu` turns them into time and energy.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from math import prod

from planners.core.details.pool import KernelRun, PoolLayout
from planners.core.errors import BadInput
from planners.core.graph import Graph, Operator
from planners.overlap.baselines.frameworks import is_depthwise
from planners.overlap.model.segments import Segments

ACCUMULATOR_BYTES = 4
IM2COL_BYTES = 2
"""TinyEngine widens what it copies to 16 bits."""


@dataclass(frozen=True, slots=True)
class KernelStyle:
    """How the kernels are written, where the layout leaves it open.

    A weight is read from flash once for `pixels` output pixels, and a byte of the input from RAM
    once for `channels` output channels: they are in registers meanwhile. Two of each is the
    paper's `Dot` (2×2×16, section 6.1), one of each a plain loop. Every `segment_bytes` of a pixel
    that is loaded or stored needs a modulo operation (section 5.3); 0: as the run sets it, or
    all of the pixel. Raises `BadInput` for values that make no sense.
    """

    pixels: int = 2
    channels: int = 2
    segment_bytes: int = 0

    def __post_init__(self) -> None:
        if self.pixels < 1 or self.channels < 1 or self.segment_bytes < 0:
            raise BadInput("pixels and channels must be one or more, segment_bytes zero or more")

    def segments(self, pixel_bytes: int) -> int:
        """Segments that a pixel of so many bytes consists of."""
        return -(-pixel_bytes // self.segment_bytes) if self.segment_bytes else 1


DOT = KernelStyle()
"""The paper's."""


@dataclass(frozen=True, slots=True)
class KernelWork:
    """What is done: `macs` as the graph counts them (padding too), `repeated_macs` on top.

    Bytes count each access. `modulos`: addresses that are taken modulo the pool or a ring.
    """

    macs: int = 0
    repeated_macs: int = 0
    ram_read_bytes: int = 0
    ram_written_bytes: int = 0
    flash_bytes: int = 0
    modulos: int = 0

    def __add__(self, other: KernelWork) -> KernelWork:
        return KernelWork(
            *(getattr(self, f.name) + getattr(other, f.name) for f in fields(KernelWork))
        )


def work(graph: Graph, layout: PoolLayout, kernels: KernelStyle = DOT) -> KernelWork:
    """What all runs of a layout do, together."""
    return sum((work_of_run(graph, run, kernels) for run in layout.runs), KernelWork())


def work_of_run(graph: Graph, run: KernelRun, kernels: KernelStyle = DOT) -> KernelWork:
    """What one run does; in forms `window`, `columns` and `tile` the expansion is made anew."""
    if run.segment_bytes and not kernels.segment_bytes:
        kernels = replace(kernels, segment_bytes=run.segment_bytes)
    ops = [graph.operators[graph.index[name]] for name in run.operators]
    if run.form in ("alone", "line"):
        return sum((work_of_operator(graph, op, kernels) for op in ops), KernelWork())
    expand, *rest = ops
    done = _expansion(graph, run, expand, rest[0], kernels)
    for op in rest:
        done += work_of_operator(graph, op, kernels)
    return done + _tiles(graph, run, rest, kernels)


def work_of_operator(graph: Graph, op: Operator, kernels: KernelStyle = DOT) -> KernelWork:
    """What one operator does that computes each pixel once.

    Convolutions and linears read weights and inputs MAC by MAC, as `kernels` says; a pool reads
    its window for each output; anything else reads each operand once, or once for each element of
    the output where it is broadcast. Biases and scales are not counted.
    """
    out = Segments(graph, op.outputs[0])
    stored = KernelWork(
        ram_written_bytes=sum(graph.size_bytes(t) for t in op.outputs),
        modulos=out.count * kernels.segments(out.size_bytes),
    )
    if op.kind in ("conv2d", "linear"):
        return _products(graph, op, out.count, kernels) + stored
    flash = sum(graph.size_bytes(t) for t in op.parameters)
    return sum(
        (_operand(graph, op, t, kernels) for t in op.inputs), stored + KernelWork(flash_bytes=flash)
    )


def _products(graph: Graph, op: Operator, pixels: int, kernels: KernelStyle) -> KernelWork:
    """MACs of so many output pixels of a convolution or linear, and what is read for them."""
    out, source = Segments(graph, op.outputs[0]), Segments(graph, op.inputs[0])
    macs = op.macs * pixels // out.count
    shared = min(kernels.channels, max(1, out.channels // op.groups))
    under = prod(op.kernel) if op.kind == "conv2d" else source.count // out.count
    weight = (op.parameters or op.inputs)[0]
    return KernelWork(
        macs=macs,
        ram_read_bytes=graph.bytes_of(source.tensor, -(-macs // shared)),
        flash_bytes=graph.bytes_of(weight, -(-macs // min(kernels.pixels, pixels))),
        modulos=pixels * under * kernels.segments(source.size_bytes),
    )


def _operand(graph: Graph, op: Operator, tensor: str, kernels: KernelStyle) -> KernelWork:
    """What an operator without weights reads of one operand."""
    out, source = Segments(graph, op.outputs[0]), Segments(graph, tensor)
    loads = source.count
    if "pool" in op.kind and op.kernel:
        loads = out.count * prod(op.kernel)
    elif op.kind != "cat":
        loads = max(loads, out.count)
    return KernelWork(
        ram_read_bytes=loads * source.size_bytes,
        modulos=loads * kernels.segments(source.size_bytes),
    )


def _expansion(
    graph: Graph, run: KernelRun, expand: Operator, depthwise: Operator, kernels: KernelStyle
) -> KernelWork:
    """The first operator of a bottleneck that computes what is under each window anew."""
    pixels = expanded_pixels(graph, depthwise, reuse=run.form == "columns")
    middle = Segments(graph, expand.outputs[0])
    tiles = -(-middle.channels // run.channels) if run.form == "tile" else 1
    products = _products(graph, expand, pixels, kernels)
    per_tile = kernels.segments(-(-middle.size_bytes // tiles))
    return KernelWork(
        macs=expand.macs,
        repeated_macs=products.macs - expand.macs,
        ram_read_bytes=products.ram_read_bytes,
        ram_written_bytes=pixels * middle.size_bytes,
        flash_bytes=products.flash_bytes,
        modulos=tiles * (products.modulos + pixels * per_tile),
    )


def expanded_pixels(graph: Graph, depthwise: Operator, *, reuse: bool) -> int:
    """Pixels under all windows of a depthwise convolution, each counted as often as it is made.

    With `reuse` those columns that the window before had, in the same row of outputs, are not
    made again. Padding is not made.
    """
    shapes = (graph.tensors[t].shape[2:] for t in (depthwise.outputs[0], depthwise.inputs[0]))
    spans = []
    for axis, (outputs, inputs) in enumerate(zip(*shapes, strict=True)):
        stride, padding = depthwise.stride[axis], depthwise.padding[axis]
        starts = (i * stride - padding for i in range(outputs))
        size = depthwise.kernel[axis]
        spans.append([range(max(0, at), min(inputs, at + size)) for at in starts])
    rows = sum(map(len, spans[0]))
    return rows * (len(set().union(*spans[1])) if reuse else sum(map(len, spans[1])))


def _tiles(graph: Graph, run: KernelRun, rest: list[Operator], kernels: KernelStyle) -> KernelWork:
    """What tiles of channels cost on top: sums in RAM between two, and each tile's addresses."""
    if run.form != "tile":
        return KernelWork()
    middle, out = (Segments(graph, op.outputs[0]) for op in rest[:2])
    again = -(-middle.channels // run.channels) - 1
    moved = again * ACCUMULATOR_BYTES * out.count * out.channels
    loads = out.count * (prod(rest[0].kernel) + 1 + 1)  # B's pixels in and C's out, C's in
    return KernelWork(
        ram_read_bytes=moved,
        ram_written_bytes=moved,
        modulos=again * loads * kernels.segments(graph.bytes_of(middle.tensor, run.channels)),
    )


def tinyengine_work(graph: Graph, kernels: KernelStyle = DOT) -> KernelWork:
    """What TinyEngine's kernels do, tensor by tensor: no modulo operation, and copies of inputs.

    A convolution copies what is under each window, widened to 16 bits, even where it is one pixel
    (the vMCU paper's section 7.2); a depthwise one each channel with its padding.
    """
    return sum((_tinyengine(graph, op, kernels) for op in graph.operators), KernelWork())


def _tinyengine(graph: Graph, op: Operator, kernels: KernelStyle) -> KernelWork:
    plain = work_of_operator(graph, op, kernels)
    copied, written = _copies(graph, op)
    widened = IM2COL_BYTES if op.kind == "conv2d" else 1
    return KernelWork(
        macs=plain.macs,
        ram_read_bytes=plain.ram_read_bytes * widened + copied,
        ram_written_bytes=plain.ram_written_bytes + written * IM2COL_BYTES,
        flash_bytes=plain.flash_bytes,
    )


def _copies(graph: Graph, op: Operator) -> tuple[int, int]:
    """Bytes of the input that are copied, and elements that the copy has."""
    if op.kind != "conv2d":
        return 0, 0
    size = graph.size_bytes(op.inputs[0])
    if is_depthwise(graph, op):
        batch, channels, *image = graph.tensors[op.inputs[0]].shape
        padded = prod(n + 2 * p for n, p in zip(image, op.padding, strict=True))
        return size, batch * channels * padded
    out, source = Segments(graph, op.outputs[0]), Segments(graph, op.inputs[0])
    under = out.count * prod(op.kernel) * source.channels
    return graph.bytes_of(source.tensor, under), under
