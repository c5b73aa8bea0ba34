"""Plans in a circular pool on the page: bundles, runs, rings, bars, the front and C code."""

from __future__ import annotations

import base64
import io
import json
import zipfile
from collections.abc import Callable
from math import pi
from types import SimpleNamespace

import pytest

import planners as sp
from app.captions.overlap import gap_bytes
from app.display.displayed_plan import DisplayedPlan, show
from app.display.pool import largest_gap
from app.display.wire import from_wire, to_wire
from app.explorer import Explorer
from app.jobs.handlers.code import can_write_code, has_generator, run_code
from app.jobs.protocol import Answer, Request
from app.kinds.bundle_residencies import coalesced
from app.kinds.bundles import bundled, checked_bundled, plan_text
from app.kinds.pool_rows import pool_rows
from app.kinds.registry import step_story
from app.links.url import from_query, problem_of, to_query
from app.model.glossary import plain
from app.model.options import fields_sent, options, series
from app.model.packing import unpacked
from app.model.staircase import staircase
from app.model.state import (
    ProblemFields,
    run_selection,
    selected_operators,
    selected_tensors,
)
from app.session.session import Session
from app.session.sweeping import front_budgets
from app.views.cursor.step_pages import from_bytes
from app.views.fronts.ram_front import extra_macs, front_columns
from app.views.memory.pool_layer import distance_parts, mark_states, name_rows
from app.views.memory.ring import angle, changes, ring_columns
from app.views.memory.run_bars import bar_columns, chip_bytes, held_bytes
from app.views.panels.cards import badge, cards_html
from app.views.panels.tables import detail_rows, live_rows, live_title
from app.widgets.palette import LIGHT
from planners.core.colours import ROLES
from planners.core.program import Compute, Span
from planners.core.units import format_bytes
from tests.plans import plan_of

MACHINE = "stm32f746"
MODEL = "mcunet_vww1"
Until = Callable[[Callable[[], object]], None]


def small() -> sp.Graph:
    """A few layers with every relation between input and output, quick to plan."""
    return sp.load(MODEL, input_shape=(1, 3, 32, 32))


@pytest.fixture(scope="module")
def plan() -> sp.Plan:
    return plan_of(small(), "overlap", 200_000, MACHINE)


@pytest.fixture(scope="module")
def whole(plan: sp.Plan) -> DisplayedPlan:
    """The plan with each pixel a piece."""
    return show(json.dumps(plan.to_json()))


@pytest.fixture(scope="module")
def drawn(plan: sp.Plan) -> DisplayedPlan:
    """The same as it comes out of a worker."""
    return from_wire(json.loads(json.dumps(to_wire(checked_bundled(plan)))))


def test_what_is_live_is_what_is_held_at_once(whole: DisplayedPlan) -> None:
    live = [sum(stay.size_bytes for stay in whole.live(step)) for step in range(whole.steps)]
    assert tuple(live) == whole.report.occupancy


def test_bundles_hold_what_the_program_holds(whole: DisplayedPlan, drawn: DisplayedPlan) -> None:
    """In each step the bundles of tensors are the pixels at the fullest moment, byte for byte."""
    assert drawn.pool is not None
    inner = {b.tensor for run in drawn.pool.runs for b in run.run.buffers}
    assert len(drawn.report.residencies) < len(whole.report.residencies) / 4
    assert len(drawn.instructions) < len(whole.instructions) / 4
    for step in range(drawn.steps):
        here = [stay for stay in drawn.live(step) if stay.tensor not in inner]
        used = [(span.start, span.stop) for stay in here for span in stay.spans]
        assert sum(b - a for a, b in used) == len({x for a, b in used for x in range(a, b)})
        space = sum(s.size_bytes for s in drawn.live(step) if s.tensor in inner)
        held = sum(stay.size_bytes for stay in here)
        assert held <= whole.report.occupancy[step] <= held + space


def test_bundles_keep_the_sums(whole: DisplayedPlan, drawn: DisplayedPlan) -> None:
    assert drawn.report.occupancy == whole.report.occupancy
    peak = drawn.report.peak_step
    assert format_bytes(drawn.report.peak_bytes) in live_title(drawn, peak, drawn.memories[0])
    assert drawn.trace.makespan_s == whole.trace.makespan_s
    for name, seconds in whole.operator_seconds.items():
        assert drawn.operator_seconds[name] == pytest.approx(seconds)
    for engine, busy in whole.trace.busy_s.items():
        found = sum(i.stop_s - i.start_s for i in drawn.trace.intervals if i.engine == engine)
        assert found == pytest.approx(busy)
    macs = [i.macs for i in drawn.instructions if isinstance(i, Compute)]
    assert sum(macs) == whole.report.macs
    assert drawn.ran == whole.ran


