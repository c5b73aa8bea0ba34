"""Layers in slices: the same parameters, each once, and what the fitted machine makes of them."""

from __future__ import annotations

import pytest

import planners as sp
from planners.core.machine import load_machine, with_numbers
from planners.streaming.model.layers import divided, sliced_units, units_of
from planners.streaming.model.times import times_of
from planners.streaming.schedule.exact import front_two_stages
from planners.streaming.schedule.pipelines import fixed, minimal_delay, sizes_of, sweep, zero_copy

MIB = 2**20


@pytest.mark.parametrize("model", ["resnet18", "mobilenet_v2", "vgg11", "vit_b_16"])
def test_slices_have_each_parameter_once(model: str) -> None:
    graph = sp.load(model, bytes_per_element=4)
    whole = units_of(graph)
    for slices in (2, 5):
        units = divided(graph, slices)
        assert len(units) > len(whole)
        for position, unit in enumerate(whole):
            own = [part for part in units if part.operator == position]
            assert sum(part.size_bytes for part in own) == unit.size_bytes
            assert sum(part.macs for part in own) == unit.macs
            pieces = [piece for part in own for piece in part.pieces]
            assert len(set(pieces)) == len(pieces)


def test_a_layer_that_needs_all_its_parameters_for_each_channel_stays_whole() -> None:
    graph = sp.load("mobilenet_v2", bytes_per_element=4)
    names = [op.name for op in graph.operators]
    depthwise = next(op for op in graph.operators if op.groups > 1)
    assert sliced_units(graph, names.index(depthwise.name), 2) is None
    assert sliced_units(graph, 0, 64) is None  # more than its channels


PAPER = {
    # Table I: the model and its largest layer in MB (2^20 bytes); Table II: delays of Seq, Sync,
    # Async, Async-MD, 2S and 2S-MD over that of Pre, in percent.
    "yolov3": (236.5, 18.0, (44.9, 18.9, 18.1, 1.7, 21.8, 0.5)),
    "yolov4": (245.8, 18.0, (52.1, 23.7, 12.7, 1.7, 21.5, 0.4)),
    "yolov4_p6": (487.2, 36.0, (70.2, 38.4, 8.7, 2.0, 16.7, 0.3)),
    "darknet_resnet152": (219.6, 9.0, (45.8, 11.4, 2.7, 1.2, 5.1, 0.2)),
    "darknet_densenet201": (65.6, 5.9, (65.4, 22.9, 2.0, 1.0, 8.9, 0.4)),
}


@pytest.mark.parametrize("model", PAPER)
def test_the_fitted_machine_gives_the_papers_overheads(model: str) -> None:
    graph = sp.load(model, bytes_per_element=4)
    times, units = times_of(graph, load_machine("jetson_xavier_980pro")), units_of(graph)
    alone, three, two = (
        times.layers(units, 3, False),
        times.layers(units, 3),
        times.layers(units, 2),
    )
    size, largest, published = PAPER[model]
    assert sum(sizes_of(alone)) / MIB == pytest.approx(size, abs=0.06)
    assert max(sizes_of(alone)) / MIB == pytest.approx(largest, abs=0.06)
    ring = max(sizes_of(alone))
    ours = (
        fixed("seq", alone).delay_s,
        fixed("sync", three).delay_s,
        sweep(three, 3)[0].delay_s,
        minimal_delay(sweep(three, 3)).delay_s,
        zero_copy(two, ring).delay_s,
        minimal_delay(sweep(two, 2)).delay_s,
    )
    least = fixed("pre", alone).delay_s
    for mine, theirs in zip(ours, published, strict=True):
        assert 100 * (mine / least - 1) == pytest.approx(theirs, abs=3.5)


def test_slices_take_yolov4_below_five_percent_in_the_memory_of_one_layer() -> None:
    graph = sp.load("yolov4", bytes_per_element=4)
    times = times_of(graph, load_machine("jetson_xavier_980pro"))
    least = fixed("pre", times.layers(units_of(graph), 2, False)).delay_s
    whole = times.layers(units_of(graph), 2)
    ring = max(sizes_of(whole))
    assert zero_copy(whole, ring).delay_s / least > 1.2
    sliced = front_two_stages(times.layers(divided(graph, 3), 2))
    best = [point for point in sliced if point.memory_bytes <= ring][-1]
    assert best.delay_s / least < 1.05


@pytest.mark.parametrize("joint", [False, True])
def test_the_planner_chooses_slices_that_are_no_worse_than_any_of_one_size(joint: bool) -> None:
    graph = sp.load("resnet18", bytes_per_element=4)
    options = {"stages": 2, "joint": joint}
    plans = [
        sp.plan(graph, "streaming", "12MiB", "jetson_xavier_980pro", slices=n, **options)
        for n in (2, 3, 4, 0)
    ]
    found = [plan.details.streamed.delay_s for plan in plans]
    assert min(found) == found[-1]
    sp.check(plans[-1])
    rows: dict[str, int] = {}
    for layer in plans[-1].details.streamed.layers:
        for name, box in zip(layer.parameters, layer.boxes or (), strict=False):
            rows[name] = rows.get(name, 0) + box[0][1] - box[0][0]
    assert rows
    assert all(graph.tensors[name].shape[0] == count for name, count in rows.items())


def test_measured_times_are_those_of_the_machine_that_was_measured() -> None:
    graph, name = sp.load("mcunet_in2"), "jetson_xavier_980pro"
    assert times_of(graph, load_machine(name)).own
    changed = times_of(graph, with_numbers(name, {"storage.read_bytes_per_s": 1e9}))
    assert not changed.own
