"""Which nodes of a graph are drawn: operators, or the blocks of the model that hold them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

VISIBLE_LIMIT = 300
COMFORTABLE = 32


@dataclass(frozen=True, slots=True)
class BlockNode:
    """An operator, or a collapsed block with all operators in it (`members` are positions)."""

    name: str
    members: tuple[int, ...]
    is_block: bool


@dataclass(frozen=True, slots=True)
class Frame:
    """An expanded block: the visible nodes that lie in it, so that it can be drawn around them."""

    block: str
    nodes: tuple[int, ...]
    depth: int


class BlockTree:
    """The tree of blocks that the operators' module paths span.

    A block with one operator, or with the same operators as the block around it, is left out:
    expanding it would show nothing new.
    """

    def __init__(self, operators: Sequence[str], paths: Sequence[str]) -> None:
        self.operators = operators
        counts = Counter(prefix for path in paths for prefix in _prefixes(path))
        self.chains = [tuple(_worth_a_node(path, counts)) for path in paths]
        if len(self.nodes(())) > VISIBLE_LIMIT:
            self._group_the_blockless()
        self.names = {name for chain in self.chains for name in chain}

    def _group_the_blockless(self) -> None:
        """Runs of operators outside any block become blocks where there are too many to draw."""
        loose = [i for i, chain in enumerate(self.chains) if not chain]
        size = -(-len(loose) // (VISIBLE_LIMIT // 4))
        for start in range(0, len(loose), size):
            run = loose[start : start + size]
            if len(run) > 1:
                for i in run:
                    self.chains[i] = (f"operators {run[0] + 1}–{run[-1] + 1}",)

    def nodes(self, expanded: Collection[str]) -> list[BlockNode]:
        """Visible nodes in the order of their first operator."""
        members: dict[tuple[str, bool], list[int]] = {}
        for position, (operator, chain) in enumerate(zip(self.operators, self.chains, strict=True)):
            block = next((name for name in chain if name not in expanded), None)
            key = (operator, False) if block is None else (block, True)
            members.setdefault(key, []).append(position)
        return [BlockNode(name, tuple(places), block) for (name, block), places in members.items()]

    def frames(self, expanded: Collection[str]) -> list[Frame]:
        """Expanded blocks around the visible nodes, outermost first."""
        inside: dict[str, list[int]] = {}
        depth: dict[str, int] = {}
        for index, node in enumerate(self.nodes(expanded)):
            for level, name in enumerate(self.chains[node.members[0]]):
                if name not in expanded or name == node.name:
                    break
                inside.setdefault(name, []).append(index)
                depth[name] = level
        frames = [Frame(name, tuple(nodes), depth[name]) for name, nodes in inside.items()]
        return sorted(frames, key=lambda frame: frame.depth)

    def comfortable(self, limit: int = COMFORTABLE) -> frozenset[str]:
        """What to expand at first: level by level, as long as at most `limit` nodes are visible."""
        expanded: frozenset[str] = frozenset()
        while True:
            closed = [node.name for node in self.nodes(expanded) if node.is_block]
            deeper = expanded.union(closed)
            if not closed or len(self.nodes(deeper)) > limit:
                return expanded
            expanded = deeper

    def expand(self, expanded: Collection[str], block: str) -> frozenset[str]:
        """`block` opened; the blocks around it and beside it stay as they are."""
        return frozenset(expanded) | {block}

    def collapse(self, expanded: Collection[str], block: str) -> frozenset[str]:
        """`block` closed, with all blocks in it."""
        return frozenset(b for b in expanded if b != block and not b.startswith(block + "."))

    def reveal(self, expanded: Collection[str], operator: int) -> frozenset[str]:
        """Every block around an operator opened, so that the operator itself is visible."""
        return frozenset(expanded).union(self.chains[operator])

    def everything(self) -> frozenset[str]:
        """All blocks opened, or as many levels as keep to the limit of visible nodes."""
        if len(self.operators) <= VISIBLE_LIMIT:
            return frozenset(self.names)
        return self.comfortable(VISIBLE_LIMIT)


def _prefixes(path: str) -> Iterable[str]:
    parts = path.split(".") if path else []
    return (".".join(parts[: i + 1]) for i in range(len(parts)))


def _worth_a_node(path: str, counts: Counter[str]) -> Iterable[str]:
    around = 0
    for prefix in _prefixes(path):
        if counts[prefix] > 1 and counts[prefix] != around:
            around = counts[prefix]
            yield prefix
