"""One operator in passes over its input: each pass makes some of the output channels.

Parameters are then loaded once, and the input once for each pass that needs it: best for operators
with more parameters than maps. Or, where its input channels can be added up one after the
other, a tile of some rows of some output channels stays while all input channels and weights go
by: with tiles as large as the buffer that comes near the least that any order of loops moves
(Chen et al., HPCA 2020). Where a channel needs only its own (pools, depth-wise), the input is
loaded once in any case.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np

from planners.core.access import needs
from planners.core.graph import Graph, Operator
from planners.core.integers import least_parts
from planners.fusion.tile.axes import Counts, box_of, channels_in, channels_of, rows_of
from planners.fusion.tile.strips import Group, flow, heights
from planners.fusion.tile.ways import GroupPlan, GroupWays

MOST_UNEVEN_PASSES = 16


def pass_ways(
    graph: Graph, group: Group, held: Collection[str], least_channels: int
) -> Iterator[GroupWays]:
    """Ways to run the only operator of a group in passes, or with its sums on chip."""
    (member,) = group.members
    out = graph.tensors[member.op.outputs[0]]
    if len(member.op.outputs) > 1 or (member.parameter_bytes and not member.sliced):
        return
    if channels_of(out) > 1:
        yield _with_line_buffers(graph, group, held)
    if member.sliced and member.adds_up(member.op.inputs):
        for images, batches in batch_sizes(graph, group):
            for kept in (False, True):
                yield _with_sums(graph, group, held, least_channels, images, batches, kept)


def _with_line_buffers(graph: Graph, group: Group, held: Collection[str]) -> GroupWays:
    """The least strips, the parameters of a pass kept on chip, for each number of channels."""
    (member,) = group.members
    out = graph.tensors[member.op.outputs[0]]
    channels = channels_of(out)
    rows = heights(graph, group)[0]
    flows = flow(graph, group, (rows,))
    images = 1 if member.by_image else (out.shape[0] if out.shape else 1)
    batches = out.shape[0] // images
    tiles, needed = _input_channels(graph, group, np.array(channel_tiles(channels)))
    buffers: Counts = tiles * (member.parameter_bytes // channels)
    traffic: Counts = np.full(len(tiles), member.parameter_bytes, dtype=np.int64)
    if out.name not in held:
        buffers += int(flows.held(out.name)[0, 0]) * channel_row(graph, out.name) * tiles // batches
        traffic += graph.size_bytes(out.name) if out.name in group.stored else 0
    for name in group.loaded:
        if name not in held:
            row = channel_row(graph, name)
            widest, moved = needed[name]
            buffers += int(flows.held(name)[0, 0]) * row * widest // batches
            traffic += int(flows.loaded(name)[0, 0]) * row * moved

    def make(at: int) -> GroupPlan:
        tile = int(tiles[at])
        passes = -(-channels // tile)
        return GroupPlan(
            buffer_bytes=int(buffers[at]),
            traffic_bytes=int(traffic[at]),
            rows_per_strip=rows,
            strips=-(-rows_of(out) // rows) * batches * passes,
            images=images,
            kept=(0,) if member.parameter_bytes else (),
            channel_tile=tile,
            channel_passes=passes,
            pass_channels=tile,
        )

    strips = -(-rows_of(out) // rows) * batches * -(-channels // tiles)
    return GroupWays(buffers, traffic, strips, np.zeros_like(strips), make)


def _with_sums(
    graph: Graph,
    group: Group,
    held: Collection[str],
    least_channels: int,
    images: int,
    batches: int,
    kept: bool,
) -> GroupWays:
    """Every height of strips and number of channels, the sums of a tile on chip until done."""
    (member,) = group.members
    (source,) = member.op.inputs
    out = graph.tensors[member.op.outputs[0]]
    channels, few = channels_of(out), min(least_channels, member.reduced)
    options = heights(graph, group)
    flows = flow(graph, group, options, frozenset({source}))
    tiles = np.array((*channel_tiles(channels), channels), dtype=np.int64)[:, None]
    strips = flows.strips
    passes = -(-channels // tiles)
    once = member.reduced_bytes * few + member.rest_bytes
    weights = member.parameter_bytes if kept else once
    turns = np.ones_like(strips) if kept else strips * batches
    buffers = tiles * (weights // channels) + 0 * strips
    traffic = 0 * passes + member.parameter_bytes * turns
    if source not in held:
        row = channel_row(graph, source)
        buffers = buffers + flows.held(source)[0] * row * few // batches
        traffic = traffic + passes * flows.loaded(source)[0] * row * member.reduced
    if out.name not in held:
        row = sum_row(graph, member.op) if few < member.reduced else channel_row(graph, out.name)
        buffers = buffers + tiles * flows.held(out.name)[0] * row // batches
        traffic = traffic + (graph.size_bytes(out.name) if out.name in group.stored else 0)

    def make(at: int) -> GroupPlan:
        tile, height = divmod(at, len(options))
        return GroupPlan(
            buffer_bytes=int(buffers[tile, height]),
            traffic_bytes=int(traffic[tile, height]),
            rows_per_strip=options[height],
            strips=int(strips[height]) * batches * int(passes[tile, 0]),
            images=images,
            kept=(0,) if kept else (),
            channel_tile=least_channels,
            sliced=(group.tensors.index(source),),
            channel_passes=int(passes[tile, 0]),
            pass_channels=int(tiles[tile, 0]),
        )

    turned = (strips * batches * passes).ravel()
    kinds = (0 * strips + (passes > 1)).ravel()
    return GroupWays(buffers.ravel(), traffic.ravel(), turned, kinds, make)


def channel_tiles(channels: int) -> tuple[int, ...]:
    """The least channels in a pass for each number of passes from two on."""
    return tuple(least_parts(channels)[:-1])


def pass_ranges(channels: int, tile: int) -> tuple[tuple[int, int], ...]:
    """The output channels of each pass."""
    return tuple((at, min(at + tile, channels)) for at in range(0, channels, tile))


def stretches(
    parts: Sequence[tuple[int, int]], breaks: Collection[int]
) -> Iterator[list[tuple[int, int]]]:
    """Parts that follow each other, of equally many channels and without a break in or between."""
    few: list[tuple[int, int]] = []
    for start, stop in parts:
        apart = any(few[-1][0] < c < stop for c in breaks) if few else False
        if few and (apart or start in breaks or stop - start != few[0][1] - few[0][0]):
            yield few
            few = []
        few.append((start, stop))
    if few:
        yield few


def batch_sizes(graph: Graph, group: Group) -> Iterator[tuple[int, int]]:
    """Images in a tile and the number of such tiles: all at once, or a divisor of them."""
    shape = graph.tensors[group.made[0]].shape
    total = shape[0] if shape else 1
    yield total, 1
    if all(m.by_image for m in group.members):
        yield from ((n, total // n) for n in range(1, total) if total % n == 0)


def input_channels(
    graph: Graph, group: Group, channels: tuple[int, int]
) -> dict[str, tuple[int, int]]:
    """The channels of each input that these output channels need; inputs not needed are absent."""
    (member,) = group.members
    out = graph.tensors[member.op.outputs[0]]
    box = box_of(out, (0, rows_of(out)), channels)
    read_channels = {}
    for name, part in needs(graph, member.op, out.name, box):
        tensor = graph.tensors[name]
        if name in member.op.inputs:
            read_channels[name] = channels_in(tensor, part)
    return read_channels


def _input_channels(
    graph: Graph, group: Group, tiles: Counts
) -> tuple[Counts, dict[str, tuple[Counts, Counts]]]:
    """For each input the most channels in a pass and those of all passes, by channels in a pass.

    Where each pass needs another part of the inputs, only tiles that make some passes are kept.
    """
    (member,) = group.members
    channels = channels_of(graph.tensors[group.made[0]])
    ends = [input_channels(graph, group, part) for part in ((0, 1), (channels - 1, channels))]
    channel_counts = {name: channels_of(graph.tensors[name]) for name in group.loaded}
    dense = {t for t in channel_counts if all(end.get(t) == (0, channel_counts[t]) for end in ends)}
    uneven = channel_counts.keys() - dense - member.by_channel
    if uneven:
        tiles = tiles[tiles * MOST_UNEVEN_PASSES >= channels]
    counts = {name: (tiles, np.full_like(tiles, channels)) for name in member.by_channel}
    counts |= {
        t: (np.full_like(tiles, channel_counts[t]), -(-channels // tiles) * channel_counts[t])
        for t in dense
    }
    widest = {name: np.zeros_like(tiles) for name in uneven}
    moved = {name: np.zeros_like(tiles) for name in uneven}
    for at, tile in enumerate(tiles if uneven else ()):
        for part in pass_ranges(channels, int(tile)):
            for name, (start, stop) in input_channels(graph, group, part).items():
                if name in uneven:
                    widest[name][at] = max(widest[name][at], stop - start)
                    moved[name][at] += stop - start
    return tiles, counts | {name: (widest[name], moved[name]) for name in uneven}


def channel_row(graph: Graph, name: str) -> int:
    """Bytes of a row of one channel, for all images; of all where there is no axis of them."""
    tensor = graph.tensors[name]
    return graph.size_bytes(name) // rows_of(tensor) // channels_of(tensor)


def sum_row(graph: Graph, op: Operator) -> int:
    """Bytes of a row of one channel, for all images, of an operator's sums until complete."""
    out = graph.tensors[op.outputs[0]]
    return graph.sum_bytes(op, out.elements) // rows_of(out) // channels_of(out)
