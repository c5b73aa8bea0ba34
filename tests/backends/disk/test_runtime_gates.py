"""The runtime's gates let layers run when the planner says that they do."""

from __future__ import annotations

from random import Random

import pytest

from planners.backends.disk.gates import Gate, Gates, gates_of, kernel_ends, waits
from planners.streaming.model.layers import Layer
from planners.streaming.schedule.pipelines import Schedule, fixed, with_rings
from tests.streaming.nets import random_layers


def times_of(layer: Layer, two: bool) -> tuple[float | None, float | None, float]:
    streams = layer.size_bytes > 0
    copy = layer.copy_s if streams and not two else None
    return (layer.read_s if streams else None, copy, layer.kernel_s)


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
        times = [times_of(layer, len(schedule.rings) == 1) for layer in layers]
        found = kernel_ends(gates_for(schedule), times)
        assert found[-1] == pytest.approx(schedule.ends.delay_s)


def test_a_layer_waits_for_the_last_one_in_its_bytes() -> None:
    assert waits([4, 4, 4, 4], [0, 4, 0, 4], 8) == [-1, -1, 0, 1]
    assert waits([4, 0, 8], [0, 0, 0], 8) == [-1, -1, 0]
    assert waits([6, 6], [0, 6], 8) == [-1, 0]  # The second goes on at the ring's start.


def test_gates_that_wait_for_each_other_never_open() -> None:
    shut = Gates(Gate(kernels=1), Gate(), Gate(reads=1))
    with pytest.raises(ValueError, match="never opens"):
        kernel_ends([shut], [(1.0, None, 1.0)])
