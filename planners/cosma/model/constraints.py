"""Wishes as COSMA sees them: tensors that stay or leave, operators that wait for others."""

from __future__ import annotations

import heapq
from bisect import bisect, insort
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from planners.core.errors import BadInput
from planners.core.graph import Graph
from planners.core.masks import bits
from planners.wishes.language import Kind, Wish

KNOWN: tuple[Kind, ...] = ("keep", "spill", "before")


@dataclass(frozen=True, slots=True)
class WishedStays:
    """Tensors that never leave between their uses, tensors that leave wherever they are not used,
    and pairs of operators of which the first runs first; all by name.
    """

    keep: frozenset[str] = frozenset()
    spill: frozenset[str] = frozenset()
    before: tuple[tuple[str, str], ...] = ()

    @staticmethod
    def from_wishes(wishes: Iterable[Wish]) -> WishedStays:
        """What wishes of the kinds in `KNOWN` ask for."""
        wishes = tuple(wishes)
        return WishedStays(
            frozenset(wish.names[0] for wish in wishes if wish.kind == "keep"),
            frozenset(wish.names[0] for wish in wishes if wish.kind == "spill"),
            tuple((wish.names[0], wish.names[1]) for wish in wishes if wish.kind == "before"),
        )

    def inside(self, graph: Graph, part: Iterable[int]) -> WishedStays:
        """The wishes about a part alone: its operators, by position, and what only they use."""
        positions = set(part)
        names = {graph.operators[i].name for i in positions}
        return WishedStays(
            frozenset(t for t in self.keep if users(graph, t) <= positions),
            frozenset(t for t in self.spill if users(graph, t) <= positions),
            tuple(pair for pair in self.before if set(pair) <= names),
        )


NO_WISHES = WishedStays()


def users(graph: Graph, tensor: str) -> set[int]:
    """The operators that read or write a tensor, by position."""
    return {*graph.consumers[tensor], graph.producer.get(tensor, -1)} - {-1}


def require_counted(wishes: Iterable[Wish], graph: Graph, parameters: bool) -> None:
    """Raise `BadInput` for a wish about a parameter where parameters are not planned."""
    for wish in wishes:
        if wish.kind in ("keep", "spill") and not parameters:
            if graph.tensors[wish.names[0]].kind == "parameter":
                text = f"wish {str(wish)!r:.80}: {wish.names[0]!r:.60} is a parameter"
                raise BadInput(f"{text}, and they are not counted: use parameters=True")


def positions_before(graph: Graph, before: Iterable[tuple[str, str]]) -> list[int]:
    """For each operator, the mask of those that wishes let run before it."""
    masks = [0] * len(graph.operators)
    for first, then in before:
        masks[graph.index[then]] |= 1 << graph.index[first]
    return masks


def reordered(graph: Graph, before: Collection[tuple[str, str]]) -> Graph:
    """The graph with its operators in the nearest order found that can run and respects `before`.

    Of two: what has to wait is moved back, or what has to come first is moved ahead; the one that
    reverses fewer pairs of operators. The graph and `before` together must have no cycle.
    """
    at = graph.index
    if all(at[first] < at[then] for first, then in before):
        return graph
    waits = positions_before(graph, before)
    for i, op in enumerate(graph.operators):
        for tensor in op.inputs:
            if tensor in graph.producer:
                waits[i] |= 1 << graph.producer[tensor]
    last = len(waits) - 1
    turned = [0] * len(waits)  # The same from the end on: each waits for its followers.
    for i, mask in enumerate(waits):
        for j in bits(mask):
            turned[last - j] |= 1 << (last - i)
    back = _earliest(waits)
    ahead = [last - i for i in reversed(_earliest(turned))]
    order = min((back, ahead), key=turned_round)
    return replace(graph, operators=tuple(graph.operators[i] for i in order))


def _earliest(waits: list[int]) -> list[int]:
    """An order in which each waits for those of its mask, and else the first come first."""
    followers: list[list[int]] = [[] for _ in waits]
    left = [mask.bit_count() for mask in waits]
    for i, mask in enumerate(waits):
        for j in bits(mask):
            followers[j].append(i)
    heap = [i for i, count in enumerate(left) if not count]
    order = []
    while heap:
        i = heapq.heappop(heap)
        order.append(i)
        for j in followers[i]:
            left[j] -= 1
            if not left[j]:
                heapq.heappush(heap, j)
    assert len(order) == len(waits), "wishes and graph have no cycle"
    return order


def turned_round(order: Iterable[int]) -> int:
    """How many pairs of operators an order reverses against the graph's."""
    seen: list[int] = []
    count = 0
    for i in order:
        count += len(seen) - bisect(seen, i)
        insort(seen, i)
    return count
