"""Rings and activations in one memory: weights are read ahead as far as activations leave room.

The paper counts rings alone. Here the bytes of both are placed together, by lifetimes. What must
lie on chip while a kernel runs is its activations, and the weights of it and of all later layers
that were read already. So a layer's read must wait for a kernel that follows from sizes and the
memory's size alone, as in a ring, and delay is a step function that never rises with memory. No
plan that streams these layers in this order, whatever its addresses, has less delay in as many
bytes; whether addresses exist for it is then found by packing.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from math import inf

from planners.allocation import Lifetime, load_lower_bound
from planners.allocation.min_capacity import pack_tightest
from planners.allocation.portfolio import LONG_WORK, pack
from planners.core.graph import Graph
from planners.core.progress import Clock
from planners.streaming.model.layers import Layer, Unit
from planners.streaming.place.activations import Activations, last_uses
from planners.streaming.schedule.exact import steps
from planners.streaming.schedule.recurrence import NOW, Ends, Start, two_stages
from planners.streaming.schedule.ring import RingPlaces


@dataclass(frozen=True, slots=True)
class LayerLoad:
    """Sizes of layers, and bytes of the activations that are live while each one's kernel runs."""

    sizes: tuple[int, ...]
    activations: tuple[int, ...]

    @property
    def least_bytes(self) -> int:
        """The least memory: each layer read right before its kernel."""
        return max(self.needs, default=0)

    @property
    def needs(self) -> tuple[int, ...]:
        return tuple(map(sum, zip(self.sizes, self.activations, strict=True)))

    def waits(self, memory_bytes: int) -> tuple[int, ...]:
        """For each layer the last kernel that must have ended before it is read, or -1.

        While kernel s runs after layer u was read, its activations and all layers from s to u are
        there. Raises `ValueError` below `least_bytes`.
        """
        before = [0, *accumulate(self.sizes)]
        waits, first = [], 0
        # Kernels that may not run yet when a later layer has been read, each of which needs more
        # than those behind it: what is read in front of them is the same for all.
        need = deque[tuple[int, int]]()
        for u, size in enumerate(self.sizes):
            needed = self.activations[u] - before[u]
            while need and need[-1][0] <= needed:
                need.pop()
            need.append((needed, u))
            while need and need[0][0] + before[u + 1] > memory_bytes:
                _, s = need.popleft()
                if s == u and size:
                    raise ValueError(f"{memory_bytes} bytes are not enough")
                first = s + 1
            waits.append(first - 1 if size else -1)
        return tuple(waits)

    def breakpoints(self) -> list[int]:
        """All memory sizes at which waits change, rising."""
        least, memories = self.least_bytes, {self.least_bytes}
        for s, live in enumerate(self.activations):
            total = live
            for size in self.sizes[s:]:
                total += size
                if size and total > least:
                    memories.add(total)
        return sorted(memories)


@dataclass(frozen=True, slots=True)
class JointPlace:
    """All addresses in one memory of `size_bytes`, and before which kernel each layer is read.

    `bound_bytes` is the least memory that any addresses have at this delay.
    """

    ends: Ends
    reads_before: tuple[int, ...]
    weights: RingPlaces
    activations: Activations
    size_bytes: int
    bound_bytes: int


def load_of(graph: Graph, units: Sequence[Unit]) -> LayerLoad:
    """The load of a network's units, in their order."""
    live = [0] * (len(graph.operators) + 1)
    for name, last in last_uses(graph).items():
        live[graph.producer.get(name, 0)] += graph.size_bytes(name)
        live[last + 1] -= graph.size_bytes(name)
    total, by_operator = 0, []
    for change in live[:-1]:
        total += change
        by_operator.append(total)
    return LayerLoad(
        tuple(unit.size_bytes for unit in units),
        tuple(by_operator[unit.operator] for unit in units),
    )


def joint_front(
    load: LayerLoad, layers: Sequence[Layer], start: Start = NOW, held: Sequence[int] = ()
) -> list[tuple[int, float]]:
    """Least memory and delay, wherever delay falls: bounds, whatever the addresses."""
    return list(_front(load, tuple(layers), start, tuple(held)))


@lru_cache(maxsize=64)  # it does not depend on the budget, and several may be requested
def _front(
    load: LayerLoad, layers: tuple[Layer, ...], start: Start, held: tuple[int, ...]
) -> tuple[tuple[int, float], ...]:
    def delay(memory_bytes: int) -> float:
        return _ends(load, layers, memory_bytes, start, held).delay_s

    front: list[tuple[int, float]] = []
    for memory, seconds in steps(load.breakpoints(), delay):
        if not front or seconds < front[-1][1]:
            front.append((memory, seconds))
    return tuple(front)


