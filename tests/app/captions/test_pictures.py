"""What is read out of each view says what the view shows."""

from __future__ import annotations

import json

from bokeh.models import Range1d

from app.captions.pictures import graph_words, held_words, map_words, time_words
from app.display.displayed_plan import show
from app.views.memory.occupancy import Occupancy
from app.widgets.palette import LIGHT
from planners.core.units import format_bytes
from tests.plans import graph_of, plan_of


def test_each_view_has_a_description_with_its_numbers() -> None:
    graph = graph_of("vit_b_16")
    shown = show(json.dumps(plan_of(graph, budget="MR").to_json()))
    assert f"{len(graph.operators)} operators, drawn as 7 boxes" in graph_words(shown, 7)
    most = max(shown.moved_bytes.values())
    assert f"with {format_bytes(most)}" in map_words(shown)
    assert "9 more" in map_words(shown)
    free = show(json.dumps(plan_of(graph, budget="MP", schedule="mpmf").to_json()))
    assert "Nothing is spilled" in map_words(free)
    told = time_words(shown, shown.trace)
    assert "compute busy 100%" in told
    view = Occupancy(LIGHT, Range1d(0, 1))
    view.show(shown)
    spoken = view.figure.html_attributes
    assert spoken["role"] == "img"
    assert format_bytes(shown.report.peak_bytes) in spoken["aria-label"]


def test_bytes_held_have_their_peak_step_and_mean() -> None:
    told = held_words([1024, 3072, 2048], 4096, "the budget")
    assert told == (
        "Bytes on chip: at most 3 KiB (step 2 of 3), 2 KiB on average, of the 4 KiB of the budget."
    )
    assert held_words([], 0, "") == "Bytes on chip: none."
