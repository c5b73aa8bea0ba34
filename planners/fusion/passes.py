"""One operator in passes over its input: each pass makes some of the output channels.

Parameters are then loaded once, and the input once for each pass that needs it: what an operator
with more parameters than maps wants. Where a channel needs only its own (pools, depth-wise), the
input is loaded once too, in narrower line buffers.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isqrt
from typing import Any

from planners.fusion.rows import Axes, box_of, channels_in, rows_of
from planners.fusion.strips import Flow, Group, flow, heights
from planners.graph.access import needs
from planners.graph.model import Graph


def channel_passes(graph: Graph, group: Group) -> Iterator[dict[str, Any]]:
    """Ways to run the only operator of a group in two or more passes, as fields of a plan."""
    (member,) = group.members
    out = graph.tensors[member.op.outputs[0]]
    axis = Axes.of(out.shape).channel
    if axis is None or len(member.op.outputs) > 1 or (member.parameter_bytes and not member.sliced):
        return
    channels = out.shape[axis]
    rows = heights(graph, group)[0]
    flows = flow(graph, group, (rows,))
    images = 1 if member.by_image else (out.shape[0] if out.shape else 1)
    batches = out.shape[0] // images
    for tile in tiles(channels):
        held, loaded = _maps(graph, group, flows, channels, tile)
        yield {
            "buffer_bytes": held // batches + member.parameter_bytes // channels * tile,
            "traffic_bytes": loaded + graph.size_bytes(out.name) + member.parameter_bytes,
            "rows_per_strip": rows,
            "strips": -(-rows_of(out) // rows) * batches * -(-channels // tile),
            "images": images,
            "kept": (0,) if member.parameter_bytes else (),
            "channel_tile": tile,
            "channel_passes": -(-channels // tile),
        }


def tiles(channels: int) -> tuple[int, ...]:
    """The least channels in a pass for each number of passes from two on."""
    root = isqrt(channels)
    counts = {*range(1, root + 1), *(-(-channels // n) for n in range(1, root + 1))} - {1}
    return tuple(sorted({-(-channels // n) for n in counts}))


def pass_ranges(channels: int, tile: int) -> tuple[tuple[int, int], ...]:
    """The output channels of each pass."""
    return tuple((at, min(at + tile, channels)) for at in range(0, channels, tile))


def input_channels(
    graph: Graph, group: Group, channels: tuple[int, int]
) -> dict[str, tuple[int, int]]:
    """The channels of each input that these output channels need; inputs not needed are absent."""
    (member,) = group.members
    out = graph.tensors[member.op.outputs[0]]
    box = box_of(out, (0, rows_of(out)), channels)
    found = {}
    for name, part in needs(graph, member.op, out.name, box):
        tensor = graph.tensors[name]
        if name in member.op.inputs:
            found[name] = channels_in(tensor, part)
    return found


def _maps(graph: Graph, group: Group, flows: Flow, channels: int, tile: int) -> tuple[int, int]:
    """Bytes of line buffers for all images, and bytes of inputs loaded in all passes."""
    (member,) = group.members
    out = member.op.outputs[0]
    row = graph.size_bytes(out) // rows_of(graph.tensors[out])
    held = int(flows.held(out)[0]) * (row // channels * tile)
    loaded = 0
    widest = dict.fromkeys(group.loaded, 0)
    for part in pass_ranges(channels, tile):
        for name, (start, stop) in input_channels(graph, group, part).items():
            widest[name] = max(widest[name], stop - start)
            loaded += int(flows.loaded(name)[0]) * channel_row(graph, name) * (stop - start)
    for name, count in widest.items():
        held += int(flows.held(name)[0]) * channel_row(graph, name) * count
    return held, loaded


def channel_row(graph: Graph, name: str) -> int:
    """Bytes of a row of one channel, for all images; of all where there is no axis of them."""
    tensor = graph.tensors[name]
    axis = Axes.of(tensor.shape).channel
    return graph.size_bytes(name) // rows_of(tensor) // (1 if axis is None else tensor.shape[axis])