def test_the_text_follows_the_plan(plan: sp.Plan, drawn: DisplayedPlan) -> None:
    with pytest.raises(sp.BadInput, match="still being written"):
        _ = DisplayedPlan(drawn.plan, drawn.report, drawn.trace, "").text
    late = DisplayedPlan(drawn.plan, drawn.report, drawn.trace, "", [plan_text(plan)])
    assert json.loads(late.text) == json.loads(json.dumps(plan.to_json()))
    assert bundled(show(late.text)).report == drawn.report


def test_runs_cover_the_steps_and_the_pool(drawn: DisplayedPlan) -> None:
    pool = drawn.pool
    assert pool is not None
    steps = [step for run in pool.runs for step in range(run.start_step, run.stop_step)]
    assert steps == list(range(drawn.steps))
    assert max(pool.extent_bytes(run) for run in pool.runs) == pool.size_bytes
    for run, held in zip(pool.runs, held_bytes(drawn), strict=True):
        assert held + run.workspace_bytes <= pool.extent_bytes(run)
        assert run.role(run.writes[0]) == "output"
        assert {run.role(name) for name in run.dying} <= {"input"}


def test_gaps_of_a_ring() -> None:
    assert largest_gap([], 10) == 10
    assert largest_gap([(0, 10)], 10) == 0
    assert largest_gap([(2, 4), (3, 8)], 10) == 4
    assert largest_gap([(0, 2), (7, 10)], 10) == 5
    spans = [Span("m", 4, 6), Span("m", 0, 2), Span("m", 2, 4), Span("m", 8, 9)]
    assert coalesced(spans) == [Span("m", 0, 6), Span("m", 8, 9)]


def test_the_output_never_meets_what_is_still_needed(drawn: DisplayedPlan) -> None:
    pool = drawn.pool
    assert pool is not None
    gaps = [gap_bytes(drawn, step, pool, pool.run_at(step)) for step in range(drawn.steps)]
    assert any(gap is not None for gap in gaps)
    assert all(gap >= 0 for gap in gaps if gap is not None)
    run = next(run for run in pool.runs if run.distance_bytes)
    parts = distance_parts(pool, run)
    assert sum(high - low for low, high in parts) == run.distance_bytes
    offsets = pool.layout.offsets
    assert parts[-1][1] % pool.size_bytes == offsets[run.over]


def test_a_step_is_told(drawn: DisplayedPlan) -> None:
    pool = drawn.pool
    assert pool is not None
    run = next(r for r in pool.runs if r.run.form == "line" and r.stop_step - r.start_step > 4)
    texts = [sentence.text for sentence in step_story(drawn, run.stop_step - 3)]
    rows = sum(1 for s in range(run.start_step, run.stop_step) if drawn.ran[s])
    assert texts[0].startswith(f"Row {rows - 2} of {rows} of {run.name} is computed")
    assert f"of {run.reads[0]}" in texts[0]
    assert "bytes at" in texts[0]
    assert any("behind the bytes of" in text for text in texts)
    assert any(text.startswith("Workspace: ") for text in texts)
    assert "came in" in step_story(drawn, 0)[0].text
    assert all(step_story(drawn, step) for step in range(drawn.steps))


def test_strips_are_in_their_roles(drawn: DisplayedPlan) -> None:
    pool = drawn.pool
    assert pool is not None
    rows = list(pool_rows(drawn, drawn.memories[0]))
    assert {row["stay"] for row in rows} >= {"input", "output", "workspace"}
    for row in rows:
        run = pool.run_at(row["left"])
        assert row["right"] <= max(run.stop_step, row["left"] + 1)
        assert row["stay"] == run.role(row["tensor"])
        assert row["colour"] == ROLES[row["stay"]][0]
        assert 0 <= row["bottom"] < row["top"] <= pool.size_bytes
    assert {row["tensor"] for row in name_rows(drawn)} >= {row["tensor"] for row in rows}


