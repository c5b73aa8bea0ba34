"""A layered drawing of a graph from left to right, in plain Python.

Longest-path layers, dummy nodes along long edges, median sweeps against crossings, then a few
straightening passes (Sugiyama's method; the median rule is Eades and Wormald's).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

Edge = tuple[int, int]
SWEEPS = 8
NODE_WEIGHT = 1e6
DUMMY_LIMIT = 20_000
SLIM = 0.16
"""Room across that an edge takes where it passes by nodes, which take one unit."""
BETWEEN = 0.8
"""Between parts that nothing joins, beside the one unit between neighbours."""


@dataclass(frozen=True, slots=True)
class GraphDrawing:
    """`x` is a node's layer, `y` its place across; `routes` are the points each edge runs through.

    Neighbours in a layer are at least one unit apart.
    """

    x: tuple[int, ...]
    y: tuple[float, ...]
    routes: tuple[tuple[tuple[float, float], ...], ...]


def layout(count: int, edges: Sequence[Edge]) -> GraphDrawing:
    """Place nodes `0 … count-1`, numbered in a valid order; time is near linear in nodes and
    dummies.

    An edge against the order (contracted blocks may have them) is drawn, but does not affect
    places.
    """
    forward = [(a, b) for a, b in edges if a < b]
    layer = layers(count, forward)
    chains, layer_all = _with_dummies(layer, forward)
    links = [pair for chain in chains for pair in zip(chain, chain[1:], strict=False)]
    before, after = _neighbours(links)
    rows = _order(layer_all, before, after)
    y = _straighten(rows, _real_first(before, count), _real_first(after, count), count)
    _level(rows, y, count)
    _set_apart(parts(len(layer_all), links), y)
    route_of = {
        edge: tuple((float(layer_all[n]), y[n]) for n in chain)
        for edge, chain in zip(forward, chains, strict=True)
    }
    routes = tuple(
        route_of.get((a, b)) or ((float(layer[a]), y[a]), (float(layer[b]), y[b])) for a, b in edges
    )
    return GraphDrawing(tuple(layer), tuple(y[n] for n in range(count)), routes)


def layers(count: int, edges: Iterable[Edge]) -> list[int]:
    """The longest path to each node; sources move right, next to their first reader."""
    before: dict[int, list[int]] = defaultdict(list)
    after: dict[int, list[int]] = defaultdict(list)
    for a, b in edges:
        before[b].append(a)
        after[a].append(b)
    layer = [0] * count
    for node in range(count):
        layer[node] = max((layer[a] + 1 for a in before[node]), default=0)
    for node in range(count):
        if not before[node] and after[node]:
            layer[node] = min(layer[b] for b in after[node]) - 1
    return layer


def _with_dummies(layer: list[int], edges: Sequence[Edge]) -> tuple[list[list[int]], list[int]]:
    """Each edge as a chain of nodes one layer apart; beyond the limit, very long ones stay
    direct."""
    all_layers = list(layer)
    chains = []
    for a, b in edges:
        chain = [a]
        if len(all_layers) - len(layer) + layer[b] - layer[a] <= DUMMY_LIMIT:
            for depth in range(layer[a] + 1, layer[b]):
                chain.append(len(all_layers))
                all_layers.append(depth)
        chains.append([*chain, b])
    return chains, all_layers


def _neighbours(links: Iterable[Edge]) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    before: dict[int, list[int]] = defaultdict(list)
    after: dict[int, list[int]] = defaultdict(list)
    for a, b in links:
        before[b].append(a)
        after[a].append(b)
    return before, after


def _real_first(neighbours: dict[int, list[int]], count: int) -> dict[int, list[int]]:
    """Align nodes with nodes where possible: the long edge bends and the chain beside it stays
    straight."""
    kept = defaultdict(list, neighbours)
    for node, adjacent in neighbours.items():
        if node < count and (real := [n for n in adjacent if n < count]):
            kept[node] = real
    return kept


def _order(
    layer: list[int], before: dict[int, list[int]], after: dict[int, list[int]]
) -> list[list[int]]:
    """Nodes of each layer from top to bottom, after sweeps by the median of their neighbours."""
    rows: list[list[int]] = [[] for _ in range(max(layer, default=-1) + 1)]
    for node, depth in enumerate(layer):
        rows[depth].append(node)
    place: dict[int, float] = {}
    for row in rows:
        place |= {node: float(i) for i, node in enumerate(row)}
    for sweep in range(SWEEPS):
        towards = before if sweep % 2 == 0 else after
        for row in rows if sweep % 2 == 0 else reversed(rows):
            if len(row) > 1:
                row.sort(key=lambda n: _median([place[m] for m in towards[n]], place[n]))
            place |= {node: float(i) for i, node in enumerate(row)}
    return rows


def _straighten(
    rows: list[list[int]], before: dict[int, list[int]], after: dict[int, list[int]], count: int
) -> dict[int, float]:
    """Move nodes towards the median of their neighbours, never closer than one unit.

    Dummies give way to nodes, so that a chain stays straight beside its shortcuts.
    """
    offsets = [_offsets([1.0 if n < count else SLIM for n in row]) for row in rows]
    y = {
        node: at - places[-1] / 2
        for row, places in zip(rows, offsets, strict=True)
        for node, at in zip(row, places, strict=True)
    }
    for sweep in range(SWEEPS):
        towards = before if sweep % 2 == 0 else after
        both = list(zip(rows, offsets, strict=True))
        for row, places in both if sweep % 2 == 0 else reversed(both):
            wanted = [_median([y[m] for m in towards[n]], y[n]) for n in row]
            weights = [NODE_WEIGHT if n < count else 1.0 for n in row]
            y |= dict(zip(row, _spread(wanted, weights, places), strict=True))
    return y


def _level(rows: list[list[int]], y: dict[int, float], count: int) -> None:
    """Where a layer is a single node, move it and what follows to the middle, so that nothing
    drifts up or down from block to block."""
    shift = 0.0
    for row in rows:
        if len(row) == 1 and row[0] < count:
            shift = -y[row[0]]
        for node in row:
            y[node] += shift


def parts(count: int, links: Iterable[Edge]) -> list[int]:
    """By node the first node of its part: nodes that no edges join are in different ones."""
    root = list(range(count))

    def root_of(node: int) -> int:
        while root[node] != node:
            root[node] = root[root[node]]
            node = root[node]
        return node

    for a, b in links:
        one, other = sorted((root_of(a), root_of(b)))
        root[other] = one
    return [root_of(node) for node in range(count)]


def _set_apart(part: Sequence[int], y: dict[int, float]) -> None:
    """Move parts that nothing joins below each other, with room for the frames between them."""
    members: dict[int, list[int]] = defaultdict(list)
    for node, first in enumerate(part):
        members[first].append(node)
    if len(members) < 2:
        return
    top = 0.0
    for first in sorted(members):
        highest = min(y[node] for node in members[first])
        for node in members[first]:
            y[node] += top - highest
        top = max(y[node] for node in members[first]) + 1 + BETWEEN
    middle = (top - 1 - BETWEEN) / 2
    for node in y:
        y[node] -= middle


def _offsets(sizes: Sequence[float]) -> list[float]:
    """Where things of these sizes lie side by side, from the middle of the first."""
    places = [0.0] * min(1, len(sizes))
    for one, other in pairwise(sizes):
        places.append(places[-1] + (one + other) / 2)
    return places


def _spread(
    wanted: Sequence[float], weights: Sequence[float], offsets: Sequence[float]
) -> list[float]:
    """Places at least as far apart as `offsets`, in the same order, as close as can be to those
    wanted.

    Weighted least squares by pooling adjacent violators: runs that would overlap move as one.
    """
    runs: list[tuple[float, float, int]] = []  # (weighted sum of wanted − offset, weight, members)
    for offset, value, weight in zip(offsets, wanted, weights, strict=True):
        total, heavy, size = weight * (value - offset), weight, 1
        while runs and runs[-1][0] / runs[-1][1] >= total / heavy:
            before = runs.pop()
            total, heavy, size = total + before[0], heavy + before[1], size + before[2]
        runs.append((total, heavy, size))
    shifts = [total / heavy for total, heavy, size in runs for _ in range(size)]
    return [shift + offset for offset, shift in zip(offsets, shifts, strict=True)]


def _median(values: list[float], otherwise: float) -> float:
    if not values:
        return otherwise
    values.sort()
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2
