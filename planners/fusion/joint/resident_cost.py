"""What a fused group costs where some of the tensors around it stay whole on chip.

Beyond Optimus' eq. 3: a tensor between groups need not leave the chip. Where it is *held*, all of
it has a place of its own size; the group then neither loads nor stores it, and needs no line
buffer for it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from planners.core.graph import Graph
from planners.core.masks import bits
from planners.fusion.partition.cost_model import StaircasePoint
from planners.fusion.search.bound import read_bytes
from planners.fusion.search.candidates import looks

Steps = tuple[tuple[int, int], ...]  # (buffer, traffic) in bytes, from small buffer to large


class HeldModel(Protocol):
    """Costs of groups, given as masks over `graph.operators`."""

    def staircase(self, mask: int, held: frozenset[str] = ..., /) -> Sequence[StaircasePoint]:
        """Ways to run a group with these tensors around it on chip, as far as they are held.

        The buffer is without their bytes, the traffic without their loads and stores. The more
        is held, the less of either is needed; by all that goes off chip otherwise, at most.
        """
        ...


class Tensors:
    """The tensors that groups hand on, by number, and sets of them as masks.

    `host` are those that are off chip once they are made, whatever is held: graph inputs, and
    graph outputs, which are stored as they are made.
    """

    def __init__(self, graph: Graph) -> None:
        self.names = [t for t in graph.tensors if graph.consumers[t]]
        self.names = [t for t in self.names if graph.tensors[t].kind != "parameter"]
        self.number = {name: k for k, name in enumerate(self.names)}
        self.size = [graph.size_bytes(name) for name in self.names]
        self.readers = [sum(1 << i for i in graph.consumers[name]) for name in self.names]
        self.producer = [graph.producer.get(name, -1) for name in self.names]
        self.outputs = self.mask(set(graph.outputs) & set(graph.producer))
        self.host = self.outputs | self.mask(graph.inputs)
        # The least that a reader touches of each, and what each reader does.
        self.touched = [
            {i: read_bytes(graph, graph.operators[i], name) for i in graph.consumers[name]}
            for name in self.names
        ]
        self._bytes: dict[int, int] = {0: 0}

    def mask(self, names: Collection[str]) -> int:
        """A set of tensors; those that nothing reads have no number."""
        return sum(1 << self.number[name] for name in set(names) if name in self.number)

    def named(self, tensors: int) -> tuple[str, ...]:
        """The names of a set of tensors."""
        return tuple(self.names[k] for k in bits(tensors))

    def bytes(self, tensors: int) -> int:
        """Bytes of all of them; the same few sets come again and again."""
        total = self._bytes.get(tensors)
        if total is None:
            total = self._bytes[tensors] = sum(self.size[k] for k in bits(tensors))
        return total

    def live(self, done: int) -> int:
        """What is there once these operators ran, and is still read."""
        return sum(
            1 << k
            for k, (producer, readers) in enumerate(zip(self.producer, self.readers, strict=True))
            if readers & ~done and (producer < 0 or done >> producer & 1)
        )


@dataclass(frozen=True, slots=True)
class GroupBoundary:
    """The tensors around a group: those that it reads, and those it makes that others read.

    `touched` are the bytes that it must load of each that it reads and does not hold.
    """

    reads: int
    makes: int
    touched: dict[int, int]


class HeldCosts:
    """Staircases by group and by what is held, computed once for all equivalent groups.

    `local`: groups of equal looks have equal costs (`Traits.local`).
    """

    def __init__(self, model: HeldModel, graph: Graph, *, local: bool = True) -> None:
        self.model, self.tensors = model, Tensors(graph)
        self.evaluated = 0
        self._reads = [self.tensors.mask(op.inputs) for op in graph.operators]
        self._makes = [self.tensors.mask(op.outputs) for op in graph.operators]
        self._looks = looks(graph) if local else ()
        places = {t: k for op in graph.operators for k, t in enumerate(op.outputs, 1)}
        self._place = [places.get(name, 0) for name in self.tensors.names]
        self._around: dict[int, GroupBoundary] = {}
        self._steps: dict[tuple[int, int], Steps] = {}
        self._known: dict[object, Steps] = {}

    def around(self, mask: int) -> GroupBoundary:
        """The tensors around a group."""
        boundary = self._around.get(mask)
        if boundary is None:
            boundary = self._around[mask] = self._find_around(mask)
        return boundary

    def _find_around(self, mask: int) -> GroupBoundary:
        tensors = self.tensors
        reads = makes = 0
        for i in bits(mask):
            reads |= self._reads[i]
            makes |= self._makes[i]
        reads &= ~makes
        kept = sum(1 << k for k in bits(makes) if tensors.readers[k] & ~mask)
        touched = {
            k: max(size for i, size in tensors.touched[k].items() if mask >> i & 1)
            for k in bits(reads)
        }
        return GroupBoundary(reads, kept, touched)

    def steps(self, mask: int, held: int) -> Steps:
        """The staircase of a group that holds these tensors, all of them around it."""
        steps = self._steps.get((mask, held))
        if steps is None:
            key = self._key(mask, held)
            steps = self._known.get(key)
            if steps is None:
                points = self.model.staircase(mask, frozenset(self.tensors.named(held)))
                steps = tuple((point.buffer_bytes, point.traffic_bytes) for point in points)
                self._known[key] = steps
                self.evaluated += 1
            self._steps[mask, held] = steps
        return steps

    def _key(self, mask: int, held: int) -> object:
        if not self._looks:
            return mask, held
        first = (mask & -mask).bit_length() - 1
        where = tuple([self._seen_from(first, k) for k in bits(held)])
        return mask >> first, tuple([self._looks[first + i] for i in bits(mask >> first)]), where

    def _seen_from(self, position: int, tensor: int) -> tuple[str, int, int]:
        """A tensor by its maker's distance, and which it is of what that makes; a graph input by
        its number."""
        producer = self.tensors.producer[tensor]
        return (
            ("input", tensor, 0)
            if producer < 0
            else ("made", producer - position, self._place[tensor])
        )
