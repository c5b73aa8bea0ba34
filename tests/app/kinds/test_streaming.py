"""Streamed parameters on the page: layers, rings and gaps, waits, sentences, the map and cards."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

import planners as sp
from app.captions.notes import infeasible_story
from app.display.displayed_plan import DisplayedPlan, show
from app.display.stream import Stream, roomy_bytes, stream_of
from app.display.waits import stalled
from app.display.wire import from_wire, to_wire
from app.explorer import Explorer
from app.kinds.registry import kind_of, step_story
from app.kinds.stream_bars import StreamBars
from app.kinds.stream_map import LOST, WEIGHTS, stream_rows
from app.model.glossary import plain
from app.model.state import operator_selection, tensor_selection
from app.session.session import Session
from app.views.memory.map_columns import LOOKS
from app.views.panels.cards import cards_html
from app.views.panels.tables import detail_rows, live_rows, live_title
from app.widgets.palette import LIGHT
from planners.core.colours import STREAMED
from planners.core.units import format_bytes
from tests import plans

network = cache(lambda name: sp.load(name, bytes_per_element=4))
MODEL, MACHINE, ROOMY = "yolov4", "jetson_xavier_980pro", "1 GiB"


def plan_of(pipeline: str, budget: Any = ROOMY, **options: Any) -> DisplayedPlan:
    """A plan as it comes out of a worker, made once."""
    return planned(budget, pipeline=pipeline, **options)


@cache
def planned(budget: Any, model: str = MODEL, **options: Any) -> DisplayedPlan:
    plan = plans.plan_of(network(model), "streaming", budget, MACHINE, **options)
    return from_wire(json.loads(json.dumps(to_wire(show(json.dumps(plan.to_json()))))))


@pytest.fixture(scope="module")
def two() -> DisplayedPlan:
    return plan_of("2s", spread=0.1, draws=20)


@pytest.fixture(scope="module")
def three() -> DisplayedPlan:
    return plan_of("async")


def of(shown: DisplayedPlan) -> Stream:
    assert shown.stream is not None
    return shown.stream


@pytest.mark.parametrize("pipeline", ["2s", "async", "sync", "seq", "pre"])
def test_what_kernels_wait_for_is_the_delay_but_for_the_kernels(pipeline: str) -> None:
    """The causes on the timeline account for the delay above all kernels, to the nanosecond."""
    shown = plan_of(pipeline)
    stream = of(shown)
    waited = sum(stalled(shown.stages, stream).values())
    if pipeline == "pre":
        waited -= stream.details.preload_s  # the wait for all that is loaded comes before the delay
    assert waited == pytest.approx(stream.details.delay_s - stream.details.kernel_s, abs=1e-9)


def test_layers_are_steps_and_their_stages_take_their_times(three: DisplayedPlan) -> None:
    stream = of(three)
    assert [layer.operator for layer in stream.layers] == [op.name for op in three.graph.operators]
    found = {(stage.kind, stage.layer): stage for stage in three.stages}
    for layer in stream.layers:
        times = {"read": layer.read_s, "copy": layer.copy_s, "kernel": layer.kernel_s}
        for kind, seconds in times.items():
            stage = found.get((kind, layer.number))  # type: ignore[call-overload]
            assert (stage is not None) == (kind == "kernel" or layer.size_bytes > 0)
            if stage is not None:
                assert stage.stop_s - stage.start_s == pytest.approx(seconds, abs=1e-9)


def test_a_full_ring_names_the_layer_whose_bytes_are_taken(
    two: DisplayedPlan, three: DisplayedPlan
) -> None:
    for shown, rings in ((two, {"read": "shared"}), (three, {"read": "cpu", "copy": "gpu"})):
        stream = of(shown)
        full = [s for s in shown.stages if s.wait and s.wait.cause == "ring full"]
        assert {stage.kind for stage in full} == set(rings)
        for stage in full:
            assert stage.wait is not None
            assert stage.wait.blocker == stream.layers[stage.layer].waits[rings[stage.kind]]
            assert stream.layers[stage.wait.blocker].name in stage.wait.text


def test_gaps_are_what_is_left_of_a_ring_where_a_layer_begins_again(two: DisplayedPlan) -> None:
    stream = of(two)
    ring, gaps = stream.rings[0], stream.gaps["shared"]
    assert gaps
    for gap in gaps:
        before, after = stream.layers[gap.before], stream.layers[gap.number]
        assert after.offsets["shared"] == 0
        assert before.offsets["shared"] + before.size_bytes == gap.start
        assert gap.stop == ring.size_bytes
        assert gap.stop - gap.start < after.size_bytes
    wrapping = plan_of("2s", twice=True)
    assert not any(of(wrapping).gaps.values())


@pytest.mark.parametrize("ring", ["shared", "cpu", "gpu"])
def test_the_map_never_has_two_things_in_one_place(
    two: DisplayedPlan, three: DisplayedPlan, ring: str
) -> None:
    """Layers, lost gaps and activations of a memory: no two share a byte in a step."""
    shown = two if ring == "shared" else three
    memory = next(r.memory for r in of(shown).rings if r.key == ring)
    rows = list(stream_rows(shown, memory))
    assert {"read ahead", "running"} <= {row["stay"] for row in rows} or ring == "cpu"
    for step in (half / 2 for half in range(2 * shown.steps)):
        here = sorted(
            (row["bottom"], row["top"]) for row in rows if row["left"] <= step < row["right"]
        )
        assert all(a[1] <= b[0] for a, b in zip(here, here[1:], strict=False)), step


def test_rows_of_a_layer_turn_when_its_kernel_runs(two: DisplayedPlan) -> None:
    stream = of(two)
    rows = [row for row in stream_rows(two, two.plan.machine.onchip) if row["stay"] == "running"]
    steps = {layer.number for layer in stream.layers if layer.size_bytes}
    assert {row["left"] for row in rows} == steps
    assert all(row["right"] == row["left"] + 1 for row in rows)


def test_a_layer_that_wraps_is_two_rectangles() -> None:
    shown = plan_of("2s", twice=True)
    rows = list(stream_rows(shown, shown.plan.machine.onchip))
    ring = of(shown).rings[0]
    held = {row["tensor"] for row in rows if row["top"] == ring.size_bytes}
    low = {row["tensor"] for row in rows if row["bottom"] == 0}
    assert held & low
    assert LOST not in {row["tensor"] for row in rows}


def test_one_memory_has_no_rings_to_choose_from() -> None:
    shown = plan_of("exact", joint=True)
    stream = of(shown)
    assert stream.details.joint
    assert [region.key for region in stream.regions] == [""]
    assert not any(stream.gaps.values())
    assert stream.memory_bytes == shown.plan.claims.objective_bytes
    assert not any("ring" in s.text for k in range(0, shown.steps, 9) for s in step_story(shown, k))


def test_slices_are_layers_of_one_operator() -> None:
    shown = plan_of("exact", budget="101 MiB", slices=4)
    stream = of(shown)
    sliced = [layer for layer in stream.layers if layer.slice]
    assert sliced
    first = sliced[0]
    parts = stream.of_operator(first.operator)
    assert [p.slice for p in parts] == [f"slice {k + 1} of {len(parts)}" for k in range(len(parts))]
    ran = [s.text for s in step_story(shown, first.number) if s.mark == "ran"]
    assert f"{first.operator} ({first.slice}) ran" in ran[0]


def test_regions_follow_the_program(three: DisplayedPlan) -> None:
    stream = of(three)
    assert [region.key for region in stream.regions] == ["", "cpu", "gpu", "activations"]
    onchip, cpu, gpu, held = stream.regions
    assert (gpu.base, held.base) == (0, gpu.size_bytes)
    assert onchip.size_bytes == gpu.size_bytes + held.size_bytes
    assert cpu.memory != onchip.memory
    assert kind_of(three).region(three, "nothing").key == ""


def test_sentences_tell_the_chain_of_waits(two: DisplayedPlan) -> None:
    stream = of(two)
    waiting = [s for s in two.stages if s.kind == "kernel" and s.wait]
    blamed = {s.layer for s in two.stages if s.kind == "read" and s.wait}
    step = next(s.layer for s in waiting if s.layer in blamed)
    text = " ".join(s.text for s in step_story(two, step))
    assert "the ring was full" in text
    assert "the kernel waited" in text
    gap = stream.gaps["shared"][0]
    text = " ".join(s.text for s in step_story(two, gap.number))
    assert "back at its start" in text
    taken = stream.layers[gap.number].waits["shared"]
    text = " ".join(s.text for s in step_story(two, taken))
    assert "Its bytes went to" in text
    plain = next(layer for layer in stream.layers if not layer.size_bytes)
    assert [s.mark for s in step_story(two, plain.number)] == ["ran"]


def test_the_timeline_has_a_bar_for_each_stage_and_a_cause_for_each_wait(
    three: DisplayedPlan,
) -> None:
    bars, waits = StreamBars(three, three.trace).columns(0, three.trace.makespan_s)
    assert len(bars["left"]) == len(three.stages)
    assert set(bars["lane"]) == {"storage", "copy", "compute"}
    assert kind_of(three).lanes(three, three.trace) == ["storage", "copy", "compute"]
    assert set(bars["kind"]) == {"operator"}
    assert len(waits["left"]) == sum(stage.wait is not None for stage in three.stages)
    assert any("CPU ring was full" in text for text in waits["when"])
    assert any("for its copy" in text for text in waits["when"])
    serial = StreamBars(three, three.serial_trace).columns(0, 1e9)[1]
    assert serial["left"] == []


def test_tables_are_of_layers(two: DisplayedPlan) -> None:
    stream = of(two)
    largest = stream.largest
    rows = live_rows(two, largest.number, "KiB")
    assert f"{largest.name}: running" in [row["text"] for row in rows]
    assert "108.3 MiB live" in plain(live_title(two, 0, two.plan.machine.onchip))
    titles = [plain(live_title(two, k, two.memories[0])) for k in range(two.steps)]
    sizes = [format_bytes(size) for size in two.report.occupancy]  # what the chart below has
    assert all(size in title for size, title in zip(sizes, titles, strict=True))
    assert any("in this step" in title for title in titles)
    rows = detail_rows(two, "")
    assert rows[1]["key"] == operator_selection(rows[1]["text"])
    texts = [row["text"] for row in detail_rows(two, operator_selection(largest.operator))]
    assert {"parameters streamed", "read", "kernel", "in the ring"} <= set(texts)
    weight = largest.parameters[0]
    texts = [row["text"] for row in detail_rows(two, tensor_selection(weight))]
    assert "parameters streamed" in texts


def test_what_is_selected_is_drawn_with_its_weights(two: DisplayedPlan) -> None:
    layer = of(two).largest
    operator = two.graph.operators[layer.number]
    assert kind_of(two).drawn(two, operator_selection(operator.name)) == {
        WEIGHTS + layer.operator,
        *operator.inputs,
        *operator.outputs,
    }
    output = operator.outputs[0]
    assert kind_of(two).drawn(two, tensor_selection(output)) == {output}
    weight = operator.parameters[0]
    assert kind_of(two).drawn(two, tensor_selection(weight)) == {weight, WEIGHTS + layer.operator}


def test_cards_tell_memory_delay_and_bound(two: DisplayedPlan) -> None:
    html = cards_html(two)
    assert "108.3 MiB" in html
    assert "at most 211 ms" in html
    assert "all kernels alone" in html
    assert "waits for read" in html


def test_details_that_do_not_fit_the_program_are_not_drawn(two: DisplayedPlan) -> None:
    good = two.plan.details.streamed
    assert good is not None
    wrong = [
        replace(good, layers=good.layers[:-1]),
        replace(good, layers=()),
        replace(good, layers=tuple(replace(row, operator="none") for row in good.layers)),
    ]
    for streamed in wrong:
        details = replace(two.plan.details, carried=streamed)
        assert stream_of(replace(two.plan, details=details)) is None


def colours(explorer: Explorer) -> set[str]:
    """The colours on the address map."""
    return {LOOKS[look][0] for look in explorer.map.source.data["look"]}


def test_a_link_brings_the_memory_that_the_map_shows(three: DisplayedPlan) -> None:
    session = Session(None)  # type: ignore[arg-type]
    explorer = Explorer(session, LIGHT)
    session.look.memory = "cpu"
    session.work.shown = three
    assert explorer.map.y_range.end == pytest.approx(of(three).regions[1].size_bytes * 1.02)
    assert colours(explorer) <= {STREAMED["to be copied"][0], STREAMED["lost"][0]}
    session.look.memory = ""
    assert STREAMED["activation"][0] in colours(explorer)
    assert explorer.map.bands.line.visible
    assert explorer.stream.box.visible


def test_where_no_plan_fits_the_largest_layer_is_named() -> None:
    graph = sp.load(MODEL, bytes_per_element=4)
    with pytest.raises(sp.BudgetTooSmall) as error:
        sp.plan(graph, "streaming", "64 MiB", machine=MACHINE)
    sizes = [[name, graph.size_bytes(name)] for name in error.value.tensors]
    why = {"operator": error.value.operator, "tensors": sizes, "remedy": error.value.remedy}
    text = infeasible_story({**why, "streams": True})
    assert text.startswith(f"the largest layer, {error.value.operator}, has 18.02 MiB")
    assert "rings take at least" in text


def test_the_first_budget_has_room_for_everything() -> None:
    graph = network("resnet18")
    plan = sp.plan(graph, "streaming", roomy_bytes(graph), machine=MACHINE)
    stream = stream_of(plan)
    assert stream is not None
    assert stream.details.delay_s == min(delay for _, delay in stream.details.front)
