"""The Demand Layering comparison: graphs of sections, fronts against sweeps, what is claimed."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest

from planners.catalogue.networks.darknet import NETWORKS as BUILD
from planners.core.errors import BadInput, UnknownName
from planners.core.machine import load_machine
from planners.papers.demand_layering.claims import claims, errors, rms, worst
from planners.papers.demand_layering.extensions import joint_row, least_delay, slices_row
from planners.papers.demand_layering.fronts import (
    fronts_row,
    gain,
    preloaded_s,
    resolution_row,
    xavier_layers,
)
from planners.papers.demand_layering.paper import (
    MEANS,
    NETWORKS,
    PIPELINES,
    TABLE_2,
    YOLOV4,
)
from planners.papers.demand_layering.pipelines import bounds_row, delays, pipelines_row
from planners.papers.demand_layering.report import facts, report
from planners.papers.demand_layering.sections import resized, section_graph
from planners.papers.demand_layering.study import StreamingStudy, StreamingTables, reproduce
from planners.papers.memo import Memo
from planners.papers.report import Claim
from planners.streaming import plan
from planners.streaming.model.layers import Layer, units_of
from planners.streaming.model.times import NAME
from planners.streaming.schedule.exact import (
    DelayPoint,
    curve_three_stages,
    curve_two_stages,
    front_three_stages,
    pareto,
)
from planners.streaming.schedule.pipelines import sweep, with_rings
from tests.streaming.nets import random_layers

MIB = 2**20


def test_what_the_paper_prints_agrees_with_itself() -> None:
    for (way, key), stated in MEANS.items():
        printed = [row[PIPELINES.index(way)][key == "added"] for row in TABLE_2.values()]
        assert sum(printed) / 5 == pytest.approx(stated.value, abs=0.06)
    memory, ms = YOLOV4["pre"]
    for way, (saved_there, added_there) in zip(PIPELINES, TABLE_2["yolov4"], strict=True):
        assert 100 * (1 - YOLOV4[way][0] / memory) == pytest.approx(saved_there, abs=0.06)
        assert 100 * (YOLOV4[way][1] / ms - 1) == pytest.approx(added_there, abs=0.1)


@pytest.mark.parametrize("name", NETWORKS)
def test_sections_are_operators_with_folded_parameters(name: str) -> None:
    graph, network = section_graph(name), BUILD[name]()
    assert len(graph.operators) == len(network.layers)
    sizes = [unit.size_bytes for unit in units_of(graph)]
    assert sizes == [4 * layer.folded for layer in network.layers]
    assert resized(network, network.input[1]) == network


def test_a_section_by_hand() -> None:
    graph = section_graph("yolov4")
    first = graph.operators[0]
    assert first.macs == 608 * 608 * 32 * 3 * 9
    assert graph.tensors["0_convolutional.weight"].shape == (32, 3, 3, 3)
    assert graph.size_bytes("0_convolutional.bias") == 4 * 32
    small = section_graph("yolov4", 224)
    assert small.operators[0].macs == 224 * 224 * 32 * 3 * 9
    assert small.parameter_count == graph.parameter_count


def test_images_that_do_not_fit_and_names_that_do_not_exist() -> None:
    with pytest.raises(UnknownName, match="yolov9"):
        section_graph("yolov9")
    with pytest.raises(BadInput, match="a route joins layers"):
        section_graph("yolov3", 300)
    with pytest.raises(UnknownName, match="choose among yolov3"):
        StreamingStudy().only(("resnet50",))


def test_exact_fronts_are_never_beaten_by_sweeps_of_small_networks() -> None:
    random = Random(9)
    better = 0
    for _ in range(300):
        layers = random_layers(random)
        step = random.randint(1, 5)
        two = gain(curve_two_stages(layers), sweep(layers, 2, step))
        three = gain(front_three_stages(layers), sweep(layers, 3, step))
        assert two.no_worse
        assert three.no_worse
        better += two.bytes > 0 or three.bytes > 0 or three.seconds > 0
    assert better > 100


def test_the_front_of_two_rings_is_that_of_all_sizes() -> None:
    random = Random(10)
    for _ in range(40):
        layers = random_layers(random, most=7, largest=5)
        sizes = [layer.size_bytes for layer in layers]
        if not any(sizes):
            continue
        rings = range(max(sizes), sum(sizes) + 1)
        every = [
            DelayPoint(c + g, with_rings(layers, (c, g)).delay_s, (c, g))
            for c in rings
            for g in rings
        ]
        found = front_three_stages(layers)
        told = [(p.memory_bytes, p.delay_s) for p in found]
        assert told == [(p.memory_bytes, p.delay_s) for p in pareto(every)]
        assert gain(found, curve_three_stages(layers)).no_worse


def test_gains_are_measured_both_ways() -> None:
    ours = [DelayPoint(4, 9.0, (4,)), DelayPoint(8, 5.0, (8,))]
    assert gain(ours, [DelayPoint(5, 9.5, (5,)), DelayPoint(9, 5.0, (9,))]).bytes == 1
    assert gain(ours, [DelayPoint(5, 9.5, (5,))]).seconds == 0.5
    assert not gain(ours, [DelayPoint(6, 6.0, (6,))]).no_worse


def test_the_front_of_a_real_network() -> None:
    row = fronts_row("yolov4")
    for way in ("2s", "async"):
        assert row[way]["no_worse"]
        assert row[way]["less_bytes"] > 0
        assert row[way]["least"][0] <= row[way]["step_least"][0]
        assert row[way]["least"][1] == pytest.approx(row[way]["step_least"][1])
        # The least ring that can be beaten by none: the largest layer's (eqs. 8 and 9).
        assert row[way]["front"][0][0] == (1 if way == "2s" else 2) * 18_878_464
    assert row["separate"]["no_worse"]
    assert row["separate"]["least"][0] < row["async"]["least"][0]
    assert row["twice"]["no_worse"]


def test_no_step_of_one_byte_beats_the_front() -> None:
    # Around every breakpoint: the ring that is one byte smaller has the delay of the one before.
    layers = xavier_layers(section_graph("darknet_densenet201"), 2)
    curve = curve_two_stages(layers)
    for before, point in zip(curve[:40], curve[1:41], strict=True):
        assert with_rings(layers, (point.memory_bytes - 1,)).delay_s == before.delay_s


OFTEN = ("yolov3", "yolov4")


@pytest.mark.parametrize(
    "name", [n if n in OFTEN else pytest.param(n, marks=pytest.mark.long) for n in NETWORKS]
)
def test_delays_beside_the_paper(name: str) -> None:
    row = pipelines_row(name)
    assert all(found["replayed"] for found in row["pipelines"].values())
    assert max(abs(error.points) for error in errors([row], "added")) < 3
    for way in ("seq", "sync", "async", "2s"):  # these follow from the largest layer
        found = row["pipelines"][way]
        assert found["saved"] == pytest.approx(found["paper_saved"], abs=0.1)
    pre = row["pipelines"]["pre"]
    assert pre["energy"].get("storage", 0.0) == 0
    assert pre["delay_s"] == pytest.approx(preloaded_s(section_graph(name)))
    assert row["sync_alone"] < row["pipelines"]["sync"]["added"]


def test_errors_are_in_points() -> None:
    rows = [{"network": "n", "pipelines": {"pre": {}, "2s": {"added": 21.0, "paper_added": 18.0}}}]
    (error,) = errors(rows, "added")
    assert (error.points, rms([error]), worst([error])) == (3.0, 3.0, error)


def test_small_images_are_bound_by_reads() -> None:
    small, large = resolution_row("yolov4", 224), resolution_row("yolov4", 608)
    assert small["read_s"] == large["read_s"]
    assert small["pre_s"] < small["read_s"] < small["2s-md"]["delay_s"]
    for row in (small, large):
        assert row["exact"]["memory_bytes"] <= row["2s-md"]["memory_bytes"]
        assert row["near_bytes"] <= row["exact"]["memory_bytes"]
        assert row["exact"]["delay_s"] == pytest.approx(row["2s-md"]["delay_s"])


def test_draws_are_evaluated_as_the_planner_does() -> None:
    graph, machine = section_graph("darknet_resnet152"), load_machine(NAME)
    for way in ("2s", "async-md"):
        told = plan(graph, machine, 2**34, {"pipeline": way}).details.streamed
        keys = ("read_s", "copy_s", "kernel_s")
        times = np.array([[[getattr(layer, key) for key in keys] for layer in told.layers]])
        assert delays(told.layers, times)[0] == pytest.approx(told.delay_s)
        assert delays(told.layers, 2 * times)[0] == pytest.approx(2 * told.delay_s)


def test_no_draw_is_above_the_bound() -> None:
    row = bounds_row("yolov4", "2s", 600)
    for way in ("each", "together", "long-tailed"):
        it = row[way]
        assert it["above"] == 0
        assert it["median_s"] <= it["p95_s"] <= it["largest_s"] <= it["bound_s"]
    assert row["together"]["bound_s"] / row["together"]["largest_s"] < 1.001
    assert row["each"]["bound_s"] == pytest.approx(1.2 * row["each"]["delay_s"])


def test_slices_reach_the_target_in_yolov4() -> None:
    row = slices_row("yolov4", (1, 2, 3))
    assert row["memory_bytes"] == 18_878_464
    assert row["ways"][0]["added"] > 20
    best = min(way["added"] for way in row["ways"])
    assert row["bound"] < row["planned"]["added"] <= best + 1e-9
    assert row["planned"]["added"] < 5
    assert row["planned"]["ring_bytes"] <= row["memory_bytes"]


def test_no_plan_is_below_the_bound_on_all_slices() -> None:
    random = Random(11)
    for _ in range(100):
        layers = random_layers(random)
        for point in curve_two_stages(layers):
            assert least_delay(layers, point.memory_bytes, 4) <= point.delay_s + 1e-9
    # A quarter of the second layer waits for one of the first to be used (at 10.25); three follow.
    layers = [Layer("k", 0, 0.0, 0.0, 10.0), *(Layer(n, 4, 8.0, 0.0, 1.0) for n in "ab")]
    assert least_delay(layers, 4, 4) == pytest.approx(10.25 + 3 * 2)
    assert least_delay(layers, 8, 4) == pytest.approx(16)


def test_one_memory_takes_less_than_two() -> None:
    row = joint_row("yolov3")
    for level in row["levels"].values():
        assert level["replayed"]
        assert level["joint_bound"] <= level["joint_bytes"] < level["apart_bytes"]
        assert level["joint_bytes"] >= row["activation_bound"]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> StreamingTables:
    file = tmp_path_factory.mktemp("study") / "done.jsonl"
    study = replace(StreamingStudy.small(), networks=("yolov3",), draws=50, fractions=(1, 3))
    made = reproduce(study, Memo(file))
    assert reproduce(study, Memo(file)) == made
    return made


def test_the_report_says_what_the_rows_do(small: StreamingTables) -> None:
    text = str(report(small, StreamingStudy.small()))
    assert "`spillway reproduce demand-layering --quick` computes all of this anew" in text
    assert "Table I: 1 of 1 rows to the last digit." in text
    assert "| yolov3 | 236.5 | 236.5 | 107 | 107 | 18.0 | 18.0 |" in text
    assert "## One memory for weights and activations" in text
    told = facts(small)
    assert len(told["errors"]["added"]) == len(PIPELINES)
    assert told["claims"]


def test_a_report_of_nothing_is_short() -> None:
    text = str(report(StreamingTables(), StreamingStudy()))
    assert "## How to read it" in text
    assert "## Table I" not in text


def test_claims_of_the_whole_paper_need_all_networks(small: StreamingTables) -> None:
    assert not any("on average" in claim.what for claim in claims(small))
    rows = []
    for name in NETWORKS:
        ways: dict[str, Any] = {
            way: {
                "saved": s,
                "added": a,
                "delay_s": 1 + a / 1e5,
                "kernel_s": 1.0,
                "energy": {"x": 1 + a},
            }
            for way, (s, a) in zip(PIPELINES, TABLE_2[name], strict=True)
        }
        ways["pre"] = {"delay_s": 1.0, "energy": {"x": 1.0}}
        rows.append({"network": name, "pipelines": ways})
    found = {
        c.what: c
        for c in claims(StreamingTables(pipelines=[r for r in rows if r["network"] != "yolov4"]))
    }
    assert set(found) == {c for c in found if "(Figure 16)" in c or "(VII-B)" in c}
    for row in rows:
        if row["network"] == "yolov4":
            for way, (size, ms) in YOLOV4.items():
                row["pipelines"][way] |= {"memory_bytes": size * MIB, "delay_s": ms / 1000}
    agreed: list[Claim] = claims(StreamingTables(pipelines=rows))
    assert all(c.agrees for c in agreed if "on average" in c.what or c.what.startswith("YOLOv4,"))
