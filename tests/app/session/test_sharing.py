"""What leaves a page: files that a worker writes, tables, and a pinned plan that a link brings."""

from __future__ import annotations

import base64
import csv
import gzip
import io
import json
from collections.abc import Callable
from typing import Any

import pytest

import planners as sp
from app.display.displayed_plan import DisplayedPlan
from app.jobs.pool import WorkerPool
from app.model.state import ProblemFields
from app.outputs.export import FILES, lifetimes_csv, written
from app.outputs.export_panel import ExportPanel
from app.outputs.standalone import seen_of
from app.outputs.tables import differences_csv, live_csv, table
from app.session.session import Session
from app.session.sharing import plain_points
from app.widgets.palette import LIGHT
from app.widgets.rows import Browser
from planners.allocation.csv_io import read_lifetimes
from planners.core.files import plan_text_in
from tests.app.networks import beginning
from tests.plans import plan_of

Until = Callable[[Callable[[], object]], None]
PLANS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "cosma": ("squeezenet1_1", "cat_1", {"budget": "MR"}),
    "fusion": ("squeezenet1_1", "cat_1", {"budget": 12 * 1024}),
    "overlap": ("mcunet_vww1", "conv2d_9", {"budget": "64KB", "machine": "stm32f411"}),
    "streaming": ("squeezenet1_1", "cat_1", {"budget": "4MiB"}),
}


@pytest.fixture(scope="module", params=PLANS)
def plan_shown(request: pytest.FixtureRequest) -> DisplayedPlan:
    model, last, asked = PLANS[request.param]
    return seen_of(plan_of(beginning(model, last), request.param, **asked)).shown


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def settle(session: Session, until: Until) -> None:
    def done() -> bool:
        session.poll()
        return not session.busy

    until(done)


def unpacked(session: Session) -> str:
    return gzip.decompress(base64.b64decode(session.work.exported["gzip"])).decode()


# ---- tables of every planner ---------------------------------------------------------------


def test_tables_say_what_the_plan_says(plan_shown: DisplayedPlan) -> None:
    shown = plan_shown
    tensors = rows(written("tensors", shown))
    assert [row["tensor"] for row in tensors] == list(shown.graph.tensors)
    moved = sum(int(row["noncompulsory_bytes"]) for row in tensors)
    assert moved == sum(shown.moved_bytes.values())
    assert sum(int(row["stays"]) for row in tensors) == len(shown.report.residencies)
    spans = rows(written("residencies", shown))
    assert sum(int(r["bytes"]) for r in spans) == sum(
        span.stop - span.start for stay in shown.report.residencies for span in stay.spans
    )
    assert all(int(r["stop"]) - int(r["start"]) == int(r["bytes"]) > 0 for r in spans)
    lanes = rows(written("timeline", shown))
    assert len(lanes) == len(shown.trace.intervals)
    assert max(float(r["stop_s"]) for r in lanes) == pytest.approx(shown.trace.makespan_s)
    steps = rows(written("steps", shown))
    assert [int(r["bytes_held"]) for r in steps] == list(shown.report.occupancy)
    assert all(r["story"].endswith(".") for r in steps)
    live = rows(live_csv(shown, shown.report.peak_step))
    assert sum(int(r["bytes"]) for r in live) == sum(
        stay.size_bytes for stay in shown.live(shown.report.peak_step)
    )


def test_files_for_other_tools_are_read_by_them(plan_shown: DisplayedPlan) -> None:
    shown = plan_shown
    found = read_lifetimes(io.StringIO(lifetimes_csv(shown)))
    own = [s for s in shown.report.residencies if s.memory == shown.memories[0]]
    assert len({item.id for item in found}) == len(own)
    for serial, trace in ((False, shown.trace), (True, shown.serial_trace)):
        events = json.loads(written("trace", shown, serial=serial))["traceEvents"]
        ends = [e["ts"] + e["dur"] for e in events if e["ph"] == "X"]
        assert max(ends) == pytest.approx(trace.makespan_s * 1e6)
        assert {e["ph"] for e in events} == {"M", "X", "C"}
    plan = sp.Plan.from_json(json.loads(written("plan", shown)))
    assert sp.check(plan).traffic_bytes == shown.report.traffic_bytes


def test_differences_are_totals_and_tensors(shown: DisplayedPlan) -> None:
    other = seen_of(plan_of(shown.graph, budget="MP")).shown
    found = rows(differences_csv(shown, other))
    totals = {r["name"]: r for r in found if r["kind"] == "total"}
    assert float(totals["traffic"]["here"]) == shown.report.traffic_bytes
    assert float(totals["traffic"]["pinned"]) == other.report.traffic_bytes
    spilled = [r for r in found if r["kind"] == "spilled only here"]
    assert sum(int(r["difference"]) for r in spilled) == shown.report.noncompulsory_bytes
    small = seen_of(plan_of("squeezenet1_1")).shown
    assert all(r["kind"] == "total" for r in rows(differences_csv(shown, small)))


def test_no_name_is_a_formula_in_a_spreadsheet() -> None:
    text = table(("a", "b"), [("=1+1", 3), ("@x", -4), ("plain", 5.5), ("-2", "a,b")])
    assert text == "a,b\n'=1+1,3\n'@x,-4\nplain,5.5\n'-2,\"a,b\"\n"


