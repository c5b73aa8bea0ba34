"""Several networks as a simulation of events: engines, releases, rings that fill and empty.

It is told the order of layers and knows nothing of places, waits or policies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from planners.streaming.model.layers import Layer
from planners.streaming.several import PeriodicTask, SharedRings, task
from tests.streaming.algorithm1 import Ring


@dataclass(frozen=True)
class Item:
    """A layer of a job: its times, its ring (None: nothing to read), and the job's release.

    `first` is where a hyperperiod begins: its rings start anew at 0.
    """

    layer: Layer
    ring: int | None
    release: float
    first: bool


class Engine:
    """Does one thing at a time, items in order; `ends` are of all that were begun."""

    def __init__(self) -> None:
        self.ends: dict[int, float] = {}
        self.busy_until = 0.0

    def begin(self, i: int, now: float, seconds: float) -> None:
        assert now >= self.busy_until
        self.busy_until = self.ends[i] = now + seconds

    def ended(self, i: int, now: float) -> bool:
        return i in self.ends and self.ends[i] <= now


def simulate_events(items: Sequence[Item], layout: SharedRings) -> list[float]:
    """When each item's kernel ends."""
    two, sides = layout.stages == 2, 1 if layout.stages == 2 else 2
    rings = [[Ring(size) for size in layout.sizes] for _ in range(sides)]
    read, copy, kernel = Engine(), Engine(), Engine()
    streams = [i for i, item in enumerate(items) if item.ring is not None]
    starts: list[set[int]] = [set() for _ in range(sides)]
    to_read, to_copy, to_run = list(streams), [] if two else list(streams), list(range(len(items)))
    in_cpu, in_gpu = list(to_copy), list(streams)  # still to be freed, in order
    times = {item.release for item in items}
    whole = [i for i, item in enumerate(items) if item.first]

    def take(side: int, i: int) -> bool:
        """Bytes of a ring, from 0 where it is the first time in this hyperperiod."""
        number = items[i].ring
        assert number is not None
        ring, cycle = rings[side][number], sum(1 for first in whole if first <= i)
        key = cycle * len(layout.sizes) + number
        if key not in starts[side]:
            before, ring.tail = ring.tail, 0
            if not ring.take(items[i].layer.size_bytes):
                ring.tail = before
                return False
            starts[side].add(key)
            return True
        return ring.take(items[i].layer.size_bytes)

    now = 0.0
    while True:
        while in_gpu and kernel.ended(in_gpu[0], now):
            rings[-1][items[in_gpu.pop(0)].ring].free()
        while in_cpu and copy.ended(in_cpu[0], now):
            rings[0][items[in_cpu.pop(0)].ring].free()
        began = False
        if to_read and read.busy_until <= now and take(0, to_read[0]):
            read.begin(to_read[0], now, items[to_read.pop(0)].layer.read_s)
            began = True
        if to_copy and copy.busy_until <= now and read.ended(to_copy[0], now):
            if take(1, to_copy[0]):
                copy.begin(to_copy[0], now, items[to_copy.pop(0)].layer.copy_s)
                began = True
        if to_run and kernel.busy_until <= now and items[to_run[0]].release <= now:
            i = to_run[0]
            here = items[i].ring is None or (read if two else copy).ended(i, now)
            if here:
                kernel.begin(to_run.pop(0), now, items[i].layer.kernel_s)
                began = True
        if not began:
            if not to_run:
                return [kernel.ends[i] for i in range(len(items))]
            engines = {engine.busy_until for engine in (read, copy, kernel)}
            now = min(t for t in times | engines if t > now)


def random_tasks(random: Random, most: int = 3, largest: int = 8) -> list[PeriodicTask]:
    """Up to so many tasks with a few layers; all times are quarters, so that floats are exact."""

    def layer(i: int) -> Layer:
        read, copy, kernel = (random.randint(0, 6) / 4 for _ in range(3))
        return Layer(f"l{i}", random.choice([0, *range(1, largest)]), read, copy, kernel)

    found = []
    for i in range(random.randint(1, most)):
        period = random.choice([8, 12, 16, 24])
        deadline = random.randint(period // 2, period)
        layers = [layer(j) for j in range(random.randint(1, 5))]
        found.append(task(f"t{i}", layers, period, deadline, random.randint(0, 2)))
    return found
