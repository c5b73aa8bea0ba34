"""The runtime's gates let layers run when the planner says that they do."""

from __future__ import annotations

from random import Random

import pytest

from planners.streaming.layers import Layer
from planners.streaming.pipelines import Schedule, fixed, with_rings
from planners.streaming.runtime.gates import Gate, Gates, gates_of, waits
from tests.streaming.nets import random_layers


def simulated(layers: list[Layer], gates: tuple[Gates, ...], two: bool) -> list[float]:
    """Ends of kernels where each engine takes layers in order, as soon as their gates open."""
    n = len(layers)
    ends: dict[str, list[float | None]] = {e: [None] * n for e in ("read", "copy", "kernel")}

    def open_at(gate: Gate) -> float | None:
        found = 0.0
        for engine, need in zip(("read", "copy", "kernel"), gate):
            for end in ends[engine][:need]:
                if end is None:
                    return None
                found = max(found, end)
        return found

    def advance(engine: str, i: int) -> bool:
        layer = layers[i]
        before = ends[engine][i - 1] if i else 0.0
        if ends[engine][i] is not None or before is None:
            return False
        moves = engine != "kernel"
        gate = {"read": gates[i].read, "copy": gates[i].copy, "kernel": gates[i].kernel}[engine]
        if moves and not layer.size_bytes:
            ends[engine][i] = before
            return True
        at = open_at(gate)
        if at is None:
            return False
        seconds = {"read": layer.read_s, "copy": layer.copy_s, "kernel": layer.kernel_s}[engine]
        ends[engine][i] = max(at, before) + seconds
        return True

    engines = ("read", "kernel") if two else ("read", "copy", "kernel")
    while sum([advance(engine, i) for engine in engines for i in range(n)]):
        pass
    assert None not in ends["kernel"], "the gates never open"
    return ends["kernel"]


def gates_for(schedule: Schedule) -> tuple[Gates, ...]:
    sizes = [layer.size_bytes for layer in schedule.layers]
    offsets = [ring.offsets for ring in schedule.rings]
    return gates_of(schedule.kind, sizes, offsets, [ring.size_bytes for ring in schedule.rings])


@pytest.mark.parametrize("kind", ["pre", "seq", "sync", "async", "2s", "twice"])
def test_kernels_end_when_the_planner_says(kind: str) -> None:
    random = Random(3)
    for _ in range(150):
        layers = random_layers(random)
        largest = max(layer.size_bytes for layer in layers)
        if not largest:
            continue
        if kind in ("pre", "seq", "sync"):
            schedule = fixed(kind, layers)
        else:
            rings = [largest + random.randint(0, 20) for _ in range(1 if kind == "2s" else 2)]
            schedule = with_rings(layers, rings, twice=kind == "twice")
        found = simulated(layers, gates_for(schedule), len(schedule.rings) == 1)
        assert found[-1] == pytest.approx(schedule.ends.delay_s)


def test_a_layer_waits_for_the_last_one_in_its_bytes() -> None:
    assert waits([4, 4, 4, 4], [0, 4, 0, 4], 8) == [-1, -1, 0, 1]
    assert waits([4, 0, 8], [0, 0, 0], 8) == [-1, -1, 0]
    assert waits([6, 6], [0, 6], 8) == [-1, 0]  # The second goes on at the ring's start.
