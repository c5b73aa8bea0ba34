"""Break nodes: where divide and conquer cuts a network, named by hand or found.

A break node's part ends with it: the part holds all that the node waits for and no earlier part
has. So the parts, in order, are a schedule of any DAG, whatever crosses the cuts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from planners.core.errors import BadInput
from planners.core.graph import Graph
from planners.core.masks import bits
from planners.core.services import Pairs
from planners.cosma.model.constraints import positions_before

# Beyond so many operators only those at the smallest cuts are looked at.
CANDIDATES = 1500

Part = tuple[int, ...]  # operators by position, ascending


def parts_at(graph: Graph, names: Sequence[str], before: Pairs = ()) -> tuple[Part, ...]:
    """The parts between break nodes given by name, in any order.

    Of the pairs `before`, too, the second waits for the first, which the graph has before it.
    Raises `BadInput` for what is no operator, and for a node that splits nothing off.
    """
    for name in names:
        if name not in graph.index:
            raise BadInput(f"break_nodes: {name!r} is not an operator of {graph.name!r}")
    closures = _closures(graph, before)
    everything = (1 << len(graph.operators)) - 1
    done, parts = 0, []
    for position in sorted(graph.index[name] for name in names):
        upto = done | closures[position]
        if upto in (done, everything):
            why = "is named twice" if upto == done else "leaves nothing to run after it"
            name = graph.operators[position].name
            raise BadInput(f"break_nodes: {name!r} does not split the network: it {why}")
        parts.append(upto & ~done)
        done = upto
    parts.append(everything & ~done)
    return tuple(tuple(bits(part)) for part in parts)


def find_breaks(graph: Graph, most: int, before: Pairs = ()) -> tuple[str, ...]:
    """Break nodes whose cuts the fewest bytes cross, for parts of at most `most` operators.

    A shortest path over the nested sets of operators that end with one node; where no node is
    near enough to the next, only the largest set within it is tried, and the part exceeds `most`.
    """
    count = len(graph.operators)
    everything = (1 << count) - 1
    closures = _closures(graph, before)
    crossing = _Crossing(graph)
    near = sorted(range(count), key=lambda i: crossing.bytes((2 << i) - 1))[:CANDIDATES]
    ends = {closures[i]: i for i in near if closures[i] != everything}
    sets = [0, *sorted(ends, key=int.bit_count), everything]
    price = [crossing.bytes(done) for done in sets]
    best: list[tuple[int, int, int]] = [(0, 0, -1)]  # operators too many, bytes, set before
    for at in range(1, len(sets)):
        best.append(min(_arrivals(sets, best, price[at], at, most)))
    names: list[str] = []
    at = best[-1][2]
    while at > 0:
        names.append(graph.operators[ends[sets[at]]].name)
        at = best[at][2]
    return tuple(reversed(names))


def _arrivals(
    sets: Sequence[int], best: Sequence[tuple[int, int, int]], price: int, at: int, most: int
) -> Iterable[tuple[int, int, int]]:
    """Ways to reach a set from smaller ones within it: all near ones, and one that is far."""
    for earlier in range(at - 1, -1, -1):
        if sets[earlier] & ~sets[at]:
            continue
        excess = max(0, (sets[at] ^ sets[earlier]).bit_count() - most)
        too_many, paid, _ = best[earlier]
        yield too_many + excess, paid + price, earlier
        if excess:
            return


def _closures(graph: Graph, before: Pairs) -> list[int]:
    """Each operator with all that it waits for, as a mask."""
    closed: list[int] = []
    for position, waits in enumerate(positions_before(graph, before)):
        op, mask = graph.operators[position], 1 << position
        for near in bits(waits):
            mask |= closed[near]
        for tensor in op.inputs:
            if tensor in graph.producer:
                mask |= closed[graph.producer[tensor]]
        closed.append(mask)
    return closed


class _Crossing:
    """Bytes of the tensors that are used on both sides of a cut."""

    def __init__(self, graph: Graph) -> None:
        self.uses: list[tuple[int, int]] = []
        for name, readers in graph.consumers.items():
            mask = sum(1 << i for i in readers)
            if name in graph.producer:
                mask |= 1 << graph.producer[name]
            if graph.tensors[name].kind != "parameter" and mask & (mask - 1):
                self.uses.append((mask, graph.size_bytes(name)))

    def bytes(self, done: int) -> int:
        return sum(size for mask, size in self.uses if mask & done and mask & ~done)
