"""Plans that an earlier version saved: they open, check and simulate to the figures they had.

`plans/figures.json` has what that version found of each; a plan of every planner with most of its
options is there, plans moved by hand, one of a planner of one's own, and one in an HTML page.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import planners as sp
from planners.backends.disk.layout import layout_of as disk_layout
from planners.cli.plan import groups_fact, overlap_fact, streaming_fact
from planners.overlap.emit.saved_layout import proven_layout

PLANS = Path(__file__).parent / "plans"
FIGURES: dict[str, dict[str, Any]] = json.loads((PLANS / "figures.json").read_text())


def saved(name: str) -> dict[str, Any]:
    """The JSON of a saved plan."""
    found: dict[str, Any] = json.loads(gzip.decompress((PLANS / name).read_bytes()))
    return found


def plain(data: Any) -> Any:
    """Data as a file would have them."""
    return json.loads(json.dumps(data))


@pytest.mark.parametrize("name", FIGURES)
def test_an_old_plan_opens_and_has_the_same_figures(name: str) -> None:
    data, figures = saved(name), FIGURES[name]
    plan = sp.Plan.from_json(data)
    report = sp.check(plan)
    counts = {
        field: getattr(report, field)
        for field in figures["check"]
        if field not in ("steps", "residencies")
    }
    assert figures["check"] == {
        **counts,
        "steps": len(report.occupancy),
        "residencies": len(report.residencies),
    }
    trace, times = sp.simulate(plan), figures["simulate"]
    told = {"makespan_s": trace.makespan_s, "energy": trace.energy, "busy_s": trace.busy_s}
    told |= {"stall_s": trace.stall_s, "energy_j": trace.energy_j}
    told |= {"serial_makespan_s": sp.simulate(plan, serial=True).makespan_s}
    expected = flat({name: times[name] for name in told})
    assert flat(told) == pytest.approx(expected, rel=1e-12, abs=1e-15)


def flat(figures: Mapping[str, Any]) -> dict[str, float]:
    """Seconds and joules by one name each: unlike bytes, they were added in another order then."""
    found: dict[str, float] = {}
    for name, value in figures.items():
        inside = value.items() if isinstance(value, Mapping) else [("", value)]
        found |= {f"{name} {key}": number for key, number in inside}
    return found


@pytest.mark.parametrize("name", FIGURES)
def test_an_old_plan_goes_through_a_file_unchanged(name: str) -> None:
    data = saved(name)
    written = plain(sp.Plan.from_json(data).to_json())
    assert plain(sp.Plan.from_json(written).to_json()) == written
    if data.get("details", {}).pop("seconds", None):
        assert written.pop("times")["rows"]  # what a table gave, in place of the plan's own clock
    assert written == data


@pytest.mark.parametrize("name", FIGURES)
def test_what_an_old_plan_carries_is_read(name: str) -> None:
    plan, figures = sp.Plan.from_json(saved(name)), FIGURES[name]
    facts = groups_fact(plan) | streaming_fact(plan) | overlap_fact(plan)
    assert plain(facts) == figures["command_facts"]
    assert (plan.details.pool is not None) == ("layout" in figures)
    assert (plan.details.streamed is not None) == ("runtime" in figures)
    if plan.details.pool:
        layout = proven_layout(plan)
        runs = [[run.form, *run.operators] for run in layout.runs]
        assert figures["layout"] == {"pool_bytes": layout.pool_bytes, "runs": runs}
    if "rings" in figures.get("runtime", ()):
        streams = disk_layout(plan)
        found = {"rings": list(streams.rings), "layers": len(streams.layers)}
        assert found == figures["runtime"]
    elif "error" in figures.get("runtime", ()):
        with pytest.raises(sp.BadInput) as caught:
            disk_layout(plan)
        assert str(caught.value) == figures["runtime"]["error"]


def test_what_a_planner_of_ones_own_wrote_is_kept_as_it_is() -> None:
    data = saved("planner_of_ones_own.json.gz")
    details = sp.Plan.from_json(data).details
    assert details.carried is None
    assert details.extra == data["details"]


def test_moves_by_hand_are_kept_in_their_order() -> None:
    moves = sp.Plan.from_json(saved("by_hand_twice.json.gz")).details.moves
    assert len(moves) == 2
    assert moves[0] == sp.Plan.from_json(saved("by_hand_cosma.json.gz")).details.moves[0]


def test_a_plan_in_an_old_page_opens(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_bytes(gzip.decompress((PLANS / "page.html.gz").read_bytes()))
    assert plain(sp.Plan.load(page).to_json()) == saved("overlap_small_macs.json.gz")