def joint_delay(
    graph: Graph,
    units: Sequence[Unit],
    layers: Sequence[Layer],
    memory_bytes: int,
    start: Start = NOW,
    held: Sequence[int] = (),
) -> float:
    """The least delay in a memory, whatever the addresses; infinite where it is too small."""
    load = load_of(graph, units)
    if memory_bytes < load.least_bytes:
        return inf
    return _ends(load, layers, memory_bytes, start, held).delay_s


def place_jointly(
    graph: Graph,
    units: Sequence[Unit],
    layers: Sequence[Layer],
    budget_bytes: int,
    clock: Clock,
    start: Start = NOW,
    held: Sequence[int] = (),
) -> tuple[list[tuple[int, float]], JointPlace | None]:
    """The front of bounds, and the least delay for which addresses are found within the budget.

    None where the load is above the budget, or no packing is found in the time.
    """
    load = load_of(graph, units)
    front = joint_front(load, layers, start, held)
    within = [memory for memory, _ in front if memory <= budget_bytes]
    for memory in reversed(within):
        ends = _ends(load, layers, memory, start, held)
        placed = _packed(graph, units, layers, ends, memory, clock)
        if placed.size_bytes <= budget_bytes:
            return front, placed
        if clock.expired():
            break
    for memory in within[:1]:
        # Time is over, but the budget may be enough: the least load leaves most room.
        ends = _ends(load, layers, memory, start, held)
        if (last := _fitted(graph, units, layers, ends, memory, budget_bytes)) is not None:
            return front, last
    return front, None


def _ends(
    load: LayerLoad, layers: Sequence[Layer], memory: int, start: Start, held: Sequence[int]
) -> Ends:
    waits = load.waits(memory)
    if held:
        waits = tuple(map(max, zip(waits, held, strict=True)))
    return two_stages(layers, waits, start)


def _as_late_as_possible(layers: Sequence[Layer], ends: Ends) -> tuple[int, ...]:
    """Before which kernel each layer is read, where reads end just in time for these kernels."""
    latest, before = inf, [0] * len(layers)
    for u in range(len(layers) - 1, -1, -1):
        if not layers[u].size_bytes:
            continue
        stop = min(latest, ends.kernels[u] - layers[u].kernel_s)
        # A read that was later, by rounding, stays where it was.
        latest = max(stop, ends.reads[u]) - layers[u].read_s
        before[u] = min(u, bisect_right(ends.kernels, latest))
    return tuple(before)


def _packed(
    graph: Graph,
    units: Sequence[Unit],
    layers: Sequence[Layer],
    ends: Ends,
    bound_bytes: int,
    clock: Clock,
) -> JointPlace:
    """Addresses of all weights and activations, as tight as can be; times are kernels."""
    reads = _as_late_as_possible(layers, ends)
    lifetimes = list(_lifetimes(graph, units, reads))
    packed = pack_tightest(lifetimes, clock=clock.work(LONG_WORK))
    bounds = bound_bytes, packed.bound_bytes
    return _place(graph, ends, reads, packed.offsets, packed.extent_bytes, bounds)


def _fitted(
    graph: Graph,
    units: Sequence[Unit],
    layers: Sequence[Layer],
    ends: Ends,
    bound_bytes: int,
    budget_bytes: int,
) -> JointPlace | None:
    """Addresses within a budget, however much of it they take; None where none are found soon."""
    reads = _as_late_as_possible(layers, ends)
    lifetimes = list(_lifetimes(graph, units, reads))
    packing = pack(lifetimes, budget_bytes, explain=False, clock=Clock(inf).work(LONG_WORK))
    if packing.status != "packed":
        return None
    bounds = bound_bytes, load_lower_bound(lifetimes)
    return _place(graph, ends, reads, packing.offsets, packing.extent_bytes, bounds)


def _place(
    graph: Graph,
    ends: Ends,
    reads: Sequence[int],
    at: Mapping[str, int],
    size: int,
    bounds: tuple[int, int],
) -> JointPlace:
    """Addresses by the names of lifetimes as those of weights and activations."""
    offsets = tuple(at.get(f"weights {i}", 0) for i in range(len(reads)))
    mine = {name: at[f"tensor {name}"] for name in last_uses(graph)}
    activations = Activations(mine, size, min(bounds[1], size), last_uses(graph))
    places = RingPlaces(size, offsets, tuple(before - 1 for before in reads))
    return JointPlace(ends, tuple(reads), places, activations, size, min(bounds[0], size))


def _lifetimes(graph: Graph, units: Sequence[Unit], reads: Sequence[int]) -> Iterator[Lifetime]:
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for i, unit in enumerate(units):
        first.setdefault(unit.operator, i)
        last[unit.operator] = i
        if unit.size_bytes:
            yield Lifetime(f"weights {i}", reads[i], i + 1, unit.size_bytes)
    for name, end in last_uses(graph).items():
        begin = first[graph.producer[name]] if name in graph.producer else 0
        yield Lifetime(f"tensor {name}", begin, last[end] + 1, graph.size_bytes(name))
