"""A graph as the search over orders sees it: operators and tensors by number, sizes in units.

A net may be part of another: only some tensors count, the rest is room that each operator needs.
Whatever a plan pays for those tensors in the whole it pays for a plan of the part as well, so the
least cost of the part is a lower bound on the whole's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import gcd
from typing import NamedTuple

from planners.core.graph import Graph
from planners.core.masks import bits
from planners.cosma.model.constraints import NO_WISHES, WishedStays, positions_before


@dataclass(frozen=True, slots=True)
class Op:
    """An operator: tensors by number, units that it needs beside them, mask of what is before."""

    reads: tuple[int, ...]
    writes: tuple[int, ...]
    extra: int
    after: int


class UnorderedTensors(NamedTuple):
    """Tensors that are made by an operator's ancestors, or not by its descendants but by some
    operator, and those that its descendants read."""

    made_before: int
    made_not_after: int
    read_after: int


@dataclass(frozen=True)
class Net:
    """Operators in some order that can run; `counts` are those that matter, as a mask."""

    ops: tuple[Op, ...]
    sizes: tuple[int, ...]
    host: int  # Tensors that the host has whenever they leave.
    capacity: int
    unit: int
    counts: int
    names: tuple[str, ...]
    keep: int = 0  # Tensors that never leave between their uses, as wished,
    spill: int = 0  # and those that leave for every operator that does not use them.

    @cached_property
    def producer(self) -> tuple[int, ...]:
        """The operator that makes each tensor; −1 where none does."""
        producers = [-1] * len(self.sizes)
        for i, op in enumerate(self.ops):
            for tensor in op.writes:
                producers[tensor] = i
        return tuple(producers)

    @cached_property
    def consumers(self) -> tuple[int, ...]:
        """Mask of the operators that read each tensor."""
        masks = [0] * len(self.sizes)
        for i, op in enumerate(self.ops):
            for tensor in op.reads:
                masks[tensor] |= 1 << i
        return tuple(masks)

    @cached_property
    def before(self) -> tuple[int, ...]:
        """All ancestors of each operator."""
        ancestors: list[int] = []
        for op in self.ops:
            mask = op.after
            for near in bits(op.after):
                mask |= ancestors[near]
            ancestors.append(mask)
        return tuple(ancestors)

    @cached_property
    def behind(self) -> tuple[int, ...]:
        """All descendants of each operator."""
        descendants = [0] * len(self.ops)
        for i in range(len(self.ops) - 1, -1, -1):
            for near in bits(self.ops[i].after):
                descendants[near] |= descendants[i] | 1 << i
        return tuple(descendants)

    @cached_property
    def around(self) -> tuple[UnorderedTensors, ...]:
        """What surely happens before and after each operator."""
        count = len(self.ops)
        made_before, made_after, read_after = [0] * count, [0] * count, [0] * count
        reads = [sum(1 << t for t in op.reads) for op in self.ops]
        writes = [sum(1 << t for t in op.writes) for op in self.ops]
        written = 0
        for i, op in enumerate(self.ops):
            written |= writes[i]
            for near in bits(op.after):
                made_before[i] |= made_before[near] | writes[near]
        for i in range(count - 1, -1, -1):
            for near in bits(self.ops[i].after):
                made_after[near] |= made_after[i] | writes[i]
                read_after[near] |= read_after[i] | reads[i]
        return tuple(
            UnorderedTensors(made_before[i], written & ~made_after[i], read_after[i])
            for i in range(count)
        )

    def may_cross(self, tensor: int, position: int) -> bool:
        """Whether some order has the tensor live while an operator runs that does not use it."""
        op, producer = self.ops[position], self.producer[tensor]
        if tensor in op.reads or tensor in op.writes:
            return False
        made_after = producer >= 0 and self.behind[position] >> producer & 1
        return not made_after and bool(self.consumers[tensor] & ~self.before[position])

    def orders(self) -> Iterator[tuple[int, ...]]:
        """All orders that can run; there may be very many."""
        everything = (1 << len(self.ops)) - 1
        stack: list[tuple[int, tuple[int, ...]]] = [(0, ())]
        while stack:
            done, order = stack.pop()
            if done == everything:
                yield order
            for i in bits(everything & ~done):
                if not self.ops[i].after & ~done:
                    stack.append((done | 1 << i, (*order, i)))

    def ordered(self, order: Sequence[int]) -> Net:
        """The same net with its operators numbered along an order."""
        at = {position: step for step, position in enumerate(order)}
        ops = tuple(
            replace(self.ops[i], after=sum(1 << at[near] for near in bits(self.ops[i].after)))
            for i in order
        )
        counts = sum(1 << at[i] for i in bits(self.counts))
        return replace(self, ops=ops, counts=counts)

    def without_wishes(self) -> Net:
        """The same net where any tensor may stay or leave: what it costs at least bounds this."""
        return replace(self, keep=0, spill=0)

    def only(self, keep: Callable[[int], bool], first: int = 0) -> Net:
        """The part about some tensors, from operator `first` on.

        Of the operators, those count that touch such a tensor, or need the room of one.
        """
        part = replace(self, ops=tuple(self._narrowed(op, keep) for op in self.ops))
        used = [t for t, mask in enumerate(part.consumers) if mask]
        counts = 0
        for i in bits(self.counts >> first << first):
            op = part.ops[i]
            room = self.capacity - op.extra
            touches = bool(op.reads or op.writes)
            if touches or any(self.sizes[t] > room and part.may_cross(t, i) for t in used):
                counts |= 1 << i
        return part._with_counts(counts)

    def tail(self, first: int) -> Net:
        """The part about tensors that are made, or first read, from operator `first` on."""
        earlier = (1 << first) - 1
        return self.only(
            lambda t: (
                self.producer[t] >= first
                or (self.producer[t] < 0 and not self.consumers[t] & earlier)
            ),
            first,
        )

    def _narrowed(self, op: Op, keep: Callable[[int], bool]) -> Op:
        room = sum(self.sizes[t] for t in {*op.reads, *op.writes} if not keep(t))
        reads, writes = (tuple(t for t in side if keep(t)) for side in (op.reads, op.writes))
        return Op(reads, writes, op.extra + room, op.after)

    def _with_counts(self, counts: int) -> Net:
        """Only these operators matter; what runs before each is the nearest of them."""
        near: list[int] = []
        for op in self.ops:
            mask = op.after & counts
            for other in bits(op.after & ~counts):
                mask |= near[other]
            near.append(mask)
        ops = tuple(replace(op, after=mask) for op, mask in zip(self.ops, near, strict=True))
        return replace(self, ops=ops, counts=counts)


def net_of(
    graph: Graph, parameters: bool, budget_bytes: int, wished: WishedStays = NO_WISHES
) -> Net:
    """The whole graph, in units of the greatest common divisor of all sizes."""
    read_in_place = {
        name
        for name, tensor in graph.tensors.items()
        if tensor.kind == "parameter" and (not parameters or len(graph.consumers[name]) < 2)
    }
    names = [name for name in graph.tensors if name not in read_in_place]
    at = {name: i for i, name in enumerate(names)}
    unit = gcd(*(graph.size_bytes(name) for name in graph.tensors))
    ops = []
    for op, waits in zip(graph.operators, positions_before(graph, wished.before), strict=True):
        reads = dict.fromkeys(at[t] for t in (*op.inputs, *op.parameters) if t in at)
        passing = (
            sum(graph.size_bytes(t) for t in op.parameters if t in read_in_place)
            if parameters
            else 0
        )
        before = {graph.producer[t] for t in op.inputs if t in graph.producer}
        outputs = tuple(at[t] for t in op.outputs)
        after = sum(1 << i for i in before) | waits
        ops.append(Op(tuple(reads), outputs, passing // unit, after))
    host = sum(1 << at[n] for n in names if n not in graph.producer or n in graph.outputs)
    sizes = tuple(graph.size_bytes(name) // unit for name in names)
    return Net(
        tuple(ops),
        sizes,
        host,
        budget_bytes // unit,
        unit,
        (1 << len(ops)) - 1,
        tuple(names),
        keep=sum(1 << at[name] for name in wished.keep if name in at),
        spill=sum(1 << at[name] for name in wished.spill if name in at),
    )
