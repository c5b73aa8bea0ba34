"""All ways to run a group strip by strip: heights, images in a tile, what is held by the channel,
and whose parameters stay (Optimus, equations 3 and 4)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from planners.core.graph import Graph
from planners.fusion.tile.axes import Counts, channels_of, columns_of, rows_of
from planners.fusion.tile.passes import batch_sizes, channel_row, sum_row
from planners.fusion.tile.rows import OperatorRows
from planners.fusion.tile.strips import Bands, Flow, Group
from planners.fusion.tile.ways import GroupPlan, GroupWays

MOST_SUBSETS = 5  # Of so many operators with parameters each subset is tried, of more some.


def strip_ways(
    graph: Graph,
    group: Group,
    held: Collection[str],
    options: Sequence[int],
    flows: Sequence[Flow],
    bandings: Sequence[Bands],
    least_channels: int,
) -> GroupWays:
    """Ways by what is kept and, in columns, by flow, bands, images and height.

    `options` are the heights of each of the flows.
    """
    batches = tuple(batch_sizes(graph, group))
    holders = [i for i, m in enumerate(group.members) if m.parameter_bytes]
    outs = [group.members[i].op.outputs[0] for i in holders]
    rings, moved, turns, tiles = [], [], [], []
    for each in flows:
        refills = each.turns(*outs) if outs else np.zeros((0, len(options)), dtype=np.int64)
        tile = [tile_bytes(group.members[i], least_channels, each.sliced) for i in holders]
        for banding in bandings:
            ring, crossing = _maps(graph, group, held, each, banding, least_channels)
            for _, count in batches:
                rings.append(ring // count)
                moved.append(crossing)
                turns.append(refills * count * banding.count)
                tiles.append(np.repeat([tile], len(options), axis=0).T)
    sizes = np.array([group.members[i].parameter_bytes for i in holders], dtype=np.int64)
    kept = _subsets(sizes)
    buffers, traffic = np.concatenate(rings)[None], np.concatenate(moved)[None]
    if holders:
        stays = kept @ sizes
        largest = np.where(kept[:, :, None], 0, np.concatenate(tiles, axis=1)).max(axis=1)
        buffers = buffers + stays[:, None] + largest
        again = sizes[:, None] * np.concatenate(turns, axis=1)
        traffic = traffic + stays[:, None] + ~kept @ again
    columns = len(flows) * len(bandings) * len(batches) * len(options)
    strips = flows[0].strips.copy()  # The heights are those of each of the flows.
    by_channel = [each.sliced for each in flows]  # `make` holds no flows: these are large.

    def make(at: int) -> GroupPlan:
        way, column = divmod(at, columns)
        rest, height = divmod(column, len(options))
        rest, tile = divmod(rest, len(batches))
        chosen, band = divmod(rest, len(bandings))
        images, count = batches[tile]
        count *= bandings[band].count
        sliced = by_channel[chosen]
        return GroupPlan(
            buffer_bytes=int(buffers[way, column]),
            traffic_bytes=int(traffic[way, column]),
            rows_per_strip=options[height],
            strips=int(strips[height]) * count,
            images=images,
            kept=tuple(i for i, stays in zip(holders, kept[way]) if stays),
            channel_tile=least_channels,
            sliced=tuple(i for i, t in enumerate(group.tensors) if t in sliced),
            bands=bandings[band].count,
        )

    tiles_of = [n * banding.count for _ in flows for banding in bandings for _, n in batches]
    all_strips = np.outer(tiles_of, strips).ravel()
    kinds = np.repeat(np.arange(len(tiles_of)), len(options))
    times = len(kept) if holders else 1
    all_strips, kinds = np.tile(all_strips, times), np.tile(kinds, times)
    return GroupWays(buffers.ravel(), traffic.ravel(), all_strips, kinds, make)


def _maps(
    graph: Graph,
    group: Group,
    held: Collection[str],
    flows: Flow,
    banding: Bands,
    least_channels: int,
) -> tuple[Counts, Counts]:
    """Bytes of the line buffers for all images at once, and bytes of maps that cross, by height."""
    rings: Counts = np.zeros(len(flows.first), dtype=np.int64)
    moved: Counts = rings + sum(graph.size_bytes(t) for t in group.stored if t not in held)
    inside = [t for t in group.tensors if t not in held]
    if inside:
        summed = _summed(group, flows.sliced, graph, least_channels)
        slots = [
            (
                sum_row(graph, summed[t].op) * channels_of(graph.tensors[t])
                if t in summed
                else slot_bytes(graph, t, least_channels if t in flows.sliced else None)
            )
            // columns_of(graph.tensors[t])
            * banding.widest(graph, t)
            for t in inside
        ]
        rings = np.array(slots, dtype=np.int64) @ flows.held(*inside)
    loaded = [t for t in group.loaded if t not in held]
    if loaded:
        slots = [
            slot_bytes(graph, t) // columns_of(graph.tensors[t]) * banding.total(graph, t)
            for t in loaded
        ]
        moved = moved + np.array(slots, dtype=np.int64) @ flows.loaded(*loaded)
    return rings, moved


def _summed(
    group: Group, sliced: Collection[str], graph: Graph, least_channels: int
) -> dict[str, OperatorRows]:
    """What is made as sums of several parts, with these tensors held by the channel."""
    return {
        m.op.outputs[0]: m
        for m in group.members
        if m.adds_up(sliced) and channels_of(graph.tensors[m.op.inputs[0]]) > least_channels
    }


def slot_bytes(graph: Graph, tensor: str, channels: int | None = None) -> int:
    """Bytes of a row in a line buffer, for all images, of all channels or of so many."""
    if channels is None:
        return graph.size_bytes(tensor) // rows_of(graph.tensors[tensor])
    return channel_row(graph, tensor) * min(channels, channels_of(graph.tensors[tensor]))


def tile_bytes(member: OperatorRows, channels: int, sliced: Collection[str]) -> int:
    """Bytes of the parameters for so many channels: of what it adds up, or else of what it makes.

    All of them where they cannot be taken apart.
    """
    if member.adds_up(sliced):
        return min(channels, member.reduced) * member.reduced_bytes + member.rest_bytes
    return member.channel_bytes * (min(channels, member.channels) if member.sliced else 1)


def _subsets(sizes: Counts) -> NDArray[np.bool_]:
    """Sets of operators to keep the parameters of, in rows: all sets of a few, of many the
    largest together and the smallest together."""
    count = len(sizes)
    if count <= MOST_SUBSETS:
        return _all_subsets(count)
    rank = np.argsort(np.argsort(sizes, kind="stable"), kind="stable")
    smallest = rank[None, :] < np.arange(count + 1)[:, None]
    return np.concatenate((smallest, ~smallest[1:-1]))


@cache
def _all_subsets(count: int) -> NDArray[np.bool_]:
    masks = np.arange(1 << count)[:, None]
    return np.asarray(masks >> np.arange(count)[None, :] & 1, dtype=bool)