# ---- files that a worker writes ------------------------------------------------------------


def test_a_page_is_written_as_it_is_looked_at(
    drawing_workers: None, session: Session, until: Until
) -> None:
    plan = plan_of(beginning("squeezenet1_1", "cat_1"))
    session.show(seen_of(plan).shown)
    session.look.param.update(step=9, selection="operator:conv2d_2", unit="hex")
    stages: list[str] = []
    session.work.param.watch(lambda event: stages.append(event.new), "exporting")
    session.sharing.start("html", "dark")
    session.sharing.start("html", "dark")  # one at a time
    assert session.work.exporting == "waiting for a worker"
    settle(session, until)
    page = unpacked(session)
    assert session.work.exported["name"] == f"squeezenet1_1-{plan.budget_bytes}.html"
    assert 'data-theme="dark"' in page
    assert '"selection":"operator:conv2d_2"' in page
    assert '"step":9' in page
    assert 'class="plot pareto"' in page
    carried = sp.Plan.from_json(json.loads(plan_text_in(page)))
    assert carried.to_json() == sp.Plan.from_json(json.loads(session.work.shown.text)).to_json()
    assert stages[-1] == ""
    assert any("describing every step" in stage for stage in stages)


def test_long_tables_are_written_too(drawing_workers: None, session: Session, until: Until) -> None:
    session.sharing.start("steps")
    settle(session, until)
    assert session.work.exported["name"].endswith("-steps.csv")
    assert len(rows(unpacked(session))) == session.work.shown.steps


def test_an_export_that_is_stopped_saves_nothing(session: Session, until: Until) -> None:
    session.sharing.start("html")
    session.sharing.cancel()
    settle(session, until)
    assert session.work.exported == {}
    assert session.work.exporting == ""


def test_points_come_without_their_plans() -> None:
    points = [{"traffic_bytes": 3, "plan": "x" * 5000, "problem": {"budget": 1}}]
    assert plain_points(points) == [{"traffic_bytes": 3, "problem": {"budget": 1}}]


def test_a_page_has_the_points_of_its_plan_alone(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nothing fits, those of the chosen network come beside another one's plan."""
    asked: list[dict[str, Any]] = []
    monkeypatch.setattr(
        session.pool.pool, "submit", lambda request, **_: asked.append(request.more)
    )
    mine = session.work.points
    other = {**mine[0], "problem": {**mine[0]["problem"], "model": "mobilenet_v2"}}
    session.work.points = [*mine, other]
    session.sharing.start("html")
    assert len(asked[0]["seen"]["points"]) == len(mine)


def test_the_panel_has_what_the_plan_has(session: Session, plan_shown: DisplayedPlan) -> None:
    panel = ExportPanel(session, Browser(), LIGHT)
    assert not panel.differences.visible
    assert not panel.stop.visible
    session.work.exporting = "drawing, 10%"
    assert panel.stop.visible
    assert panel.page.disabled
    session.work.exporting = ""
    session.work.pinned = session.work.shown
    assert panel.differences.visible
    assert "spill traffic" in panel.differences.callback().read()
    assert "ring" not in panel.figure.options.values()
    session.show(plan_shown)
    assert ("ring" in panel.figure.options.values()) == (plan_shown.pool is not None)
    assert ("delay-front" in panel.figure.options.values()) == (plan_shown.stream is not None)


def test_every_file_has_an_ending_and_a_label() -> None:
    assert len({ending for ending, _, _ in FILES.values()}) == len(FILES)
    assert all(label[0].isupper() for _, label, _ in FILES.values())


# ---- a plan to compare with ----------------------------------------------------------------


def test_a_link_brings_the_pinned_plan(session: Session, until: Until) -> None:
    fields = ProblemFields(budget="MP").values_by_name()
    session.repins.start(fields)
    assert session.work.pinning
    assert session.repins.pinned_for["budget"] == "MP"
    settle(session, until)
    assert session.work.pinned.report.noncompulsory_bytes == 0
    assert session.work.pinned_for["budget"] == "MP"
    assert session.work.shown_for["budget"] == "MR"
    assert not session.work.pinning
    session.pins.swap()
    assert session.problem.budget == "MP"


def test_the_plan_on_screen_is_pinned_without_planning(pool: WorkerPool) -> None:
    session = Session(pool)
    session.open({}, {})
    session.repins.start(ProblemFields().values_by_name())
    assert session.work.pinned is session.work.shown
    assert not session.work.pinning
    session.repins.start({})
    session.close()


def test_a_pinned_plan_that_does_not_fit_is_one_line(session: Session, until: Until) -> None:
    session.repins.start(ProblemFields(budget="1 KiB").values_by_name())
    settle(session, until)
    assert session.work.pinned is None
    assert session.work.notice.startswith("The plan to compare with cannot be shown")
    assert session.work.shown is not None


def test_a_link_opens_blocks_of_the_plan_that_comes(pool: WorkerPool, until: Until) -> None:
    session = Session(pool)
    look = {"step": 3, "expanded": ["features", "features.3", "nowhere"], "panel": "solver"}
    session.open({"model": "squeezenet1_1"}, look)
    settle(session, until)
    assert session.work.shown.graph.name == "squeezenet1_1"
    assert session.look.expanded == ["features", "features.3"]
    assert (session.look.step, session.look.panel) == (3, "solver")
    session.close()
