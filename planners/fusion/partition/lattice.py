"""The sets of operators that a search over fused groups moves in, as bitmasks.

A *downset* holds all that its members wait for: what can have run. A *group* is convex: no path
leaves it and comes back, so it can run as one (Optimus, ISValid). A step from a downset D to a
larger one E runs the group E∖D, and each convex set is such a step. Bit i is operator i.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate

from planners.core.errors import BadInput
from planners.core.graph import Graph
from planners.core.masks import bits


@dataclass(frozen=True, slots=True)
class Dag:
    """Operators by position, in an order that can run; all else are masks over them, by position.

    `relatives` are the operators that share a tensor with one: what it reads from, what reads
    from it, and what reads something that it reads, a graph input or parameter too.
    """

    predecessors: tuple[int, ...]
    successors: tuple[int, ...]
    ancestors: tuple[int, ...]
    descendants: tuple[int, ...]
    relatives: tuple[int, ...]

    @property
    def count(self) -> int:
        return len(self.predecessors)

    @property
    def everything(self) -> int:
        return (1 << self.count) - 1

    @staticmethod
    def from_graph(graph: Graph) -> Dag:
        """The operators of a graph and what they share."""
        pairs = [
            (graph.producer[tensor], reader)
            for reader, op in enumerate(graph.operators)
            for tensor in op.inputs
            if tensor in graph.producer
        ]
        return Dag.from_edges(len(graph.operators), pairs, graph.consumers.values())

    @staticmethod
    def from_edges(
        count: int, edges: Iterable[tuple[int, int]], shared: Iterable[Iterable[int]] = ()
    ) -> Dag:
        """A DAG whose edges go from smaller to larger positions; `shared`: readers of one tensor.

        Raises `BadInput` for an edge that does not.
        """
        before, after, near = [0] * count, [0] * count, [0] * count
        for u, v in edges:
            if not 0 <= u < v < count:
                raise BadInput(f"an edge from operator {u} to {v} does not fit the order")
            before[v] |= 1 << u
            after[u] |= 1 << v
        for readers in shared:
            together = sum(1 << i for i in set(readers))
            for i in bits(together):
                near[i] |= together
        up, down = before[:], after[:]
        for i in range(count):
            for j in bits(before[i]):
                up[i] |= up[j]
        for i in reversed(range(count)):
            for j in bits(after[i]):
                down[i] |= down[j]
        relatives = (
            (n | b | a) & ~(1 << i) for i, (n, b, a) in enumerate(zip(near, before, after))
        )
        return Dag(tuple(before), tuple(after), tuple(up), tuple(down), tuple(relatives))

    def is_convex(self, mask: int) -> bool:
        """Whether no path leaves the set and comes back."""
        return not self.between(mask) & ~mask

    def between(self, mask: int) -> int:
        """Operators both before and after members of the set; of a convex set all are members."""
        before = after = 0
        for i in bits(mask):
            before |= self.ancestors[i]
            after |= self.descendants[i]
        return before & after

    def pieces(self, mask: int) -> Iterator[int]:
        """The parts of a set that share no tensor, those with the first operators first."""
        while mask:
            piece, new = 0, mask & -mask
            while new:
                piece |= new
                new = self._near(new) & mask & ~piece
            yield piece
            mask &= ~piece

    def _near(self, mask: int) -> int:
        near = 0
        for i in bits(mask):
            near |= self.relatives[i]
        return near

    def sources(self) -> int:
        """Operators that wait for none."""
        return sum(1 << i for i, before in enumerate(self.predecessors) if not before)

    def ready_after(self, ready: int, done: int, i: int) -> int:
        """Operators that can run once `done` has, from those that could before operator i did."""
        ready &= ~(1 << i)
        for j in bits(self.successors[i]):
            if not self.predecessors[j] & ~done:
                ready |= 1 << j
        return ready

    def downsets(self) -> list[int]:
        """All downsets from the empty one up, by size."""
        layer, downsets = {0: self.sources()}, [0]
        while layer:
            grown: dict[int, int] = {}
            for done, ready in layer.items():
                for i in bits(ready):
                    larger = done | 1 << i
                    if larger not in grown:
                        grown[larger] = self.ready_after(ready, larger, i)
            layer = grown
            downsets += layer
        return downsets


def count_downsets(dag: Dag) -> int:
    """How many downsets there are, the empty and the full one included; nothing is enumerated."""
    return _count(dag, lambda seen: (_OUT,) if _OUT in seen else (_OUT, _IN))


def count_groups(dag: Dag) -> int:
    """How many non-empty convex sets there are (Table 5, *groups*), without enumerating them.

    Every operator is a member, before a member, or neither (out); out comes only out, and before
    the set comes only what is before it. Each such labelling is one convex set.
    """
    return _count(dag, _group_labels) - 1  # but for the empty one


# An operator before the set *owes* a successor that is a member or before the set itself.
_OUT, _IN, _OWES, _BEFORE = range(4)
_Labels = tuple[int, ...]


def _group_labels(seen: set[int]) -> tuple[int, ...]:
    """What an operator may be whose predecessors are what was seen."""
    if _OUT in seen:
        return (_OUT,)
    return (_OUT, _IN) if _IN in seen else (_OUT, _IN, _OWES)


def _count(dag: Dag, labels: Callable[[set[int]], tuple[int, ...]]) -> int:
    """Labellings of all operators, counted in one pass over those of the frontier.

    The frontier holds operators with readers still to come: time is linear in the operators and
    exponential only in how many wait at once.
    """
    counts: Counter[_Labels] = Counter({(): 1})
    frontier: list[int] = []
    for i in range(dag.count):
        here = [*frontier, i]
        reads = [k for k, j in enumerate(frontier) if dag.predecessors[i] >> j & 1]
        stay = [k for k, j in enumerate(here) if dag.successors[j] >> (i + 1)]
        leave = [k for k in range(len(here)) if k not in stay]
        after: Counter[_Labels] = Counter()
        for state, ways in counts.items():
            for label in labels({state[k] for k in reads}):
                settled = [*state, label]
                for k in reads:
                    if label != _OUT and settled[k] == _OWES:
                        settled[k] = _BEFORE
                if all(settled[k] != _OWES for k in leave):
                    after[tuple([settled[k] for k in stay])] += ways
        counts, frontier = after, [here[k] for k in stay]
    return sum(counts.values())


# ---- Orders of all operators, other than the default one, in which groups may follow each other --


def by_levels(dag: Dag) -> list[int]:
    """Operators by the longest path that leads to them."""
    level = [0] * dag.count
    for i in range(dag.count):
        level[i] = max((level[j] + 1 for j in bits(dag.predecessors[i])), default=0)
    return sorted(range(dag.count), key=lambda i: (level[i], i))


def by_depth(dag: Dag) -> list[int]:
    """Each operator as late as what reads it allows: one branch after the other."""
    order: list[int] = []
    seen = 0
    for last in reversed(range(dag.count)):
        if dag.successors[last]:
            continue
        stack = [(last, False)]
        while stack:
            i, ready = stack.pop()
            if ready:
                order.append(i)
            elif not seen >> i & 1:
                seen |= 1 << i
                stack.append((i, True))
                stack += [(j, False) for j in bits(dag.predecessors[i])]
    return order


def prefixes(dag: Dag) -> list[int]:
    """The downsets of the default order of operators."""
    return downsets_of(range(dag.count))


def downsets_of(order: Iterable[int]) -> list[int]:
    """What has run after each operator of an order, and before the first."""
    return [0, *accumulate((1 << i for i in order), int.__or__)]
