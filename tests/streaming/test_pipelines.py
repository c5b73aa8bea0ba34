"""The paper's closed forms: delay and memory of its pipelines."""

from __future__ import annotations

from random import Random

from planners.streaming.model.layers import Layer
from planners.streaming.schedule.pipelines import asynchronous, fixed, sizes_of, timed, zero_copy
from tests.streaming.algorithm1 import simulate_algorithm1
from tests.streaming.nets import random_layers


def test_closed_forms() -> None:
    random = Random(1)
    for _ in range(200):
        layers = random_layers(random)
        r, c, k = (
            [
                getattr(layer, f"{name}_s") * (name == "kernel" or layer.size_bytes > 0)
                for layer in layers
            ]
            for name in ("read", "copy", "kernel")
        )
        total, largest = sum(sizes_of(layers)), max(sizes_of(layers))
        pre, seq, sync = (fixed(kind, layers) for kind in ("pre", "seq", "sync"))
        assert (pre.delay_s, pre.memory_bytes) == (sum(k), 2 * total)  # (1), (2)
        assert (seq.delay_s, seq.memory_bytes) == (
            sum(r) + sum(c) + sum(k),
            2 * largest,
        )  # (5), (4)
        cycles = zip([*r, 0, 0], [0, *c, 0], [0, 0, *k])
        assert (sync.delay_s, sync.memory_bytes) == (sum(map(max, cycles)), 4 * largest)  # (7), (6)


def test_figure_11_async_beats_two_stages_by_its_second_ring() -> None:
    sizes = (2, 1, 4, 1)
    layers = [Layer(f"l{i}", s, 1.0 * s, 0.5 * s, 3.0) for i, s in enumerate(sizes)]
    three, two = asynchronous(layers, 4, 4), zero_copy(layers, 4)
    assert (three.memory_bytes, two.memory_bytes) == (8, 4)  # (8), (9)
    assert three.delay_s == simulate_algorithm1(layers, 4, 4)[-1]
    assert two.ends.reads == (2.0, 3.0, 12.0, 16.0)  # the third waits for both kernels
    assert two.delay_s == 19.0


def test_other_times_leave_everything_at_its_place() -> None:
    random = Random(2)
    for _ in range(100):
        layers, size = random_layers(random), 12
        longer = [
            Layer(a.name, a.size_bytes, 2 * a.read_s, 2 * a.copy_s, 2 * a.kernel_s) for a in layers
        ]
        for made in (
            *(fixed(kind, layers) for kind in ("pre", "seq", "sync")),
            asynchronous(layers, size, 2 * size),
            zero_copy(layers, size),
        ):
            again = timed(made, longer)
            assert again.rings == made.rings
            assert again.delay_s == 2 * made.delay_s
