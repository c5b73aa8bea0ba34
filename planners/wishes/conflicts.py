"""Wishes that are not possible together, and a minimal set of them that conflicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from planners.core.errors import WishesConflict
from planners.core.graph import Graph
from planners.wishes.language import Wish

if TYPE_CHECKING:
    import networkx as nx


def minimal_conflict(
    wishes: Sequence[Wish], possible: Callable[[Sequence[Wish]], bool]
) -> list[Wish]:
    """A minimal set of wishes that is not possible, where all together are not.

    A deletion filter: each wish whose absence changes nothing is dropped, one after the other.
    """
    left = list(wishes)
    for wish in wishes:
        fewer = [other for other in left if other != wish]
        if not possible(fewer):
            left = fewer
    return left


def require_consistent(wishes: Sequence[Wish], graph: Graph, budget_bytes: int) -> None:
    """Raise `WishesConflict` for wishes that contradict each other, or the graph, at any budget."""
    if consistent(wishes, graph):
        return
    least = minimal_conflict(wishes, lambda some: consistent(some, graph))
    texts = tuple(str(wish) for wish in least)
    reason = "contradict each other" if len(texts) > 1 else "contradicts the graph"
    if any(wish.kind == "before" for wish in least):
        reason = "operators would have to wait for each other"
    raise WishesConflict(texts, budget_bytes, budget_bytes, reason=reason)


def consistent(wishes: Iterable[Wish], graph: Graph) -> bool:
    """Whether wishes are possible together with unlimited memory."""
    import networkx as nx  # Here and not above: most plans have no wishes.

    by_kind: dict[str, list[tuple[str, ...]]] = {}
    for wish in wishes:
        by_kind.setdefault(wish.kind, []).append(wish.names)
    kept, spilled = by_kind.get("keep", []), by_kind.get("spill", [])
    if set(kept) & set(spilled):
        return False
    waits = _waits(graph, by_kind.get("before", []))
    if not nx.is_directed_acyclic_graph(waits):
        return False
    return _groups_exist(graph, by_kind.get("fuse", []), by_kind.get("split", []))


def _waits(graph: Graph, before: Iterable[tuple[str, ...]]) -> nx.DiGraph[str]:
    """Operators, with an arrow to each that has to wait for one."""
    import networkx as nx

    waits: nx.DiGraph[str] = nx.DiGraph()
    waits.add_nodes_from(graph.index)
    for op in graph.operators:
        for tensor in op.inputs:
            if tensor in graph.producer:
                waits.add_edge(graph.operators[graph.producer[tensor]].name, op.name)
    waits.add_edges_from((a, b) for a, b in before)
    return waits


def _groups_exist(
    graph: Graph, fused: Sequence[tuple[str, ...]], apart: Sequence[tuple[str, ...]]
) -> bool:
    """Whether groups without cycles can have these together and those apart."""
    if not fused or not apart:
        return True
    return not any({a, b} <= names for a, b in apart for names in together(graph, fused))


def together(graph: Graph, fused: Iterable[tuple[str, ...]]) -> list[set[str]]:
    """The smallest groups of two operators or more, without cycles, that have these pairs.

    What lies between two operators of a group is in it too: on a cycle with it.
    """
    import networkx as nx

    waits = _waits(graph, ())
    waits.add_edges_from(pair for a, b in fused for pair in ((a, b), (b, a)))
    return [names for names in nx.strongly_connected_components(waits) if len(names) > 1]
