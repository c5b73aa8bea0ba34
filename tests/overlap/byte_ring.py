"""Kernels on symbolic bytes in a ring: what each element of an output reads, by naive loops."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np

from planners.core.details.pool import PoolLayout
from planners.core.graph import Graph, Operator, Part, Tensor

Reads = list[list[int]]
"""For each element of the output, in torch's order, the elements that it reads, in torch's."""


def one_operator(op: Operator, shapes: dict[str, tuple[int, ...]]) -> Graph:
    """A graph of one operator; `shapes` of its inputs, parameters and output."""
    kinds = dict.fromkeys(op.inputs, "input") | dict.fromkeys(op.parameters, "parameter")
    tensors = {n: Tensor(n, s, kinds.get(n, "activation")) for n, s in shapes.items()}
    return Graph("one", tensors, (op,), op.inputs, op.outputs)


def footprint(input_bytes: int, output_bytes: int, d: int | None) -> int:
    """Bytes that an input and an output take together at a distance, or apart."""
    return input_bytes + output_bytes if d is None else max(input_bytes + d, output_bytes)


def addresses(shape: tuple[int, ...]) -> np.ndarray:
    """The place of each element in memory: channels of a pixel together where there are pixels."""
    n = int(np.prod(shape))
    if len(shape) != 4:
        return np.arange(n)
    b, c, h, w = shape
    return np.arange(n).reshape(b, h, w, c).transpose(0, 3, 1, 2).ravel()


def survives(
    reads: Reads,
    shapes: tuple[tuple[int, ...], tuple[int, ...]],
    d: int,
    order: str,
    *,
    widths: tuple[int, int] = (1, 1),
) -> bool:
    """Whether every read finds the input's own element, with the output `d` bytes in front of it.

    The ring has just the bytes of both together: at d the footprint, at less what it would be.
    `widths`: bytes of an element of either.
    """
    wide_in, wide_out = widths
    given, made = (int(np.prod(s)) * w for s, w in zip(shapes, widths, strict=True))
    ring = np.full(max(given + d, made), -1)
    ring[(d + np.arange(given)) % len(ring)] = np.arange(given)
    where = addresses(shapes[0])
    for place, wanted in _kernel(reads, shapes[1], order):
        read = where[np.array(wanted, int)][:, None] * wide_in + np.arange(wide_in)
        place = place * wide_out + np.arange(wide_out)
        if (ring[(d + read) % len(ring)] != read).any():
            return False
        ring[place % len(ring)] = given + place
    written = np.arange(made) % len(ring)
    return bool((ring[written] == given + np.arange(made)).all())


def _kernel(reads: Reads, shape: tuple[int, ...], order: str) -> list[tuple[int, list[int]]]:
    """Each element written, in the kernel's order, and what is read just before."""
    places = addresses(shape)
    size = shape[1 if len(shape) == 4 else -1] if shape else 1
    turn = sorted(range(len(places)), key=places.__getitem__)
    wanted = {t: reads[t] for t in turn}
    if order != "element":
        for first in range(0, len(turn), size):
            segment = turn[first : first + size]
            together = sorted({i for t in segment for i in reads[t]})
            wanted |= dict.fromkeys(segment, together)
    return [(int(places[t]), wanted[t]) for t in turn]


def window_reads(
    shape: tuple[int, ...],
    out: tuple[int, ...],
    slide: tuple[Sequence[int], ...],
    channels: Callable[[int], Sequence[int]],
) -> Reads:
    """What a window over [N, C, H, W] reads; `channels` are those of an output channel."""
    (kernel, stride, padding, dilation), (_, c, h, w) = slide, shape
    found = []
    for n, k, i, j in itertools.product(*map(range, out)):
        rows = [i * stride[0] - padding[0] + r * dilation[0] for r in range(kernel[0])]
        columns = [j * stride[1] - padding[1] + r * dilation[1] for r in range(kernel[1])]
        found.append(
            [
                ((n * c + m) * h + y) * w + x
                for m in channels(k)
                for y in rows
                if 0 <= y < h
                for x in columns
                if 0 <= x < w
            ]
        )
    return found


def moved(index: np.ndarray) -> Reads:
    """What a move of elements reads: one each; −1 for none."""
    return [[int(i)] if i >= 0 else [] for i in index.ravel()]


def told(name: str, reads: tuple[str, ...], shape: tuple[int, ...], *relation: object) -> Operator:
    """An operator of one call that says how it reads; its output is `y`."""
    part = Part("y", name, shape, reads, tuple(relation))
    return Operator("op", name, reads, ("y",), parts=(part,))


def runs_right(
    graph: Graph, layout: PoolLayout, known: dict[str, tuple[str, dict[str, Reads]]]
) -> bool:
    """Whether operators that run alone in the layout's pool find all that they read.

    `known` are the kernels' orders and their reads of each input. Inputs of the network are put
    down in front of the first run that reads them.
    """
    ring: list[tuple[str, int] | None] = [None] * layout.pool_bytes
    pool, there = layout.pool_bytes, set()
    for run in layout.runs:
        op = graph.operators[graph.index[run.operators[0]]]
        for name in set(op.inputs) & set(graph.inputs) - there:
            there.add(name)
            for i in range(graph.tensors[name].elements):
                ring[(layout.offsets[name] + i) % pool] = (name, i)
        order, reads = known[op.name]
        (output,) = op.outputs
        shape, start = graph.tensors[output].shape, layout.offsets[output]
        kernels = [_kernel(reads[name], shape, order) for name in op.inputs]
        where = {name: addresses(graph.tensors[name].shape) for name in op.inputs}
        for steps in zip(*kernels, strict=True):
            for name, (_, wanted) in zip(op.inputs, steps, strict=True):
                for place in where[name][np.array(wanted, int)]:
                    if ring[(layout.offsets[name] + int(place)) % pool] != (name, int(place)):
                        return False
            ring[(start + steps[0][0]) % pool] = (output, steps[0][0])
    return True
