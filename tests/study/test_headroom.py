"""How much larger: the bisection against going through all sizes, and answers against plans."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

import planners as sp
from planners.catalogue.vmcu import TABLE_2, bottleneck
from planners.core.errors import BadInput, BudgetTooSmall
from planners.overlap.baselines.frameworks import tinyengine
from planners.papers.vmcu.paper import CHANNEL_HEADROOM, IMAGE_HEADROOM
from planners.study.headroom import (
    Axis,
    Size,
    image_sizes,
    largest,
    methods,
    module_headroom,
    overlapped,
    resized,
)


def needing(need: Callable[[int], int], limit: int) -> Callable[[int], Size]:
    return lambda size: Size(size, need(size), 0, 0, need(size) <= limit)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=40), st.integers(0, 120))
def test_a_need_that_grows(steps: list[int], limit: int) -> None:
    needs = [sum(steps[: i + 1]) for i in range(len(steps))]
    sizes = range(5, 5 + 2 * len(steps), 2)
    found = largest(needing(lambda size: needs[(size - 5) // 2], limit), sizes, limit)
    fitting = [size for size, need in zip(sizes, needs, strict=True) if need <= limit]
    assert (found.best.size if found.best else None) == (fitting[-1] if fitting else None)
    assert found.monotone
    assert [size.size for size in found.tried] == sorted({size.size for size in found.tried})


def test_a_need_that_falls_here_and_there() -> None:
    needs = {1: 10, 2: 20, 3: 30, 4: 70, 5: 35, 6: 80, 7: 38, 8: 90, 9: 91, 10: 92, 11: 39}
    found = largest(needing(needs.__getitem__, 40), range(1, 12), 40)
    # From 3 over 5 to 7, each among the neighbours of the one before; 11 is too far.
    assert found.best == Size(7, 38, 0, 0, True)
    assert not found.monotone
    assert {size.size for size in found.tried} >= set(range(4, 11))


def test_neighbours_on_both_sides_are_tried() -> None:
    found = largest(needing(lambda size: size, 500), range(1000), 500)
    assert found.best == Size(500, 500, 0, 0, True)
    assert {size.size for size in found.tried} >= set(range(497, 504))
    assert len(found.tried) < 20


@pytest.mark.parametrize(("name", "axis"), [("S8", "image"), ("S8", "channels"), ("S7", "width")])
def test_the_answer_is_the_plans_own(name: str, axis: Axis) -> None:
    module = TABLE_2[name]
    found = module_headroom(module, axis, overlapped())
    assert found.limit_bytes == tinyengine(bottleneck(module)).total_bytes
    assert found.best is not None
    graph = bottleneck(resized(module, axis, found.best.size), module.residual)
    plan = sp.plan(graph, "overlap", found.limit_bytes, machine="stm32f411")
    assert plan.claims.objective_bytes == found.best.ram_bytes <= found.limit_bytes
    assert graph.macs == found.best.macs
    beyond = next(size for size in found.tried if size.size > found.best.size)
    graph = bottleneck(resized(module, axis, beyond.size), module.residual)
    with pytest.raises(BudgetTooSmall) as caught:
        sp.plan(graph, "overlap", found.limit_bytes, machine="stm32f411")
    assert caught.value.need_bytes == beyond.ram_bytes


def test_no_size_beyond_the_answer_fits() -> None:
    module, need = TABLE_2["S5"], overlapped()
    found = module_headroom(module, "image", need)
    fitting = [
        size
        for size in range(1, 16)
        if need(bottleneck(resized(module, "image", size)), found.limit_bytes)[0]
        <= found.limit_bytes
    ]
    assert found.best is not None
    assert fitting == list(range(1, found.best.size + 1))


def test_modules_grow_at_least_as_the_paper_s_do() -> None:
    growth: dict[Axis, list[float]] = {"image": [], "channels": []}
    for name in [f"S{i}" for i in range(1, 9)]:
        module = TABLE_2[name]
        for axis, usual in (("image", module.size), ("channels", module.c_in)):
            found = module_headroom(module, axis, overlapped())  # type: ignore[arg-type]
            assert found.best is not None
            assert found.monotone
            growth[axis].append(found.best.size / usual)  # type: ignore[index]
    for axis, stated in (("image", IMAGE_HEADROOM), ("channels", CHANNEL_HEADROOM)):
        assert min(growth[axis]) > stated.least  # type: ignore[index]
        assert max(growth[axis]) > stated.most  # type: ignore[index]


def test_methods_agree_where_they_must() -> None:
    module = TABLE_2["S8"]
    best = {
        name: found.best.size if found.best else 0
        for name, need in methods().items()
        for found in [module_headroom(module, "image", need)]
    }
    assert best["tinyengine"] == module.size
    assert best["overlap"] >= best["overlap, nothing repeated"] > best["tinyengine"]
    assert best["tinyengine"] >= best["whole_tensors"]
    still = module_headroom(module, "image", methods()["overlap, nothing repeated"]).best
    assert still is not None
    assert still.repeated_macs == 0


def test_channels_are_multiples_of_eight() -> None:
    module = TABLE_2["B5"]
    wider = resized(module, "channels", 24)
    assert (wider.c_in, wider.mid, wider.c_out) == (24, 64, 40)
    assert resized(module, "width", 24).mid == 96
    assert resized(module, "channels", 1).c_out == 8
    assert resized(module, "image", 7).sizes[0] == 7


def test_images_no_larger_than_the_ram() -> None:
    graph = sp.load("mcunet_vww1")
    assert image_sizes(graph, 3 * 100 * 100, 8, 32) == range(32, 109, 8)
    assert list(image_sizes(graph, 10, 8, 32)) == [32]
    with pytest.raises(BadInput, match="does not read one image"):
        image_sizes(sp.load("transformer"), 10**6, 8, 32)
