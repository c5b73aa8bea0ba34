"""What graphs, plans and traces show of themselves in a notebook. No browser here."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell

import planners as sp
from app.kinds.pool_rows import pool_rows
from app.outputs.notebook import replay_cache, show
from app.outputs.notebook.memory import largest
from app.outputs.notebook.network import needs
from planners.core.display import line, table
from planners.core.graph import Operator, Tensor
from tests.app.networks import beginning
from tests.plans import graph_of, plan_of

ROOT = Path(__file__).parents[3]
HOSTILE = "</title></script><script>alert(1)</script><img src=x onerror=alert(2)>\"' onload='3"
NO_END = {"img", "br", "input", "meta", "link"}


class Page(HTMLParser):
    """Elements of an HTML text: which there are, with which attributes, and whether they close."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.attributes: list[tuple[str, str | None]] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += attrs
        if tag not in NO_END:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"{tag} ends before it begins"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(self.words)


def page_of(thing: object) -> Page:
    """What an object shows, well-formed and with nothing from elsewhere."""
    html = thing._repr_html_()  # type: ignore[attr-defined]
    page = Page(html)
    assert page.open == []
    assert not any(name.startswith("on") or name in ("src", "href") for name, _ in page.attributes)
    assert not re.search(r"https?:|//[a-z]|@import|url\((?!#)", html)
    return page


@pytest.fixture(scope="module")
def graph() -> sp.Graph:
    return graph_of("mobilenet_v2")


@pytest.fixture(scope="module")
def plan() -> sp.Plan:
    return plan_of("vit_b_16", budget="MR")


def test_a_plan_tells_the_numbers_of_its_replay(plan: sp.Plan) -> None:
    page, report, trace = page_of(plan), sp.check(plan), sp.simulate(plan)
    for size in (report.traffic_bytes, report.noncompulsory_bytes, report.compulsory_bytes):
        assert f"{size:,} B" in page.text
        assert sp.format_bytes(size) in page.text
    assert f"{report.peak_bytes:,} B in step {report.peak_step + 1}" in page.text
    assert f"{trace.makespan_s * 1e3:.3g} ms" in page.text
    assert "✓ proven optimal" in page.text
    stays = [value for name, value in page.attributes if name == "data-n"]
    assert len(stays) == sum(len(stay.spans) for stay in report.residencies)
    columns = [value for name, value in page.attributes if name == "class" and value == "sw-step"]
    assert len(columns) == len(plan.program.steps)


def test_a_graph_tells_what_it_has_and_what_it_needs(graph: sp.Graph) -> None:
    page, budgets = page_of(graph), sp.budgets(graph)
    for number in (len(graph.operators), graph.macs, graph.parameter_count):
        assert f"{number:,}" in page.text
    assert sp.format_bytes(budgets.MR) in page.text
    assert max(needs(graph)) == budgets.default_peak
    for operator in graph.operators:
        assert operator.name in page.text


def test_a_trace_tells_engines_stalls_and_energy(plan: sp.Plan) -> None:
    trace = sp.simulate(plan)
    page = page_of(trace)
    for name in ("compute", "DMA in", "DMA out", *trace.energy):
        assert name in page.text
    bars = [value for name, value in page.attributes if name == "data-s"]
    assert len(bars) >= len(trace.intervals)


@pytest.mark.parametrize("serial", [False, True])
def test_other_results_show_themselves_too(plan: sp.Plan, serial: bool) -> None:
    budgets = sp.budgets(plan.graph)
    for thing in (sp.check(plan), plan.claims, budgets, sp.simulate(plan, serial=serial)):
        page_of(thing)
    assert f"{budgets.MR:,}" in page_of(budgets).text


@pytest.mark.parametrize(("planner", "budget"), [("cosma", "MR"), ("streaming", "8MB")])
def test_outputs_stay_small(planner: str, budget: str) -> None:
    graph = graph_of("resnet50")
    plan = plan_of(graph, planner, budget)
    for thing in (graph, plan, sp.simulate(plan)):
        assert len(thing._repr_html_()) < 300_000
        assert len(thing._repr_mimebundle_()["text/plain"]) < 1000


def test_a_plan_of_groups_is_shown() -> None:
    graph = sp.load("squeezenet1_1", input_shape=(1, 3, 64, 64))
    fused = plan_of(graph, "fusion", "64KiB")
    assert "g0" in page_of(fused).text


