"""The loops of an operator as an array of multipliers sees them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, prod

from planners.core.access import CONVOLUTIONS, ELEMENTWISE, NORMS, POOLS, UNARY, reduced
from planners.core.boxes import Box
from planners.core.graph import Graph, Operator
from planners.core.relations import full

PRODUCTS = frozenset({"matmul", "bmm", "einsum", "scaled_dot_product_attention"})
"""Kinds whose products are other ones for each of their first axes: nothing is held for two."""
POOLED = POOLS | {f"adaptive_{kind}_pool{n}d" for kind in ("avg", "max") for n in (1, 2, 3)}
MEANS = frozenset({"mean", "sum"})
EACH_BY_ITSELF = ("depthwise", "pool", "mean")
"""Kinds of which an output channel reads one input channel: their maps have no groups."""
MOST_KNOWN = 10_000
"""Operators of which is held how they loop: schedules are timed often."""
KEEPS = ELEMENTWISE | NORMS
KEPT = (("same",), ("channels",))
"""What after a product keeps its elements where they are: kinds, and relations of parts."""
LOOKED_UP = UNARY - {"relu", "relu6", "hardtanh", "clamp", "clamp_min", "neg", "abs", "leaky_relu"}
LOOKED_UP |= {"softmax", "log_softmax", "erf", "log"}
"""Functions that hardware looks up in a table, which a rate `lut` is for."""


@dataclass(frozen=True, slots=True)
class Extents:
    """How far the loops of a part of an operator go: a product of `pixels` (rows, columns),
    `outputs` channels, one entry for each run of them that reads the same inputs, `inputs` channels
    and `kernel` elements, `times` over."""

    times: int
    pixels: tuple[int, int]
    outputs: tuple[tuple[int, int], ...]
    inputs: int
    kernel: int


@dataclass(frozen=True, slots=True)
class OperatorLoops:
    """What of an operator is a loop: see `loop_nest`.

    `kinds` of maps that it can take, the most special first; none where it is no work of an array.
    `shape` is the product's, and `axes` are those of it that are rows, columns and outputs, -1 for
    none. The output has the same axes unless what follows `moves` elements: then a part of it has
    no rows. `group` is how many output channels read the same inputs, `batched` whether each of the
    other axes has weights of its own, `reduced` how many inputs a part's `sums` are a range of.
    `rates` are the names that a machine may have a rate by, for each thing that it does.
    """

    kinds: tuple[str, ...]
    rates: tuple[tuple[str, ...], ...]
    shape: tuple[int, ...]
    axes: tuple[int, int, int]
    moves: bool
    inputs: Fraction
    kernel: int
    group: int
    batched: bool
    reduced: int

    def like(self, box: Box) -> Box:
        """A box that takes as many steps, the same one for many: where it lies does not matter, but
        for the channels that groups part."""
        grouped = self.grouped_axis
        return tuple(
            (start, stop) if axis == grouped else (0, stop - start)
            for axis, (start, stop) in enumerate(box)
        )

    @property
    def grouped_axis(self) -> int:
        """The axis of output channels where groups part them; -1 for none."""
        outputs = self.axes[2]
        parted = outputs >= 0 and not self.moves and self.group < self.shape[outputs]
        return outputs if parted and self.group > 1 else -1

    def extents(self, box: Box, sums: tuple[int, int] | None, kind: str) -> Extents:
        """Of the part that makes a box of the first output, on a map for one of its kinds."""
        inputs = self._inputs(sums, kind)
        if self.moves:
            elements = prod(stop - start for start, stop in box)
            if elements != prod(self.shape):
                channels = min(self.group, elements) or 1
                return Extents(
                    1, (1, -(-elements // channels)), ((1, channels),), inputs, self.kernel
                )
            box = full(self.shape)
        rows, columns, outputs = self.axes
        sizes = [stop - start for start, stop in box]
        others = prod(size for axis, size in enumerate(sizes) if axis not in self.axes)
        high = sizes[rows] if rows >= 0 else 1
        wide = sizes[columns] if columns >= 0 else 1
        if not self.batched:
            high, others = high * others, 1
        first, last = box[outputs] if outputs >= 0 else (0, 1)
        group = last if kind in EACH_BY_ITSELF else self.group
        return Extents(others, (high, wide), tuple(_runs(first, last, group)), inputs, self.kernel)

    def _inputs(self, sums: tuple[int, int] | None, kind: str) -> int:
        if kind in EACH_BY_ITSELF:
            return 1
        if not sums or not self.reduced:
            return max(1, ceil(self.inputs))
        return max(1, ceil(self.inputs * Fraction(sums[1] - sums[0], self.reduced)))


def _runs(first: int, last: int, group: int) -> Iterator[tuple[int, int]]:
    """How many runs of how many channels `[first, last)` are, where each group has so many."""
    group = max(1, group)
    head = min(last, -(-first // group) * group)
    tail = max(head, last // group * group)
    if head > first:
        yield 1, head - first
    if tail > head:
        yield (tail - head) // group, group
    if last > tail:
        yield 1, last - tail


_known: dict[tuple[int, int], tuple[Graph, Operator, OperatorLoops]] = {}


def loop_nest(graph: Graph, op: Operator) -> OperatorLoops:
    """The loops of an operator, from its kind, window and MACs.

    A convolution loops over rows, columns, output and input channels and its window; a linear layer
    has one row; other products loop over the last two axes, again for each of the others; a pool
    has no input channels. How many inputs there are follows from the MACs of an output element.
    """
    key = (id(graph), id(op))  # Both are held, so that no other has their numbers.
    if key not in _known:
        if len(_known) >= MOST_KNOWN:
            _known.clear()
        _known[key] = graph, op, _found(graph, op)
    return _known[key][-1]


def _found(graph: Graph, op: Operator) -> OperatorLoops:
    out = graph.tensors[op.outputs[0]]
    shape, moves = _product_shape(op, out.shape)
    kernel = prod(op.kernel) if op.kernel else 1
    kinds = _kinds(op, kernel * out.elements)
    if "pool" in kinds and not op.kernel:
        read = graph.tensors[op.inputs[0]].elements if op.inputs else 0
        kernel = max(1, -(-read // max(1, out.elements)))
    axes = _axes(op, len(shape))
    channels = shape[axes[2]] if axes[2] >= 0 else 1
    return OperatorLoops(
        kinds,
        tuple(_rates(op, kinds)),
        shape,
        axes,
        moves,
        Fraction(op.macs, max(1, out.elements) * kernel),
        kernel,
        max(1, channels // op.groups),
        op.kind not in CONVOLUTIONS | {"linear"} and "pool" not in kinds,
        reduced(graph, op) or 0,
    )


def _kinds(op: Operator, products: int) -> tuple[str, ...]:
    """`products`: MACs that it would have with one input for each output element."""
    if not op.macs:
        if op.kind in MEANS:
            return ("mean", "pool")
        return ("pool",) if op.kind in POOLED else ()
    if op.kind in CONVOLUTIONS:
        if op.groups > 1 and op.macs <= products:
            return ("depthwise", "dense")
        return ("pointwise", "dense") if set(op.kernel) == {1} else ("dense",)
    return ("linear", "dense") if op.kind in PRODUCTS | {"linear"} else ("dense",)


def _product_shape(op: Operator, shape: tuple[int, ...]) -> tuple[tuple[int, ...], bool]:
    """The shape of what is multiplied or pooled, and whether its elements are moved afterwards."""
    at = next((i for i, part in enumerate(op.parts) if part.kind == op.kind), None)
    if at is None:
        return shape, False
    part_shape = op.parts[at].shape or shape
    after = op.parts[at + 1 :]
    kept = all(part.kind in KEEPS or part.relation[:1] in KEPT for part in after)
    return part_shape, not kept or part_shape != shape


def _axes(op: Operator, rank: int) -> tuple[int, int, int]:
    """Which axes are rows, columns and outputs."""
    if op.kind == "linear":
        return -1, rank - 2 if rank > 1 else -1, rank - 1
    if (op.kind in CONVOLUTIONS | POOLED and rank > 2) or (op.kind in MEANS and rank > 3):
        return (rank - 2 if rank > 3 else -1), rank - 1, 1
    return -1, rank - 2 if rank > 1 else -1, rank - 1


def _rates(op: Operator, kinds: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """For each thing that an operator does, the names of rates, the most special first."""
    for kind in dict.fromkeys((op.kind, *(part.kind for part in op.parts))):
        special = (kind, *(kinds if kind == op.kind else ()))
        yield (*special, "lut") if kind in LOOKED_UP else special
