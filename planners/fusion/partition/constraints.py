"""Wishes as the search over groups sees them: operators in one group, and operators in two."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from planners.core.errors import BadInput
from planners.core.graph import Graph
from planners.core.masks import bits
from planners.fusion.partition.lattice import Dag
from planners.wishes.conflicts import together
from planners.wishes.language import Kind, Wish

KNOWN: tuple[Kind, ...] = ("fuse", "split", "keep", "spill")


@dataclass(frozen=True, slots=True)
class WishedGroups:
    """Masks of operators that are in one group, as few as can be, and of pairs that are not.

    `near` are the pairs that were wished together: groups may hold what shares no tensor.
    """

    classes: tuple[int, ...] = ()
    apart: tuple[int, ...] = ()
    near: tuple[int, ...] = ()

    @staticmethod
    def from_wishes(wishes: Iterable[Wish], graph: Graph) -> WishedGroups:
        """What wishes require where everything is off chip between groups.

        There a tensor is kept where all that use it are one group, and spilled in any case.
        """
        pairs: list[tuple[str, str]] = []
        apart: list[int] = []
        for wish in wishes:
            if wish.kind == "keep":
                users = _users(graph, wish.names[0])
                pairs += [(users[0], other) for other in users[1:]]
            elif wish.kind == "fuse":
                pairs.append((wish.names[0], wish.names[1]))
            elif wish.kind == "split":
                apart.append(_mask(graph, wish.names))
        classes = tuple(_mask(graph, names) for names in together(graph, pairs)) if pairs else ()
        return WishedGroups(classes, tuple(apart), tuple(_mask(graph, pair) for pair in pairs))

    def __bool__(self) -> bool:
        return bool(self.classes or self.apart)

    def allows(self, mask: int) -> bool:
        """Whether a partition that respects the wishes may have this group."""
        return self.may_grow(mask) and all(mask & one in (0, one) for one in self.classes)

    def may_grow(self, mask: int) -> bool:
        """Whether a group that is allowed may hold these."""
        return all(mask & pair != pair for pair in self.apart)

    def least(self, dag: Dag) -> tuple[int, ...]:
        """The smallest groups that fuse what wishes want together; all other operators alone."""
        joined = 0
        for one in self.classes:
            joined |= one
        return (*self.classes, *(1 << i for i in bits(dag.everything & ~joined)))

    def relate(self, dag: Dag) -> Dag:
        """The graph in which operators wished together share a tensor."""
        relatives = list(dag.relatives)
        for pair in self.near:
            for i in bits(pair):
                relatives[i] |= pair & ~(1 << i)
        return replace(dag, relatives=tuple(relatives))


def require_made(wishes: Iterable[Wish], graph: Graph) -> None:
    """Raise `BadInput` for a wish to keep what no operator makes: groups load it as they run."""
    for wish in wishes:
        if wish.kind == "keep" and wish.names[0] not in graph.producer:
            raise BadInput(
                f"wish {str(wish)!r:.80}: fusion keeps what an operator makes, and "
                f"{wish.names[0]!r:.60} is loaded: wish for planner cosma, or fuse its readers"
            )


def _users(graph: Graph, tensor: str) -> list[str]:
    return [graph.operators[i].name for i in (graph.producer[tensor], *graph.consumers[tensor])]


def _mask(graph: Graph, names: Iterable[str]) -> int:
    return sum(1 << graph.index[name] for name in set(names))