def test_the_ring_is_the_pool(drawn: DisplayedPlan) -> None:
    pool = drawn.pool
    assert pool is not None
    assert angle(0, 100) == pytest.approx(pi / 2)
    assert angle(25, 100) == pytest.approx(0)
    step = pool.runs[1].start_step + 1
    data = ring_columns(drawn, pool, step)
    turned = sum(start - end for start, end in zip(data["start"], data["end"], strict=True))
    held = sum(stay.size_bytes for stay in drawn.live(step))
    assert turned == pytest.approx(2 * pi * held / pool.size_bytes)
    fresh, freed = changes(drawn, pool, step)
    assert fresh["start"]
    assert freed["start"]


def test_bars_and_the_front(drawn: DisplayedPlan, plan: sp.Plan) -> None:
    pool = drawn.pool
    assert pool is not None
    bars, free = bar_columns(drawn)
    tops = dict.fromkeys(range(len(pool.runs)), 0)
    for columns in (bars, free):
        for run, top in zip(columns["run"], columns["top"], strict=True):
            tops[run] = max(tops[run], top)
    assert max(tops.values()) == pool.size_bytes
    assert chip_bytes(drawn) == sp.presets()[MACHINE].scratchpad_bytes
    data = front_columns(drawn)
    assert data["x"] == front_budgets(drawn, "overlap")
    assert front_budgets(drawn, "cosma") == []
    assert (pool.size_bytes, extra_macs(drawn)) in zip(data["x"], data["y"], strict=True)
    assert all(name in drawn.graph.index for name in data["binding"][0].split(", "))
    assert staircase([(10, 5), (20, 0)]) == {"x": [10, 20, 20], "y": [5, 5, 0]}
    html = cards_html(drawn)
    words = plain(html)
    assert f"{len(pool.runs)} runs" in words
    assert "MACs repeated" in words
    assert f"{pool.size_bytes:,} bytes" in html


def test_a_run_is_selected(drawn: DisplayedPlan) -> None:
    pool = drawn.pool
    assert pool is not None
    run = next(run for run in pool.runs if len(run.run.operators) > 1)
    selection = run_selection(run.run.operators)
    assert selected_operators(drawn.graph, selection) == run.run.operators
    assert set(run.writes) <= set(selected_tensors(drawn.graph, selection))
    texts = [row["text"] for row in detail_rows(drawn, selection)]
    assert texts[0].startswith(f"run {run.number + 1} of {len(pool.runs)}")
    assert f"output: {run.writes[0]}" in texts
    assert detail_rows(drawn, run_selection(["nothing"])) == []
    assert detail_rows(drawn, f"tensor:{run.writes[0]}")[-1]["text"].startswith(("input", "held"))
    rows = live_rows(drawn, run.start_step, "KiB")
    assert {row["text"].split(": ")[1] for row in rows} <= set(ROLES)
    assert "live" in live_title(drawn, run.start_step, drawn.memories[0])


def test_options_keep_their_names_apart() -> None:
    problem = ProblemFields.with_values(planner="overlap", objective="ram", fuse=False)
    assert options(problem) == {"objective": "ram", "fuse": False, "segment": "pixel"}
    assert fields_sent("overlap", options(problem))["options"] == problem.options
    problem.planner = "cosma"
    assert options(problem)["objective"] == "traffic"
    problem.take(planner="overlap", objective="ram")
    assert series({"planner": "overlap", "options": options(problem)}) == "overlap ram no fuse"
    assert series({"planner": "overlap", "options": {"objective": "macs"}}) == "overlap"


def test_a_plan_says_its_problem(plan: sp.Plan, session: Session) -> None:
    found = problem_of(plan)
    assert (found["options"], found["machine"]) == ({}, MACHINE)
    session.problem.param.update(**found)
    query = dict(pair.split("=") for pair in to_query(session.problem, session.look)[1:].split("&"))
    assert query["overlap.objective"] == "macs"
    chosen = {"overlap.objective": "ram", "overlap.fuse": False}
    for given in (
        {"v": "1", "pool_objective": "ram", "fuse": "0"},
        {"v": "2", "overlap.objective": "ram", "overlap.fuse": "0"},
    ):
        assert from_query(given)[0] == {"options": chosen, "machine": "npu_ideal"}


