"""Cost models, DAGs and a brute force, for tests of the search over fused groups."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from planners.core.graph import Graph
from planners.core.masks import bits
from planners.fusion.partition.lattice import Dag


@dataclass(frozen=True, slots=True)
class Way:
    buffer_bytes: int
    traffic_bytes: int


class RandomModel:
    """Any cost for any group, and footprints that grow with it or not.

    Larger groups tend to cost less than their parts, so that the best partition is not plain.
    """

    def __init__(self, graph: Graph, seed: int, monotone: bool) -> None:
        self.graph, self.seed, self.monotone = graph, seed, monotone
        self.asked: Counter[int] = Counter()

    def staircase(self, mask: int) -> tuple[Way, ...]:
        self.asked[mask] += 1
        rng = random.Random(f"{self.seed} {mask}")
        size = mask.bit_count()
        if size > 1 and not self.monotone and rng.random() < 0.2:
            return ()
        if self.monotone:
            least = sum(random.Random(f"{self.seed} op {i}").randint(1, 9) for i in bits(mask))
        else:
            least = rng.randint(1, 9) * (1 if size == 1 else rng.randint(1, 4))
        traffic = rng.randint(6 * size, 14 * size) + 8
        ways = []
        for _ in range(rng.randint(1, 3)):
            ways.append(Way(least, traffic))
            least += rng.randint(1, 9)
            traffic = max(1, traffic - rng.randint(1, 6))
        return tuple(ways)

    def fuses(self, mask: int) -> bool:
        return bool(self.staircase(mask))

    def least_traffic(self, mask: int) -> int:
        least = min((way.traffic_bytes for way in self.staircase(mask)), default=0)
        return int(least * random.Random(f"{self.seed} bound {mask}").random())


class LineModel:
    """A simple model as of equations 3 and 4: maps as rows of one byte, n strips, one halo row.

    Kept apart, operators that share nothing cost no more; footprints grow; looks alone count.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.asked: Counter[int] = Counter()

    def staircase(self, mask: int) -> tuple[Way, ...]:
        self.asked[mask] += 1
        return self._ways(mask)

    def _ways(self, mask: int) -> tuple[Way, ...]:
        graph = self.graph
        ops = [graph.operators[i] for i in bits(mask)]
        made = {t for op in ops for t in op.outputs}
        read = {t for op in ops for t in op.inputs}
        weights = sum(graph.size_bytes(t) for op in ops for t in op.parameters)
        stored = {t for t in made if self._escapes(t, mask)}
        maps = sum(graph.size_bytes(t) for t in stored | (read - made))
        ways = []
        for strips in (4, 2, 1):
            rows = sum(-(-graph.size_bytes(t) // strips) + 1 for t in made | read)
            ways.append(Way(rows, maps + strips * weights))
            ways.append(Way(rows + weights, maps + weights))
        return undominated(ways)

    def fuses(self, mask: int) -> bool:
        return mask > 0

    def least_traffic(self, mask: int) -> int:
        return self._ways(mask)[-1].traffic_bytes

    def _escapes(self, tensor: str, mask: int) -> bool:
        readers = self.graph.consumers[tensor]
        return (
            tensor in self.graph.outputs or not readers or any(not mask >> i & 1 for i in readers)
        )


def undominated(ways: list[Way]) -> tuple[Way, ...]:
    found: list[Way] = []
    for way in sorted(ways, key=lambda w: (w.buffer_bytes, w.traffic_bytes)):
        if not found or way.traffic_bytes < found[-1].traffic_bytes:
            found.append(way)
    return tuple(found)


def brute_force(dag: Dag, cost: dict[int, int]) -> int | None:
    """The least cost over all acyclic partitions: each subset of what is left that can run next.

    It tries every non-empty set of operators, and asks nothing of the lattice's code.
    """

    @cache
    def least(left: int) -> int | None:
        if not left:
            return 0
        best = None
        for mask in subsets(left):
            if mask not in cost or any(dag.predecessors[i] & left & ~mask for i in bits(mask)):
                continue
            rest = least(left & ~mask)
            if rest is not None and (best is None or rest + cost[mask] < best):
                best = rest + cost[mask]
        return best

    return least(dag.everything)


def subsets(mask: int) -> Iterator[int]:
    """All non-empty subsets."""
    part = mask
    while part:
        yield part
        part = (part - 1) & mask


def random_dag(seed: int, count: int) -> Dag:
    rng = random.Random(seed)
    share = rng.uniform(0.1, 0.6)
    pairs = [(i, j) for j in range(count) for i in range(j) if rng.random() < share]
    return Dag.from_edges(count, pairs)
