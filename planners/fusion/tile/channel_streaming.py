"""Which maps of a group are held by a few channels only: operators invoked in advance (ISOA).

As soon as its producer has made T_c channels of a map, the operator that reads it adds their
products to its own output, and the channels are let go (Optimus, section 5.2). A map that is
added up like this is needed whole, so of two maps with such an operator in between at most one is
held by the channel (Algorithm 2). Pools and depth-wise operators pass channels on as they come.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from planners.core.graph import Graph
from planners.fusion.partition.lattice import Dag
from planners.fusion.tile.axes import channels_of
from planners.fusion.tile.rows import OperatorRows
from planners.fusion.tile.strips import Group


@dataclass(frozen=True, slots=True)
class AdvancingUnit:
    """Members of a group that run together: one alone, or all that some channels go through.

    `channels` of the maps between them are made and used a few at a time; 0 for one alone.
    """

    members: tuple[int, ...]
    channels: int = 0


def candidates(graph: Graph, dag: Dag, group: Group, held: Collection[str] = ()) -> tuple[str, ...]:
    """Tensors of a group that can be held by the channel; `held` are whole on chip anyway."""
    readers: dict[str, list[OperatorRows]] = {t: [] for t in group.tensors}
    for member in group.members:
        for name in member.op.inputs:
            readers[name].append(member)
    inside = sum(1 << m.position for m in group.members)
    return tuple(
        tensor
        for tensor in group.tensors
        if tensor not in held
        and channels_of(graph.tensors[tensor]) > 1
        and all(tensor in m.by_channel or m.sums(tensor) for m in readers[tensor])
        and _can_be_made(group, tensor)
        and not _wait(dag, graph.producer.get(tensor), readers[tensor], inside)
    )


def _wait(dag: Dag, maker: int | None, readers: Sequence[OperatorRows], inside: int) -> bool:
    """Whether a reader of a tensor needs what another makes of all of its channels."""
    together = others = sum(1 << m.position for m in readers)
    if maker is not None:
        together |= 1 << maker & inside
    if dag.between(together) & inside & ~together:
        return True
    return any(dag.predecessors[m.position] & others for m in readers)


def _can_be_made(group: Group, tensor: str) -> bool:
    """Whether channels come one by one: loaded so, or made so and not read elsewhere too."""
    if tensor in group.loaded:
        return True
    if tensor in group.stored and tensor not in group.sinks:
        return False
    maker = next(m for m in group.members if tensor in m.op.outputs)
    return maker.sliced or bool(maker.by_channel)


def least_buffer(graph: Graph, group: Group, savings: Mapping[str, int]) -> frozenset[str]:
    """The tensors to hold by the channel that save most in all (Algorithm 2, exact on any DAG).

    `savings`: bytes for each that can be. The best sets are tried in falling order until one can
    run: where it cannot, one of the tensors that wait for each other is held whole instead.
    """
    able = frozenset(t for t, size in savings.items() if size > 0)
    tried = {able}
    queue = [(-_most_apart(group, savings, able)[0], 0, able)]
    while True:
        _, _, allowed = heappop(queue)
        _, chosen = _most_apart(group, savings, allowed)
        try:
            units(graph, group, chosen)
        except Waiting as found:
            for tensor in sorted(found.tensors):
                fewer = allowed - {tensor}
                if fewer not in tried:
                    tried.add(fewer)
                    heappush(queue, (-_most_apart(group, savings, fewer)[0], len(tried), fewer))
        else:
            return chosen


def _most_apart(
    group: Group, savings: Mapping[str, int], allowed: Collection[str]
) -> tuple[int, frozenset[str]]:
    """The largest savings of tensors of which none is added up to make another.

    Each is made of one other at most: the pairs are a forest, and one pass from the outputs up
    compares each with all that are made of it.
    """
    taken: dict[str, int] = {}
    spared: dict[str, int] = {}
    made_of: dict[str, list[str]] = {}
    for member in group.members:
        for name in member.op.inputs:
            if name in allowed and member.sums(name):
                made_of.setdefault(name, []).extend(t for t in member.op.outputs if t in allowed)
    for tensor in reversed([t for t in group.tensors if t in allowed]):
        below = made_of.get(tensor, [])
        taken[tensor] = savings[tensor] + sum(spared[t] for t in below)
        spared[tensor] = sum(max(taken[t], spared[t]) for t in below)
    chosen: set[str] = set()
    total = 0
    barred: set[str] = set()
    children = {t for below in made_of.values() for t in below}
    for tensor in (t for t in group.tensors if t in allowed):
        if tensor not in children:
            total += max(taken[tensor], spared[tensor])
        if tensor not in barred and taken[tensor] > spared[tensor]:
            chosen.add(tensor)
            barred.update(made_of.get(tensor, ()))
    return total, frozenset(chosen)


def units(graph: Graph, group: Group, sliced: Collection[str]) -> tuple[AdvancingUnit, ...]:
    """What runs together where these tensors are held by the channel, in an order that can run.

    Raises `Waiting` where channels would wait for something that all of them are needed for.
    """
    parts = _together(group, sliced)
    of = {i: part for part in parts for i in part}
    maker = {t: i for i, m in enumerate(group.members) for t in m.op.outputs}
    order: list[tuple[int, ...]] = []
    state: dict[tuple[int, ...], bool] = {}  # False while what it waits for is looked at

    def run(part: tuple[int, ...]) -> None:
        state[part] = False
        for i in part:
            for tensor in group.members[i].op.inputs:
                if tensor in maker and tensor not in sliced:
                    before = of[maker[tensor]]
                    if before not in state:
                        run(before)
                    elif not state[before]:
                        raise Waiting(
                            _between(group, sliced, part) | _between(group, sliced, before)
                        )
        state[part] = True
        order.append(part)

    for part in parts:
        if part not in state:
            run(part)
    channels = {}
    for tensor in sliced:
        at = next(i for i, m in enumerate(group.members) if tensor in (*m.op.inputs, *m.op.outputs))
        channels[of[at]] = channels_of(graph.tensors[tensor])
    return tuple(AdvancingUnit(part, channels.get(part, 0)) for part in order)


class Waiting(Exception):
    """Some of these tensors must be whole."""

    def __init__(self, tensors: frozenset[str]) -> None:
        super().__init__(", ".join(sorted(tensors)))
        self.tensors = tensors


def _between(group: Group, sliced: Collection[str], part: tuple[int, ...]) -> frozenset[str]:
    ops = [group.members[i].op for i in part]
    return frozenset(t for op in ops for t in (*op.inputs, *op.outputs) if t in sliced)


def _together(group: Group, sliced: Collection[str]) -> list[tuple[int, ...]]:
    """Members joined by these tensors, and the others each alone."""
    parts: dict[int, list[int]] = {i: [i] for i in range(len(group.members))}
    if sliced:
        around: dict[str, list[int]] = {t: [] for t in sliced}
        for i, member in enumerate(group.members):
            for tensor in (*member.op.inputs, *member.op.outputs):
                if tensor in around:
                    around[tensor].append(i)
        for numbers in around.values():
            joined = sorted({j for i in numbers for j in parts[i]})
            for j in joined:
                parts[j] = joined
    return [tuple(part) for i, part in parts.items() if part[0] == i]
