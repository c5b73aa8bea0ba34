"""Layer by layer on three accelerators: what Optimus's Table 4 is compared with.

Simple models of how each design runs one layer, the best tiles of its kind chosen for each layer;
all else (pools, sums, joins) reads its inputs and writes its output once. Sizes in bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from math import ceil

from planners.core.graph import Graph, Operator
from planners.core.integers import least_parts
from planners.papers.optimus.array_energy import Loops

KIB = 1024
# The buffer of 108 KB holds 100 KB of maps and sums and 8 KB of filters (Eyeriss, JSSC 2017).
EYERISS_BYTES, EYERISS_MAPS_BYTES, EYERISS_CHANNELS = 108 * KIB, 100 * KIB, 4
# 288 KB in all: 64 in, 64 out, 128 of synapses, 32 of instructions (ISCA 2015; recalled).
SHIDIANNAO_BYTES = {"inputs": 64 * KIB, "outputs": 64 * KIB, "weights": 128 * KIB}
# Effective on-chip memory of the design for 256 processing elements (HPCA 2020; recalled).
LOWER_BOUND_BYTES = 66 * KIB + KIB // 2


@dataclass(frozen=True, slots=True)
class LoopNest:
    """A layer as seven loops, with the bytes of its inputs, weights and outputs."""

    loops: Loops
    inputs: int
    weights: int
    outputs: int
    columns: int  # of the input
    width: int  # bytes an element

    @property
    def once(self) -> int:
        return self.inputs + self.weights + self.outputs


def row_stationary(layer: LoopNest) -> int:
    """Eyeriss: sums of m output channels in e rows of n images stay in the buffer.

    Inputs are read for each m of the channels, with the halo of e rows; filters for each e rows
    and n images (Eyeriss, ISCA 2016). Tiles of q = 4 input channels.
    """
    loops = layer.loops
    moved = []
    for n, m, e in _tiles(loops):
        channels = min(EYERISS_CHANNELS, loops.C) if not loops.own else m
        maps = n * channels * _rows(loops, e) * layer.columns
        if (maps + n * m * e * loops.X) * layer.width <= EYERISS_MAPS_BYTES:
            moved.append(_moved(layer, n, m, e))
    return min(moved, default=layer.once)


def output_stationary(layer: LoopNest) -> int:
    """ShiDianNao: outputs stay until they are done, in a buffer of their own; so do inputs and
    weights, as many channels of them as fit.
    """
    loops, size = layer.loops, SHIDIANNAO_BYTES
    moved = []
    for n, m, e in _tiles(loops):
        if n * m * e * loops.X * layer.width > size["outputs"]:
            continue
        channel = n * _rows(loops, e) * layer.columns * layer.width
        outputs_kept = (m if loops.own else loops.C) * channel
        if channel > size["inputs"]:
            continue
        # With all input channels of the tile in place, they serve all output channels.
        again = 1 if outputs_kept <= size["inputs"] and not loops.own else None
        kept = layer.weights <= size["weights"]
        moved.append(_moved(layer, n, m, e, inputs_again=again, weights_kept=kept))
    return min(moved, default=layer.once)


def sums_stationary(layer: LoopNest) -> int:
    """Chen et al.'s design, near the least that any order of one convolution moves (HPCA 2020).

    Nearly all memory holds sums of b images, z channels, y rows and x columns; beside them there is
    one input channel of the tile, and its weights. Inputs are read for each z of the channels, with
    their halo; weights for each tile of pixels.
    """
    loops, words = layer.loops, LOWER_BOUND_BYTES // layer.width
    moved = []
    for b, y, x in product(least_parts(loops.B), least_parts(loops.Y), least_parts(loops.X)):
        slab = b * _extent(loops, y, loops.R) * _extent(loops, x, loops.S)
        z = min(loops.K, (words - slab) // (b * y * x + loops.R * loops.S))
        if z < 1:
            continue
        strips, columns = ceil(loops.Y / y), ceil(loops.X / x)
        passes = 1 if loops.own else ceil(loops.K / z)
        tiled = strips * columns * _extent(loops, y, loops.R) * _extent(loops, x, loops.S)
        halo = tiled / (_extent(loops, loops.Y, loops.R) * _extent(loops, loops.X, loops.S))
        refills = strips * columns * ceil(loops.B / b)
        inputs = ceil(layer.inputs * passes * halo)
        moved.append(inputs + layer.weights * refills + layer.outputs)
    return min(moved, default=layer.once)


BASELINES: Mapping[str, Callable[[LoopNest], int]] = {
    "eyeriss": row_stationary,
    "shidiannao": output_stationary,
    "lower bound": sums_stationary,
}


def layer_by_layer(graph: Graph, accelerator: str) -> tuple[int, ...]:
    """Bytes that each layer of a network moves on an accelerator, one after the other."""
    return tuple(_one(graph, op, BASELINES[accelerator]) for op in graph.operators)


def _one(graph: Graph, op: Operator, run: Callable[[LoopNest], int]) -> int:
    loops = Loops.from_operator(graph, op)
    sizes = (op.inputs, op.parameters, op.outputs)
    inputs, weights, outputs = (sum(map(graph.size_bytes, names)) for names in sizes)
    if loops is None:
        return inputs + weights + outputs
    columns = graph.tensors[op.inputs[0]].shape[-1] if loops.X > 1 else 1
    return run(LoopNest(loops, inputs, weights, outputs, columns, graph.bytes_of(op.outputs[0], 1)))


def _tiles(loops: Loops) -> Iterator[tuple[int, int, int]]:
    """Images, output channels and output rows of a tile."""
    return product(least_parts(loops.B), least_parts(loops.K), least_parts(loops.Y))


def _rows(loops: Loops, e: int) -> int:
    return _extent(loops, e, loops.R)


def _extent(loops: Loops, n: int, window: int) -> int:
    """Of the input along an axis, for n of the output."""
    return (n - 1) * loops.stride + window


def _moved(
    layer: LoopNest,
    n: int,
    m: int,
    e: int,
    *,
    inputs_again: int | None = None,
    weights_kept: bool = False,
) -> int:
    """Bytes with tiles of n images, m channels and e rows: inputs for each channel tile (or so
    often), with the halo; weights for each tile of rows and images (or once)."""
    loops = layer.loops
    strips = ceil(loops.Y / e)
    all_rows = strips * _rows(loops, e) / _rows(loops, loops.Y)
    passes = inputs_again or (1 if loops.own else ceil(loops.K / m))
    refills = 1 if weights_kept else strips * ceil(loops.B / n)
    return ceil(layer.inputs * passes * all_rows) + layer.weights * refills + layer.outputs
