"""Views as HoloViews objects: their data are the plan's, and each is drawn."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import holoviews as hv
import numpy as np
import pytest
from bokeh.plotting import figure

import planners as sp
from planners.core.units import format_bytes
from planners.plots.still import StillRenderer, show_in_notebooks, still_svg
from planners.plots.style import MOST, largest
from tests.plans import plan_of


@pytest.fixture(scope="module")
def plan() -> sp.Plan:
    return sp.plan(sp.load("squeezenet1_1"), budget="1MiB")


@pytest.fixture(scope="module")
def fused() -> sp.Plan:
    graph = sp.load("mobilenet_v2")
    return plan_of(graph, "fusion", "256KiB")


def drawn(view: Any) -> Any:
    return hv.render(view, backend="bokeh")


def test_rectangles_are_the_stays(plan: sp.Plan) -> None:
    view = sp.plots.address_map(plan)
    rows = view.get(0).dframe()
    stays = [
        (stay.start_step, span.start, stay.stop_step, span.stop, stay.tensor)
        for stay in sp.check(plan).residencies
        for span in stay.spans
    ]
    named = rows[["start", "low", "stop", "high", "tensor"]].itertuples(index=False, name=None)
    assert sorted(named) == sorted(stays)
    made = drawn(view)
    assert made.yaxis[0].axis_label == "address (bytes)"
    assert made.y_range.end == pytest.approx(1.05 * plan.budget_bytes)
    assert not view.traverse(lambda text: text, [hv.Text])


def test_a_budget_far_above_is_said_at_the_top() -> None:
    plan = sp.plan(sp.load("squeezenet1_1"), budget="64MiB")
    report = sp.check(plan)
    for view, used in (
        (sp.plots.address_map(plan), report.extent_bytes),
        (sp.plots.occupancy(plan), report.peak_bytes),
    ):
        assert used < drawn(view).y_range.end < 1.5 * used
        (words,) = view.traverse(lambda text: text.data[2], [hv.Text])
        assert format_bytes(plan.budget_bytes - used) in words
        assert "the budget of 64 MiB" in words


def test_a_long_plan_says_what_is_left_out(fused: sp.Plan) -> None:
    view = sp.plots.address_map(fused)
    spans = sum(len(stay.spans) for stay in sp.check(fused).residencies)
    assert spans > MOST == len(view.get(0))
    assert f"the {MOST:,} largest of {spans:,}" in view.label
    assert largest(np.array([3, 1, 2]), 2).tolist() == [0, 2]


def test_memories_by_name(plan: sp.Plan) -> None:
    with pytest.raises(sp.BadInput, match="nothing lies in 'dram': there are scratchpad"):
        sp.plots.address_map(plan, "dram")


def test_bars_are_the_occupancy(plan: sp.Plan) -> None:
    view = sp.plots.occupancy(plan)
    report = sp.check(plan)
    assert tuple(view.get(0).dimension_values("held")) == report.occupancy
    assert max(report.occupancy) == report.peak_bytes
    assert drawn(view).yaxis[0].axis_label == "bytes held (bytes)"


def test_bars_of_time_are_the_trace(plan: sp.Plan) -> None:
    view = sp.plots.timeline(plan)
    trace = sp.simulate(plan)
    assert len(view) == len(trace.intervals)
    assert view.dimension_values("ends").max() == trace.makespan_s
    busy = view.dframe().groupby("engine")["lasts_s"].sum()
    assert busy["compute"] == pytest.approx(trace.busy_s["compute"])
    assert drawn(view).xaxis[0].axis_label == "time (s)"


def test_a_front_has_the_plans_and_stairs(plan: sp.Plan) -> None:
    sizes = ["1KiB", "1MiB", "2MiB"]
    table = sp.sweep(plan.graph, ["cosma", "streaming"], sizes, weights="counted", time_limit=2)
    for against, column in (("latency", "makespan_s"), ("traffic", "offchip_bytes")):
        view = sp.plots.front(table, against)
        points = [dots for dots in view if isinstance(dots, hv.Scatter)]
        found = [value for dots in points for value in dots.dimension_values(against)]
        assert sorted(found) == sorted(table[column].dropna())
        for curve in (layer for layer in view if isinstance(layer, hv.Curve)):
            values = list(curve.dimension_values(against))
            assert values == sorted(values, reverse=True)
        drawn(view)
    with pytest.raises(sp.BadInput, match="no plan in these rows"):
        sp.plots.front(table[table.status == "infeasible"])
    with pytest.raises(sp.BadInput, match="rows of 2 networks"):
        sp.plots.front([*table.to_dict("records"), {**table.to_dict("records")[-1], "model": "x"}])
    with pytest.raises(sp.BadInput, match="choose latency, traffic, energy"):
        sp.plots.front(table, "beauty")  # type: ignore[arg-type]


def test_a_network_has_its_operators_and_tensors(plan: sp.Plan) -> None:
    view = sp.plots.graph(plan.graph)
    found = plan.graph.to_networkx()
    assert len(view.nodes) == found.number_of_nodes()
    assert len(view) == found.number_of_edges()
    x = dict(
        zip(view.nodes.dimension_values("index"), view.nodes.dimension_values("x"), strict=True)
    )
    ends = zip(view.dimension_values("start"), view.dimension_values("end"), strict=True)
    assert all(x[a] < x[b] for a, b in ends)
    drawn(view)


def test_views_are_laid_out_together(plan: sp.Plan) -> None:
    layout = (sp.plots.address_map(plan) + sp.plots.occupancy(plan)).cols(1)
    upper, lower = drawn(layout).select({"type": figure})
    assert upper.x_range is lower.x_range


def test_the_library_has_no_other_attribute_made_on_demand() -> None:
    with pytest.raises(AttributeError, match="no attribute 'plot'"):
        sp.plot  # noqa: B018


def test_a_notebook_has_what_shows_a_view_and_nothing_else_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[dict[str, object]] = []

    class Extension:
        _loaded = False

        def __call__(self, *_names: str, **how: object) -> None:
            asked.append(how)
            self._loaded = True

    monkeypatch.setattr(hv, "extension", Extension())
    shell, found = SimpleNamespace(), hv.Store.renderers["bokeh"]
    monkeypatch.setitem(hv.Store.renderers, "bokeh", found)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    show_in_notebooks()  # A terminal.
    shell.kernel = object()
    for _ in range(2):
        show_in_notebooks()
    assert asked == [{"inline": True, "logo": False}]
    assert isinstance(hv.Store.renderers["bokeh"], StillRenderer)


def pictures(view: Any) -> ElementTree.Element:
    return ElementTree.fromstring(still_svg(drawn(view)))


def count(picture: ElementTree.Element, tag: str) -> int:
    return len(picture.findall(f".//{{http://www.w3.org/2000/svg}}{tag}"))


def words_in(picture: ElementTree.Element) -> list[str]:
    return [(each.text or "") for each in picture.iter() if each.tag.endswith("}text")]


def test_a_still_picture_has_what_the_view_has(plan: sp.Plan) -> None:
    stays = sum(len(stay.spans) for stay in sp.check(plan).residencies)
    assert count(pictures(sp.plots.address_map(plan)), "rect") == stays
    held = pictures(sp.plots.occupancy(plan))
    assert count(held, "rect") == len(plan.program.steps)
    assert {"0 B", "512 KiB", "1 MiB", "step", "bytes held"} <= set(words_in(held))
    nodes = pictures(sp.plots.graph(plan.graph))
    assert count(nodes, "circle") == plan.graph.to_networkx().number_of_nodes()
    both = pictures(sp.plots.occupancy(plan) + sp.plots.timeline(plan))
    assert (both.get("width"), both.get("height")) == ("800", "600")
    assert {"compute", "dma_in"} <= set(words_in(both))


def test_a_still_picture_of_a_front_names_its_planners() -> None:
    network = sp.load("squeezenet1_1")
    rows = sp.sweep(network, ["cosma", "streaming"], ["MR", "2MiB"], weights="counted")
    planned = rows[rows.status != "infeasible"]
    picture, names = pictures(sp.plots.front(rows)), set(planned.planner)
    assert count(picture, "polyline") == len(names) == 2
    assert count(picture, "circle") == len(planned) + len(names)
    assert names | {"squeezenet1_1"} <= set(words_in(picture))


def test_what_is_drawn_in_a_way_that_is_not_known_has_no_picture() -> None:
    assert still_svg(drawn(hv.HexTiles([(0, 0), (1, 1)]))) == ""
    assert still_svg(drawn(hv.Scatter([(1, 2)]))) != ""


def test_an_output_has_the_picture_beside_the_view(plan: sp.Plan) -> None:
    renderer = StillRenderer.instance()
    data, _ = renderer.components(sp.plots.occupancy(plan))
    html = data["text/html"]
    assert html.index("data-root-id") < html.index("data:image/svg+xml;base64,")
    assert "holoviz.org" not in html  # its style sheets come with it
    assert html.count("data:text/css;base64,") >= 4
    data, _ = renderer.components(hv.HexTiles([(0, 0), (1, 1)]))
    assert "data:image/svg" not in data["text/html"]
