"""Copied Python runs in a fresh interpreter and prints the numbers of the explorer's cards."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

import planners as sp
from app.display.displayed_plan import DisplayedPlan, show
from app.jobs.handlers.sweep import make_plan
from app.jobs.job_context import JobContext
from app.model.options import options
from app.model.state import ProblemFields
from app.outputs.scripts import as_python, plan_as_python
from app.outputs.standalone import seen_of
from app.session.session import Session
from tests.app.networks import beginning
from tests.plans import plan_of

ROOT = Path(__file__).resolve().parents[3]
SMALL = {"model": "squeezenet1_1", "input_shape": "1x3x64x64", "time_limit": 20}
CFG = """[net]
width=32
height=32
channels=3
[convolutional]
filters=4
size=3
stride=1
pad=1
activation=relu
[maxpool]
size=2
stride=2
[convolutional]
filters=8
size=1
stride=1
activation=linear
"""


def planned(problem: ProblemFields, text: str = "") -> DisplayedPlan:
    """What the explorer has on screen for a problem: planned as a worker does."""
    session = Session(None)  # type: ignore[arg-type]
    session.problem.param.update(**problem.values_by_name())
    if text:
        session.uploads.texts[problem.model] = text
    request, context = session.request(), JobContext(lambda line: None)
    plan = make_plan(context, context.graph(request), request, request["budget"])
    return seen_of(plan).shown


def expected(shown: DisplayedPlan) -> str:
    report, trace, claims = shown.report, shown.trace, shown.plan.claims
    extent = sp.check(sp.Plan.from_json(json.loads(shown.text))).extent_bytes
    spills = f"{report.noncompulsory_bytes:,} of them spills"
    return (
        f"{claims.status}, gap {claims.gap:.1%}\n"
        f"{report.traffic_bytes:,} bytes of traffic, {spills}\n"
        f"{report.peak_bytes:,} bytes at the peak, below address {extent:,}\n"
        f"{trace.makespan_s:.6g} s, {trace.energy_j:.6g} J\n"
    )


def printed(script: str, folder: Path, *, fresh: bool = False) -> str:
    """What a script prints, in a folder; `fresh`: in an interpreter of its own."""
    if fresh:
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", script],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout
    here, out = Path.cwd(), io.StringIO()
    os.chdir(folder)
    try:
        with redirect_stdout(out):
            exec(script, {})
    finally:
        os.chdir(here)
    return out.getvalue()


PROBLEMS: dict[str, dict[str, Any]] = {
    "default": {},
    "parameters": {"parameters": True, "budget": "2200 KiB", "bytes_per_element": 2},
    "least peak": {"objective": "peak", "schedule": "joint", "budget": "MP"},
    "in parts": {"schedule": "dnc", "break_nodes": ["cat_2"], "budget": "MH"},
    "belady": {"replacement": "belady"},
    "fusion": {"planner": "fusion", "budget": "80 KiB", "bands": 2, "channel_tile": 4},
    "online": {
        "planner": "fusion",
        "model": "mine (uploaded)",
        "input_shape": "",
        "budget": "12 KiB",
        "online": True,
    },
    "online, all of it": {"planner": "fusion", "budget": "80 KiB", "online": True},
    "baseline": {"planner": "fusion", "budget": "256 KiB", "baseline": "no_fusion"},
    "overlap": {
        "planner": "overlap",
        "model": "mcunet_vww1",
        "input_shape": "1x3x32x32",
        "machine": "stm32f411",
        "budget": "64000",
        "objective": "ram",
        "fuse": False,
    },
    "streaming": {"planner": "streaming", "budget": "4 MiB", "slices": 2, "twice": True},
    "a pipeline": {"planner": "streaming", "budget": "8 MiB", "pipeline": "2s", "spread": 0.1},
    "a batch": {"input_shape": "2", "machine": "stm32f746"},
}


LONG = {"online, all of it"}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.long] if name in LONG else []) for name in PROBLEMS],
)
def test_the_script_prints_what_the_explorer_shows(name: str, tmp_path: Path) -> None:
    asked = {**SMALL, **PROBLEMS[name]}
    problem, text = ProblemFields.with_values(**asked), ""
    if problem.model == "mine (uploaded)":
        graph = beginning("squeezenet1_1", "cat_1")
        (tmp_path / "mine.json").write_text(text := json.dumps({**graph.to_json(), "name": "mine"}))
    shown = planned(problem, text)
    fresh = name in ("default", "streaming")
    assert printed(as_python(problem), tmp_path, fresh=fresh) == expected(shown)
    for key, value in options(problem).items():
        assert f"    {key}={value!r},\n" in as_python(problem)


@pytest.mark.parametrize("name", ["default", "fusion", "overlap", "streaming"])
def test_a_plan_says_how_it_is_made_again(name: str, tmp_path: Path) -> None:
    shown = planned(ProblemFields.with_values(**{**SMALL, **PROBLEMS[name]}))
    plan = sp.Plan.from_json(json.loads(shown.text))
    assert printed(plan_as_python(plan), tmp_path) == expected(shown)


def test_a_plan_of_a_graph_and_machine_of_ones_own_is_read_from_its_file(tmp_path: Path) -> None:
    plan = plan_of(sp.load("squeezenet1_1", input_shape=[[1, 3, 64, 64]]), time_limit=10)
    data = plan.to_json()
    data["graph"]["source"] = {}
    data["machine"]["name"] = "mine"
    text = json.dumps(data)
    (tmp_path / "plan.json").write_text(text)
    script = plan_as_python(sp.Plan.from_json(data))
    assert script.startswith("# Expects plan.json, the plan, in the folder where this is run.")
    assert "machine=kept.machine" in script
    assert printed(script, tmp_path) == expected(show(text))


def test_a_graph_that_was_uploaded_is_expected_as_its_file(tmp_path: Path) -> None:
    graph = sp.load("squeezenet1_1", input_shape=[[1, 3, 64, 64]])
    (tmp_path / "mine.json").write_text(text := json.dumps({**graph.to_json(), "name": "mine"}))
    problem = ProblemFields(model="mine (uploaded)", bytes_per_element=2, time_limit=10)
    script = as_python(problem)
    assert script.startswith("# Expects mine.json, the file that was uploaded")
    assert printed(script, tmp_path) == expected(planned(problem, text))
    plan = plan_of(graph, time_limit=10)
    plan.save(tmp_path / "brought.json")  # of a plan that was brought, its graph
    assert printed(as_python(problem, "brought.json"), tmp_path) == printed(script, tmp_path)
    page = as_python(problem, "my page.html")
    assert "sp.Plan.load('my page.html').graph.with_bytes_per_element(2)" in page


def test_a_darknet_file_is_read_by_its_reader(tmp_path: Path) -> None:
    (tmp_path / "small.cfg").write_text(CFG)
    graph = sp.from_darknet(tmp_path / "small.cfg")
    problem = ProblemFields(model="small (uploaded)", time_limit=10)
    script = as_python(problem, "small.cfg")
    assert "sp.load('small.cfg', granularity='fused', bytes_per_element=1)" in script
    found = printed(script, tmp_path, fresh=True)
    assert found == expected(planned(problem, json.dumps(graph.to_json())))


@pytest.mark.parametrize(
    ("file", "reader"),
    [
        ("a.onnx", "sp.load('a.onnx'"),
        ("a.pt2", "sp.load('a.pt2'"),
        ("A.CFG", "sp.load('A.CFG'"),
    ],
)
def test_each_kind_of_upload_has_its_reader(file: str, reader: str) -> None:
    problem = ProblemFields(model="a (uploaded)", input_shape="1x3x8x8", granularity="aten")
    script = as_python(problem, file)
    assert reader in re.sub(r"\(\s+", "(", script)
    assert "granularity='aten'" in script
    assert "input_shape=[[1, 3, 8, 8]]" in script


@pytest.mark.parametrize("name", ["x'\n__import__('os').abort()\n'", "../../etc/passwd", '"""\\'])
def test_no_name_of_an_upload_becomes_code(name: str) -> None:
    script = as_python(ProblemFields(model=f"{name} (uploaded)"), "")
    tree = compile(script, "script", "exec")
    assert "abort" not in tree.co_names
    assert "/" not in re.findall(r"load\((.*?)\)", script)[0]
