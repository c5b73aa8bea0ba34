"""A site of plans: what is in its folder, what it refuses, and how it goes on."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

import planners as sp
from app.display.displayed_plan import DisplayedPlan
from app.outputs.site.background_plans import BackgroundPlans, _made
from app.outputs.site.cells import Ids, SiteAsked, cells_of
from app.outputs.site.folder import LIST, SiteFolder
from app.outputs.site.pairs import pairs_data
from app.outputs.site.reasons import reasons
from app.outputs.site.texts import data_script, site_page
from app.outputs.site.tour import tour_data
from app.outputs.site.write import Written, write_site
from app.outputs.standalone import seen_of
from app.session.tour_stops import PLANS, STOPS
from planners.assignments import assignment
from planners.assignments.ten import small_graph
from planners.cli import main
from tests.plans import plan_of

pytestmark = pytest.mark.usefixtures("drawing")
BAD = '</script><img src=x onerror="window.hacked=1">\u2028=1+1'


def network(name: str = BAD) -> sp.Graph:
    """Four small tensors whose names would be HTML, a script, or a formula."""
    kib = {"x": 4, f"{BAD}a": 8, "__proto__": 8, "=y": 4}
    graph = small_graph("n", kib, {f"{BAD}a": "x", "__proto__": "x", "=y": "x"})
    first, second, third = graph.operators
    third = replace(third, inputs=(f"{BAD}a", "__proto__"))
    return replace(graph, name=name, operators=(first, second, third), outputs=("=y",))


def asked(*budgets: int | str, planners: tuple[str, ...] = ("cosma",)) -> SiteAsked:
    machine = sp.load_machine("npu_small")
    return SiteAsked(
        [network()], planners, budgets, machine, time_limit=5, tour=False, tasks=False, title=BAD
    )


def site_data(folder: Path) -> dict[str, Any]:
    text = (folder / "data" / "site.js").read_text(encoding="utf-8")
    return dict(json.loads(text.removeprefix("window.spillwaySite = ").rstrip(";\n")))


class Waiting(Executor):
    """Whose tasks never end."""

    def submit(self, *_: Any, **__: Any) -> Future[Any]:  # type: ignore[override]
        return Future()


class Dying(Executor):
    """Whose processes die."""

    asked = 0

    def submit(self, *_: Any, **__: Any) -> Future[Any]:  # type: ignore[override]
        self.asked += 1
        future: Future[Any] = Future()
        future.set_exception(BrokenExecutor())
        return future


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Written]:
    folder = tmp_path_factory.mktemp("course") / "site"
    return folder, write_site(folder, asked("20KiB", "10KiB"))


def test_a_site_has_plans_and_why_there_is_none(site: tuple[Path, Written]) -> None:
    folder, written = site
    assert written.counts == {"planned": 1, "infeasible": 1, "failed": 0}
    planned, short = site_data(folder)["cells"].values()
    assert sp.check(sp.Plan.load(folder / planned["page"])).peak_bytes == 20 * 1024
    assert (planned["peak"], planned["sign"]) == ("20 KiB", "✓")
    assert (short["need_bytes"], short["have"], short["short"]) == (20480, "10 KiB", "10 KiB")
    assert (short["binds"], len(short["tensors"])) == ("make_=y", 3)
    assert written.size_bytes == sum(
        f.stat().st_size for f in folder.rglob("*.*") if f.name != LIST
    )


def test_no_page_asks_for_anything_from_elsewhere(site: tuple[Path, Written]) -> None:
    folder, _ = site
    pages = sorted(folder.rglob("*.html"))
    assert len(pages) >= 4  # a test beside this one has a plan more made
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert "default-src 'none'" in text
        assert "<img" not in text
        assert 'type="module"' not in text
        for address in re.findall(r'(?:src|href)="([^"]*)"', text):
            assert (page.parent / address).resolve().is_file(), address
        scripts = re.findall(r"<script ([^>]*)>", text)
        assert all("nonce=" in script or "application/" in script for script in scripts)
        assert text.count("</script>") == len(scripts)


def test_data_are_scripts_that_no_name_can_leave(site: tuple[Path, Written]) -> None:
    folder, _ = site
    for file in (folder / "data").glob("*.js"):
        text = file.read_text(encoding="utf-8")
        assert not re.search("[<>&\u2028\u2029]", text)
        assert len(text.splitlines()) == 1
    assert data_script("x", [BAD]).startswith('window.x = ["\\u003c/script')
    assert BAD not in site_page("index", BAD, ())


def test_a_second_run_makes_nothing_twice_and_removes_what_is_not_asked_for(
    site: tuple[Path, Written],
) -> None:
    folder, written = site
    page = next(iter((folder / "plans").iterdir()))
    before = page.stat().st_mtime_ns
    again = write_site(folder, asked("20KiB", "10KiB"))
    assert (again.new, again.counts, page.stat().st_mtime_ns) == (0, written.counts, before)
    write_site(folder, asked("10KiB"))
    assert not (folder / "plans").exists()
    assert len(site_data(folder)["cells"]) == 1
    page.parent.mkdir()
    (page.parent / f".{page.name}.abcdefgh").write_text("cut off by a kill")
    with pytest.raises(sp.BadInput, match="is not touched"):
        write_site(folder, asked("20KiB", "10KiB"))


def test_a_run_that_is_stopped_goes_on(tmp_path: Path) -> None:
    calls = iter([False, True])
    first = write_site(tmp_path, asked("10KiB", "9KiB"), stopped=lambda: next(calls))
    assert (first.stopped, first.new, len(site_data(tmp_path)["cells"])) == (True, 1, 1)
    second = write_site(tmp_path, asked("10KiB", "9KiB"))
    assert (second.stopped, second.new, second.counts["infeasible"]) == (False, 1, 2)


@pytest.fixture(scope="module")
def two() -> Iterator[ProcessPoolExecutor]:
    """Two processes that have planned before."""
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as executor:
        for done in [executor.submit(_made, *cells_of(asked("20KiB"))) for _ in range(4)]:
            done.result()
        yield executor


def test_plans_made_in_other_processes_give_the_same_site(
    site: tuple[Path, Written], two: ProcessPoolExecutor, tmp_path: Path
) -> None:
    folder, written = tmp_path / "site", site[1]
    beside = write_site(folder, asked("20KiB", "10KiB"), executor=two)
    assert beside.counts == written.counts
    cells = site_data(folder)["cells"].values()
    assert [cell["status"] for cell in cells] == ["planned", "infeasible"]
    again = write_site(folder, asked("20KiB", "10KiB"), executor=two)
    assert again.new == 0


@pytest.mark.usefixtures("site")
def test_plans_of_a_process_that_died_are_made_here(tmp_path: Path) -> None:
    executor = Dying()
    written = write_site(tmp_path / "site", asked("20KiB"), executor=executor)
    assert (written.counts["planned"], executor.asked) == (1, 1)


def test_a_stop_is_heard_while_another_process_plans() -> None:
    ahead = BackgroundPlans(Waiting())
    (cell,) = cells_of(asked("20KiB"))
    ahead.ask([cell])
    with pytest.raises(sp.Cancelled):
        ahead.plan(cell, lambda _: False)


@pytest.mark.parametrize("change", ["other", "changed", "link", "folder", "no list"])
def test_what_is_not_of_a_site_is_not_touched(tmp_path: Path, change: str) -> None:
    with SiteFolder(tmp_path) as folder:
        folder.write("a/b.html", "ours")
        with pytest.raises(sp.BadInput, match="another run writes"), SiteFolder(tmp_path):
            pass
    with SiteFolder(tmp_path):
        pass
    match change:
        case "other":
            (tmp_path / "a" / "notes.txt").write_text("mine")
        case "changed":
            (tmp_path / "a" / "b.html").write_text("mine")
        case "link":
            (tmp_path / "c").symlink_to(tmp_path)
        case "folder":
            (tmp_path / "mine").mkdir()
        case "no list":
            (tmp_path / LIST).write_text(
                '{"written_by": "spillway code", "files": {}, "plans": {}}'
            )
    before = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*")}
    why = "is not touched.*name a new or an empty folder"
    with pytest.raises(sp.BadInput, match=why), SiteFolder(tmp_path):
        pass
    assert before == {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*")}


def test_what_a_killed_run_left_is_ours(tmp_path: Path) -> None:
    with SiteFolder(tmp_path) as folder:
        folder.write("b.html", "ours")
    for name in (".b.html.abcd_123", f".{LIST}.abcd_123"):
        (tmp_path / name).write_text("half")
    with SiteFolder(tmp_path) as again:
        again.keep("b.html")
        again.close(set())
    assert sorted(file.name for file in tmp_path.iterdir()) == [LIST, "b.html"]


def test_names_of_files_are_safe_and_given_once() -> None:
    ids = Ids(48)
    assert [ids.unique(text) for text in ("../A", "a", BAD, "ä", "", "x" * 99)] == [
        *("a", "a-2", "script-img-src-x-onerror-window-hacked-1-1-1", "x", "x-2", "x" * 48),
    ]
    found = cells_of(asked("20KiB", "MR", planners=("cosma", "cosma:schedule=dnc")))
    assert len({cell.id for cell in found}) == 4
    assert len({cell.key for cell in found}) == 4
    with pytest.raises(sp.UnknownName):
        cells_of(asked("MR", planners=("cosmo",)))


def test_pairs_are_what_the_explorer_compares() -> None:
    graph = assignment("spill").graph()
    shown = {b: seen_of(plan_of(graph, budget=b)).shown for b in ("72KiB", "1MiB")}
    told = pairs_data([*shown.items()])
    pair = told["pairs"]["72KiB/1MiB"]
    assert {name for name, *_ in pair["totals"]} >= {"spill traffic", "peak", "latency", "energy"}
    spilled = [told["tensors"][row[0]] for row in pair["tensors"] if row[1] == 0]
    assert spilled == [name for name in spilled if shown["72KiB"].moved_bytes.get(name)]
    assert spilled
    assert pair["count"] == len(pair["tensors"])
    assert pairs_data([*shown.items()][:1])["pairs"] == {}


def test_pages_know_what_workers_find_out_beside_a_plan() -> None:
    graph = sp.load("mcunet_vww1", input_shape=[[1, 3, 32, 32]])

    def found(planner: str, budget: str) -> tuple[DisplayedPlan, dict[str, Any]]:
        plan = plan_of(graph, planner, budget)
        shown = seen_of(plan).shown
        return shown, reasons(shown)

    fused, why = found("fusion", "64KiB")
    assert list(why["why"]) == [group.name for group in fused.groups]
    assert all(facts["alone_bytes"] for facts in why["why"].values())
    streamed, fronts = found("streaming", "1MiB")
    assert {"2s exact", "2s all"} <= set(fronts["fronts"])
    assert streamed.stream is not None
    assert min(size for size, _ in fronts["fronts"]["2s exact"]) <= streamed.stream.memory_bytes
    assert found("cosma", "MR")[1] == {}


def test_every_stop_of_the_tour_has_a_text_and_an_address(shown: DisplayedPlan) -> None:
    # One plan stands for all: texts about other kinds of plans say that it is none.
    stops = tour_data([], dict.fromkeys(PLANS, shown))
    assert [stop["title"] for stop in stops] == [stop.title for stop in STOPS]
    assert all(stop["text"] for stop in stops)
    assert stops[0]["page"] == "plans/tour-spills.html"
    assert stops[0]["words"] == {"step": "0", "selection": "none"}
    assert stops[-2]["words"] == {"here": "tour-roomy", "there": "tour-spills"}
    assert {stop["outlined"] for stop in stops} >= {".plot.dag", ".plot.map", "#fronts", "#totals"}
    without = {name: shown for name in PLANS if name != "pool"}
    assert len(tour_data([], without)) == len(STOPS) - 1


def test_the_command_says_what_it_wrote(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "net.json"
    network("net").save(file)
    line = ["site", "--models", str(file), "--planners", "cosma", "--no-tour", "--no-assignments"]
    line += ["--out", str(tmp_path / "out")]

    def run(*more: str) -> int:
        with pytest.raises(SystemExit) as ended:
            main([*line, *more])
        return int(ended.value.code or 0)

    assert run("--budgets", "10KiB", "--json") == 0
    told = json.loads(capfd.readouterr().out)
    assert (told["planned"], told["infeasible"], told["stopped"]) == (0, 1, False)
    assert told["bytes"] > 1_000_000
    (tmp_path / "out" / "mine.txt").write_text("mine")
    assert run("--budgets", "10KiB") == 2
    assert "'mine.txt' in it was not written by spillway site" in capfd.readouterr().err
    assert run("--budgets", "many") == 2
    assert run("--budgets", ",") == 2