def test_a_pool_is_shown_as_it_is_claimed() -> None:
    pool = plan_of("mcunet_vww1", "overlap", "64KB", "stm32f411")
    assert "claimed, not replayed here" in page_of(pool).text  # 36,000 instructions
    assert replay_cache.too_long(pool)
    assert not replay_cache.known(pool)


@pytest.mark.parametrize("last", ["add", pytest.param("", marks=pytest.mark.long)])
def test_a_long_plan_is_shown_once_it_was_replayed(
    last: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if last:
        monkeypatch.setattr(replay_cache, "MOST", 100)
    network = beginning("mcunet_vww1", last) if last else graph_of("mcunet_vww1")
    pool = plan_of(network, "overlap", "64KB", "stm32f411")
    assert replay_cache.too_long(pool)
    assert not replay_cache.known(pool)
    assert "sw-memory" in show(pool).data
    shown = replay_cache.replayed(pool)
    page = page_of(pool)
    assert sp.format_bytes(shown.pool.size_bytes) in page.text
    strips = list(pool_rows(shown, shown.memories[0]))
    assert len([1 for name, _ in page.attributes if name == "data-n"]) == len(strips)
    assert len(pool._repr_html_()) < 300_000


def test_of_too_many_rectangles_the_largest_are_drawn() -> None:
    rows = [{"left": 0, "right": 1, "bottom": 0, "top": size} for size in (3, 1, 2)]
    assert largest(rows, 3) == (rows, "")
    kept, told = largest(rows, 2)
    assert [row["top"] for row in kept] == [3, 2]
    assert told == "the 2 largest of 3 pieces"


def test_a_plan_that_does_not_hold_says_so(plan: sp.Plan) -> None:
    wrong = replace(plan, claims=replace(plan.claims, peak_bytes=plan.claims.peak_bytes - 1))
    page = page_of(wrong)
    assert "not a valid plan" in page.text
    assert page.tags["svg"] == 0


def hostile_graph() -> sp.Graph:
    """Two operators whose names would be markup."""
    names = [f"{HOSTILE}{i}" for i in range(3)]
    tensors = {
        names[0]: Tensor(names[0], (4, 4), "input"),
        names[1]: Tensor(names[1], (4, 4)),
        names[2]: Tensor(names[2], (4, 4)),
    }
    operators = tuple(
        Operator(f"op{n}", HOSTILE, (a,), (n,), block=f"{HOSTILE}.b")
        for a, n in zip(names, names[1:])
    )
    return sp.Graph(HOSTILE, tensors, operators, names[:1], names[2:], granularity=HOSTILE)


def test_names_are_never_markup() -> None:
    graph = hostile_graph()
    plan = plan_of(graph, budget="MR")
    marked = replace(plan, planner=HOSTILE, notes=(HOSTILE,))
    trace = replace(sp.simulate(plan), machine=HOSTILE, energy={HOSTILE: 1.0})
    wrong = replace(marked, claims=replace(plan.claims, peak_bytes=1, solver=HOSTILE))
    for thing in (graph, plan, marked, trace, wrong, plan.claims, sp.check(plan)):
        page = page_of(thing)
        assert page.tags["script"] <= 1
        assert page.tags["img"] == 0
        assert Page(table(thing.facts())).tags["script"] == 0


def test_ipython_gets_html_and_a_short_text(plan: sp.Plan) -> None:
    shell = InteractiveShell.instance()
    try:
        shell.display_formatter.active_types = ["text/plain", "text/html"]
        data, _ = shell.display_formatter.format(plan)
        assert data["text/html"].startswith("<div")
        assert data["text/plain"] == line(plan.facts())
        assert repr(plan).startswith("Plan(planner=")
    finally:
        InteractiveShell.clear_instance()


def test_without_bokeh_there_is_a_plain_table() -> None:
    code = (
        "import sys; sys.modules['bokeh'] = None\n"
        "import planners as sp\n"
        "print(sp.load('squeezenet1_1')._repr_html_())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    page = Page(done.stdout)
    assert page.tags["table"] == 1
    assert page.tags["script"] == page.tags["svg"] == 0
    assert "squeezenet1_1" in page.text