def test_the_explorer_shows_a_pool_and_leaves_it(
    drawn: DisplayedPlan, shown: DisplayedPlan
) -> None:
    session = Session(pool=None)  # type: ignore[arg-type]
    explorer = Explorer(session, LIGHT)
    explorer.__panel__()
    assert not explorer.pool.box.visible
    session.work.shown_for = session.fields()
    session.work.shown = drawn
    assert explorer.pool.box.visible
    assert explorer.map.y_range.end < drawn.plan.budget_bytes
    assert "workspace" in explorer.legend.object
    pool = drawn.pool
    assert pool is not None
    run = next(run for run in pool.runs if run.distance_bytes)
    arrow, _, label = mark_states(drawn, run.start_step)
    assert label["visible"]
    assert label["x"] == run.start_step + 0.5 == arrow["data"]["x"][0]
    assert f"{run.distance_bytes:,} B" in label["text"]
    pages = from_bytes(explorer.cursor.client.pages)
    film, frame = pages["film"], pages["film"]["frames"][session.look.step - pages["first"]]
    states = {id: film["states"][i][frame[i]] for i, id in enumerate(film["models"])}
    lines = [states[line.id]["text"] for line in explorer.pool.ring.lines]
    here = pool.run_at(session.look.step)
    assert lines[1] == f"d = {here.distance_bytes:,} B"
    there = ring_columns(drawn, pool, session.look.step)
    assert states[explorer.pool.ring.source.id]["data"] == there
    ids = set(explorer.cursor.client.models.values())
    assert {explorer.pool.ring.source.id, explorer.pool.bars.chosen.id} <= ids
    session.look.step = 0
    session.work.shown = shown
    assert not explorer.pool.box.visible
    assert not explorer.map.pool.names.data["tensor"]
    assert "came back" in explorer.legend.object


@pytest.mark.long
def test_a_worker_plans_and_writes_code(session: Session, until: Until) -> None:
    session.change(
        model=MODEL, input_shape="1x3x32x32", planner="overlap", machine=MACHINE, budget="200000"
    )
    until(lambda: session.poll() or (not session.work.planning and session.work.shown.pool))
    shown = session.work.shown
    assert json.loads(shown.text)["planner"] == "overlap"
    assert session.work.notice == ""
    if not has_generator():
        pytest.skip("there is no generator of C code here")
    assert can_write_code(shown)
    session.coding.start()
    assert session.work.coding
    until(lambda: session.poll() or not session.work.coding)
    assert session.work.notice == ""
    archive = zipfile.ZipFile(io.BytesIO(base64.b64decode(session.work.code["zip"])))
    assert any(name.endswith(".c") for name in archive.namelist())
    assert session.work.code["name"] == f"{shown.graph.name}-c.zip"


def test_code_with_more_weights_than_a_page_takes_is_refused(
    shown: DisplayedPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.jobs.handlers.code.MOST_WEIGHTS_BYTES", 10)
    context = SimpleNamespace(progress=lambda _: None)
    with pytest.raises(sp.BadInput, match="spillway code plan.json --out DIR.* up to 10 B"):
        run_code(context, Request("code", more={"plan": shown.text}))  # type: ignore[arg-type]


def test_too_small_a_pool_names_what_binds(session: Session, until: Until) -> None:
    session.change(
        model=MODEL, input_shape="1x3x32x32", planner="overlap", machine=MACHINE, budget="1000"
    )
    until(lambda: session.poll() or not session.work.planning)
    why = session.work.infeasible
    assert why["exact"]
    assert why["need_bytes"] > why["have_bytes"] == 1000
    assert why["operator"]


def test_a_text_comes_after_its_plan(session: Session, drawn: DisplayedPlan) -> None:
    planning = session.planning
    planning._asked_for = session.fields()
    planning._take(Answer("result", "plan", {"shown": drawn}))
    assert not session.work.written
    planning._take(Answer("result", "text", {"packed": plan_text(drawn.plan)}))
    assert session.work.written
    assert json.loads(session.work.shown.text) == json.loads(unpacked(session.work.shown.late[0]))


def test_a_bound_of_memory_is_no_word_on_latency() -> None:
    quick = sp.plan(small(), "overlap", 200_000, machine=MACHINE, objective="latency")
    sign, words, _ = badge(show(json.dumps(quick.to_json())))
    assert (sign, words) == ("○", "heuristic for latency")
