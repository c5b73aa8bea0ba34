"""What views derive from a checked plan: residencies in columns, holes, peaks, sentences."""

from __future__ import annotations

from itertools import combinations

import pytest

from app.captions.notes import infeasible_story
from app.captions.spill_reasons import next_use
from app.display.displayed_plan import DisplayedPlan, holes, local_maxima
from app.kinds.map_rows import MapRows, map_marks
from app.kinds.registry import step_story
from app.model.state import Look, moved, selected_operators, selected_tensors
from app.views.panels.tables import live_rows, live_title


@pytest.mark.parametrize(
    ("values", "peaks"),
    [
        ((), ()),
        ((5,), (0,)),
        ((1, 3, 2, 3, 1), (1, 3)),
        ((2, 2, 1, 1, 4, 4), (0, 4)),
        ((1, 2, 3), (2,)),
        ((3, 2, 2, 1), (0,)),
    ],
)
def test_peaks_are_plateaus_higher_than_what_is_beside_them(
    values: tuple[int, ...], peaks: tuple[int, ...]
) -> None:
    assert local_maxima(values) == peaks


def test_holes_are_what_is_free() -> None:
    assert holes([], 10) == [(0, 10)]
    assert holes([(2, 4), (0, 1)], 10) == [(1, 2), (4, 10)]
    assert holes([(0, 6), (4, 10)], 10) == []


def test_no_two_rectangles_of_the_map_overlap(shown: DisplayedPlan) -> None:
    rows = MapRows(shown, shown.memories[0]).rows(0, shown.steps)
    assert rows
    for a, b in combinations(rows, 2):
        apart_x = a["right"] <= b["left"] or b["right"] <= a["left"]
        apart_y = a["top"] <= b["bottom"] or b["top"] <= a["bottom"]
        assert apart_x or apart_y, (a["tensor"], b["tensor"])


def test_what_is_live_fills_what_the_step_computes_on(shown: DisplayedPlan) -> None:
    for step, name in enumerate(shown.plan.program.steps):
        operator = shown.graph.operators[shown.graph.index[name]]
        live = {r.tensor for r in shown.live(step)}
        assert {*operator.inputs, *operator.outputs} <= live
        held = sum(r.size_bytes for r in shown.live(step))
        assert held <= shown.report.occupancy[step] <= shown.plan.budget_bytes


def test_each_spill_and_retrieval_is_marked(shown: DisplayedPlan) -> None:
    rows = MapRows(shown, shown.memories[0]).rows(0, shown.steps)
    leaving = [r for r in shown.report.residencies if r.ending in ("spill", "drop")]
    back = [r for r in shown.report.residencies if r.origin == "retrieve"]
    assert len(map_marks(rows)["x"]) == len(leaving) + len(back) > 0


def test_spill_traffic_adds_up_over_tensors(shown: DisplayedPlan) -> None:
    assert sum(shown.moved_bytes.values()) == shown.report.noncompulsory_bytes


def test_the_story_tells_of_every_transfer(shown: DisplayedPlan) -> None:
    told = [s for step in range(shown.steps) for s in step_story(shown, step)]
    spilled = [s for s in told if "was spilled until step" in s.text]
    back = [s for s in told if "came back" in s.text]
    stays = shown.report.residencies
    assert len(spilled) == sum(r.ending == "spill" for r in stays)
    assert len(back) == sum(r.origin == "retrieve" for r in stays)
    assert sum(s.mark == "ran" for s in told) == shown.steps


def test_the_next_use_is_a_step_that_reads_it(shown: DisplayedPlan) -> None:
    spill = next(r for r in shown.report.residencies if r.ending == "spill")
    step = next_use(shown, spill.tensor, spill.stop_step - 1)
    assert step is not None
    name = shown.plan.program.steps[step]
    assert spill.tensor in shown.graph.operators[shown.graph.index[name]].inputs


def test_what_binds_is_named_with_sizes() -> None:
    text = infeasible_story({"operator": "conv", "tensors": [["a", 1024], ["b", 12]]})
    assert text == "conv needs a (1 KiB), b (12 B) at once"


def test_a_tensor_selects_its_operators_and_an_operator_its_tensors(shown: DisplayedPlan) -> None:
    graph = shown.graph
    operator = graph.operators[3]
    assert set(selected_tensors(graph, f"operator:{operator.name}")) == {
        *operator.inputs,
        *operator.outputs,
    }
    assert operator.name in selected_operators(graph, f"tensor:{operator.outputs[0]}")
    assert selected_tensors(graph, "tensor:no such") == ()
    assert selected_operators(graph, "") == ()


def test_the_table_lists_what_is_live(shown: DisplayedPlan) -> None:
    step = shown.opening_step
    tensor = shown.live(step)[0].tensor
    rows = live_rows(shown, step, "hex")
    assert [row["key"] for row in rows].count(f"tensor:{tensor}") == 1
    assert all(row["cells"][1].startswith("0x") for row in rows)
    assert "live" in live_title(shown, step, shown.memories[0])


def test_the_cursor_stays_in_the_program() -> None:
    assert moved(0, -1, 5) == 0
    assert moved(4, 9, 5) == 4
    assert all(Look.param[name].doc for name in Look().param if name != "name")
