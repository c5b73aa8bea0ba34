"""The command line: the same answers as text and as JSON, exact errors, exit codes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import planners as sp
from planners.cli import main
from planners.cli.output import Reporter
from planners.cli.study import with_commas
from planners.core.progress import Progress

PLAN_KEYS = (
    "model planner budget_bytes status objective_bytes bound_bytes gap noncompulsory_bytes "
    "compulsory_bytes offchip_bytes peak_bytes makespan_s energy_j operators timesteps plan_s "
    "solver"
)


class Outcome:
    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def spillway(capfd: pytest.CaptureFixture[str]) -> Any:
    def run(*arguments: object) -> Outcome:
        with pytest.raises(SystemExit) as stop:
            main([str(a) for a in arguments])
        out, err = capfd.readouterr()
        return Outcome(int(stop.value.code or 0), out, err)

    return run


@pytest.mark.parametrize(
    "model",
    [
        ("squeezenet1_1", "--input", "1x3x64x64"),
        pytest.param(("resnet18",), marks=pytest.mark.long),
    ],
    ids=lambda model: model[0],
)
def test_plan_check_simulate_and_run_agree(
    spillway: Any, tmp_path: Path, model: tuple[str, ...]
) -> None:
    out = tmp_path / "plan.json"
    planned = spillway("plan", *model, "--budget", "MR", "--out", out, "--json").json
    assert set(PLAN_KEYS.split()) <= set(planned)
    assert planned["status"] == "optimal"
    assert planned["offchip_bytes"] == planned["compulsory_bytes"] + planned["noncompulsory_bytes"]
    checked = spillway("check", out, "--json").json
    assert checked["traffic_bytes"] == planned["offchip_bytes"]
    assert checked["peak_bytes"] == planned["peak_bytes"]
    timed = spillway("simulate", out, "--json").json
    assert timed["makespan_s"] == pytest.approx(planned["makespan_s"])
    assert spillway("simulate", out, "--serial", "--json").json["makespan_s"] >= timed["makespan_s"]
    ran = spillway("run", out, "--json").json
    assert ran["bit_exact"] is True
    assert ran["arena_bytes"] == 4 * planned["budget_bytes"]
    assert 0 < ran["plan_float64_error"] == ran["eager_float64_error"] < 1e-5
    assert ran["float64_note"] == ""


def test_a_streaming_plan_runs_from_disk(spillway: Any, tmp_path: Path) -> None:
    out = tmp_path / "plan.json"
    options = "--planner streaming --budget 32MiB --pipeline 2s --input 1x3x64x64".split()
    spillway("plan", "squeezenet1_1", *options, "--out", out)
    ran = spillway("run", out, "--json").json
    assert ran["bit_exact"] is True
    assert ran["held_bytes"] <= ran["ring_planned_bytes"] <= ran["ring_allocated_bytes"]
    assert ran["layers"][0]["kernel"][0] >= ran["layers"][0]["read"][1]
    missing = spillway("run", out, "--weights", tmp_path / "none")
    assert missing.code == 2
    assert "cannot read" in missing.err


def test_budgets_names_and_values(spillway: Any) -> None:
    found = spillway("budgets", "densenet121", "--json").json
    assert {"MR", "MH", "MP", "MP_proven", "default_peak", "operators"} <= set(found)
    assert found["MR"] < found["MH"] < found["MP"]
    assert found["MP_proven"] is True


@pytest.mark.parametrize("command", [["models"], ["budgets", "resnet18"], ["plan", "resnet18"]])
def test_text_is_for_people(spillway: Any, command: list[str]) -> None:
    found = spillway(*command)
    assert found.code == 0
    assert "resnet18" in found.out


def test_infeasible_is_an_answer(spillway: Any) -> None:
    found = spillway("plan", "resnet18", "--budget", "10KB", "--json")
    need = sp.budgets(sp.load("resnet18")).MR
    assert found.code == 3
    assert found.json["status"] == "infeasible"
    assert found.json["need_bytes"] == need
    assert found.json["short_by_bytes"] == need - 10_000
    assert found.json["binds"] in found.err


def test_options_of_overlap_reach_the_planner(spillway: Any, tmp_path: Path) -> None:
    def planned(*options: str) -> sp.Plan:
        out = tmp_path / "plan.json"
        command = ["plan", "vmcu:B5", "--planner", "overlap", "--budget", "1MB", "--out", out]
        assert spillway(*command, *options).code == 0
        return sp.Plan.load(out)

    joined, alone, padded = planned(), planned("--no-fuse"), planned("--segment", "min")
    assert joined.claims.objective_bytes < alone.claims.objective_bytes
    assert not alone.options["fuse"]
    assert joined.claims.objective_bytes < padded.claims.objective_bytes
    assert padded.details.pool.modulos > joined.details.pool.modulos


def test_graph_is_saved_and_read_back(spillway: Any, tmp_path: Path) -> None:
    out = tmp_path / "graph.json"
    assert spillway("graph", "squeezenet1_1", "--out", out, "--json").json["operators"] == 38
    assert sp.Graph.load(out) == sp.load("squeezenet1_1")
    assert spillway("plan", out, "--json").json["model"] == "squeezenet1_1"


def test_a_graph_is_printed_where_no_file_is_asked_for(spillway: Any) -> None:
    said = spillway("graph", "squeezenet1_1").out
    lines = [line.split() for line in said.split("\n\n")[1].splitlines()]
    assert lines[0] == ["operator", "kind", "gives", "MACs"]
    assert len(lines) == 1 + 38
    assert (
        sum(int(line[-1].replace(",", "")) for line in lines[1:]) == sp.load("squeezenet1_1").macs
    )
    assert "out" not in spillway("graph", "squeezenet1_1", "--json").json


def test_sweep_writes_one_row_a_plan(spillway: Any, tmp_path: Path) -> None:
    out = tmp_path / "table.csv"
    budgets = "MR,MP,10KB"
    found = spillway(
        "sweep", "resnet18,squeezenet1_1", "--budgets", budgets, "--out", out, "--json"
    )
    rows = found.json["rows"]
    assert [row["status"] for row in rows] == ["optimal", "optimal", "infeasible"] * 2
    assert len(out.read_text().splitlines()) == 7


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_sweep_that_is_asked_to_stop_ends_after_a_row(
    spillway: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: int
) -> None:
    """What is done stays done."""
    kept = tmp_path / "rows.jsonl"
    monkeypatch.setattr(Reporter, "say", lambda self, text: signal.raise_signal(signal.SIGINT))
    asked = ("sweep", "squeezenet1_1", "--budgets", "MR,MP", "--jobs", jobs, "--resume", kept)
    found = spillway(*asked)
    assert found.code == 130
    assert found.err.endswith("interrupted\n")
    assert len(kept.read_text().splitlines()) == 1


def test_models_with_spaces_or_commas(tmp_path: Path) -> None:
    file = tmp_path / "a,b.onnx"
    file.touch()
    assert with_commas(["a", "b, c,", str(file)]) == ["a", "b", "c", str(file)]
    many = [f"model_{number}" for number in range(200)]
    assert with_commas([",".join(many)]) == many


def test_pack(spillway: Any, tmp_path: Path) -> None:
    file = tmp_path / "lifetimes.csv"
    file.write_text("id,lower,upper,size\na,0,2,3\nb,1,3,4\nc,2,4,3\n")
    found = spillway("pack", file, "--capacity", "7", "--json")
    assert found.json["status"] == "packed"
    assert sorted(found.json["offsets"]) == ["a", "b", "c"]
    short = spillway("pack", file, "--capacity", "6", "--json")
    assert short.code == 3
    assert set(short.json["conflict"]) == {"a", "b"}
    least = spillway("pack", file, "--json").json
    assert (least["extent_bytes"], least["bound_bytes"], least["proven"]) == (7, 7, True)
    assert "extent,7,no packing has less (gap 0.00%)" in spillway("pack", file).out
    file.write_text("id,lower,upper,size,offset\na,0,2,3,90\nb,1,3,4,50\n")
    assert spillway("pack", file, "--json").json["extent_bytes"] == 7  # offsets anew


def test_pack_into_the_memories_of_a_machine(spillway: Any, tmp_path: Path) -> None:
    file = tmp_path / "lifetimes.csv"
    file.write_text("id,lower,upper,size,touched\na,0,4,90000,\nb,0,2,70000,\nc,2,4,70000,90000\n")
    found = spillway("pack", file, "--machine", "stm32h743_psram", "--json").json
    assert (found["status"], found["proven"]) == ("placed", True)
    memories = {id: place["memory"] for id, place in found["places"].items()}
    assert memories == {"a": "sram", "b": "dtcm", "c": "dtcm"}
    assert found["touched_bytes"] == {"dtcm": 160_000, "sram": 90_000, "psram": 0}
    said = spillway("pack", file, "--machine", "stm32h743_psram").out
    assert "bytes through slow memories,90000,no plan has less" in said
    file.write_text("id,lower,upper,size\nhuge,0,4,9000000\n")
    refused = spillway("pack", file, "--machine", "stm32h743_psram")
    assert refused.code == 2
    assert "'huge' has 9,000,000 bytes, more than each memory: 'psram' has 8,388,608" in refused.err
    both = spillway("pack", file, "--machine", "stm32h743_psram", "--capacity", "9")
    assert "give either --capacity, for one memory, or --machine" in both.err


def test_a_plan_in_several_memories(spillway: Any, tmp_path: Path) -> None:
    out = tmp_path / "plan.json"
    said = spillway("plan", "squeezenet1_1", "--machine", "stm32h743_psram", "--out", out).out
    assert "read and written in sram and psram  6993744 (6.67 MiB)" in said
    assert "status" in said
    trace = spillway("simulate", out, "--json").json
    assert trace["touched_bytes"]["sram"] + trace["touched_bytes"]["psram"] == 6_993_744
    refused = spillway("plan", "vgg16", "--machine", "stm32h743_psram", "--parameters", "--json")
    assert refused.code == 3
    assert "'classifier.0.weight' has 102760448 bytes" in refused.err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["plan", "resnet5"], "did you mean 'resnet"),
        (["plan", "resnet18", "--budget", "lots"], "'lots' is not a size"),
        (["plan", "resnet18", "--budget", "-3"], "'-3' is not a size"),
        (["plan", "resnet18", "--machine", "npu"], "unknown machine 'npu'"),
        (["plan", "resnet18", "--planner", "cosmo"], "did you mean 'cosma'"),
        (["plan", "resnet18", "--schedule", "best"], "choose one of default, mpmf, joint"),
        (["plan", "resnet18", "--no-fuse"], "cosma has no option 'fuse'"),
        (["plan", "resnet18", "--segment", "min"], "cosma has no option 'segment'"),
        (["plan", "resnet18", "--objective", "ram"], "choose one of traffic, peak"),
        (
            ["plan", "vmcu:S1", "--planner", "overlap", "--objective", "traffic"],
            "objective='traffic': choose one of macs, ram, latency",
        ),
        (
            ["plan", "vmcu:S1", "--planner", "overlap", "--segment", "max"],
            "segment='max': choose one of pixel, min, gcd",
        ),
        (["headroom", "vmcu:P1"], "vmcu:P1 is one layer"),
        (["reproduce", "vmcu", "--budgets", "MP"], "--budgets is for 'reproduce cosma', not vmcu"),
        (["plan", "resnet18", "--input", "1x3xa"], "is not an input shape; write e.g. 1x3x224x224"),
        (["plan", "resnet18", "--bugdet", "MR"], "No such option"),
        (["plan", "resnet18", "--out", "/no/such/place.json"], "cannot write /no/such/place.json"),
        (["plan"], "Missing argument"),
        (["check", "/no/such/plan.json"], "cannot read /no/such/plan.json"),
        (["pack", "/no/such.csv", "--capacity", "5"], "/no/such.csv"),
        (["reprodce"], "No such command"),
    ],
)
def test_wrong_input_is_one_clear_line(spillway: Any, arguments: list[str], says: str) -> None:
    found = spillway(*arguments)
    assert found.code == 2
    assert found.out == ""
    assert says in found.err
    assert len(found.err.strip().splitlines()) == 1
    assert json.loads(spillway(*arguments, "--json").out)["error"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '{"format": "spillway-plan"}',
        '{"format": "spillway-plan", "version": 1}',
        "[" * 100_000,
    ],
)
def test_a_malformed_plan_is_one_clear_line(spillway: Any, tmp_path: Path, text: str) -> None:
    file = tmp_path / "plan.json"
    file.write_text(text)
    for command in ("check", "simulate", "run"):
        found = spillway(command, file)
        assert found.code == 2
        assert len(found.err.strip().splitlines()) == 1


def test_a_plan_whose_program_was_tampered_with_is_refused(spillway: Any, tmp_path: Path) -> None:
    plan = sp.plan(sp.load("resnet18"), budget="MR")
    data = plan.to_json()
    load = next(row for row in data["program"]["instructions"] if row[0] == "load")
    load[4][1] += 1
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(data))
    found = spillway("check", file)
    assert found.code == 2
    assert "step 1," in found.err


def test_the_installed_command_answers_on_standard_output_alone() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "planners.cli", "plan", "resnet18", "--json"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert json.loads(done.stdout)["status"] == "optimal"


def test_an_interrupt_asks_the_planner_to_keep_its_best() -> None:
    with Reporter("planning") as reporter:
        assert reporter.progress(Progress("search", 0.1, 10, 5)) is True
        signal.raise_signal(signal.SIGINT)
        assert reporter.progress(Progress("search", 0.2, 9, 5)) is False
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_calibrate_writes_a_machine_that_plans_use(
    spillway: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = import_module("planners.study.calibrate")
    monkeypatch.setattr(measured, "COPY_BYTES", 2**22)
    monkeypatch.setattr(measured, "MATRIX", 128)
    out = tmp_path / "machine.toml"
    found = spillway("calibrate", "--out", out, "--folder", tmp_path, "--json").json
    assert found["macs_per_s"] > 0
    assert sp.load_machine(out).macs_per_s == pytest.approx(found["macs_per_s"], rel=1e-6)
    assert spillway("plan", "resnet18", "--machine", out, "--json").json["makespan_s"] > 0
    assert spillway("calibrate", "--out", out, "--folder", "/no/such").code == 2


def test_calibrate_times_layers_that_plans_use(spillway: Any, tmp_path: Path) -> None:
    out, plan = tmp_path / "times.csv", tmp_path / "plan.json"
    size = ("--input", "1x3x64x64")
    options = ("--model", "squeezenet1_1", "--repeats", 2, *size)
    found = spillway("calibrate", *options, "--out", out, "--json").json
    assert len(out.read_text().splitlines()) == 1 + 2 * found["layers"]
    options = ("--planner", "streaming", "--budget", "64MiB", "--times", out, *size)
    made = spillway("plan", "squeezenet1_1", *options, "--out", plan, "--json")
    assert made.code == 0, made.err
    kernels = sum(row.kernel_s for row in sp.Plan.load(plan).details.streamed.layers)
    assert 0 < kernels < 60
    options = ("--planner", "cosma", "--budget", "MP", "--times", out, *size)
    told = spillway("plan", "squeezenet1_1", *options, "--out", plan).out
    assert "on npu_small, operators as given by table times.csv" in told
    assert kernels == pytest.approx(sum(op.seconds for op in sp.Plan.load(plan).graph.operators))


LABELS = ["MR", "MH", "MP"]


@pytest.mark.parametrize(
    ("model", "budgets", "parameters"),
    [
        ("squeezenet1_1", LABELS, [False]),
        ("transformer", ["MP"], [False, True]),
        pytest.param("transformer", LABELS, [False, True], marks=pytest.mark.long),
    ],
)
def test_reproduce_compares_all_schemes(
    spillway: Any, model: str, budgets: list[str], parameters: list[bool]
) -> None:
    arguments = ("reproduce", "cosma", "--models", model, "--granularity", "fused")
    asked = () if budgets == LABELS else ("--budgets", ",".join(budgets))
    found = spillway(*arguments, *asked, "--json").json
    assert [(row["parameters"], row["budget"]) for row in found["rows"]] == [
        *product(parameters, budgets)
    ]
    for row in found["rows"]:
        assert row["joint optimal"] <= row["default optimal"]
        assert row["default optimal"] <= min(row["default belady"], row["default hill_climb"])
    assert 0 < found["mean_reduction"]["default belady"] <= 1


def test_reproduce_compares_fusers(spillway: Any, tmp_path: Path) -> None:
    out, data = tmp_path / "optimus.md", tmp_path / "data"
    arguments = ("reproduce", "optimus", "--quick", "--models", "alexnet", "--out", out)
    arguments = (*arguments, "--data", data)
    found = spillway(*arguments, "--json").json
    (row,) = found["traffic"]
    assert row["oracle"] < row["Optimus"] <= row["DNNVM"] <= row["no fusion"]
    text = out.read_text(encoding="utf-8")
    assert "## Table 4" in text
    assert "](data/optimus_traffic.svg)" in text
    assert (
        (data / "optimus_traffic.csv").read_text(encoding="utf-8").startswith("network,no fusion")
    )


@pytest.mark.parametrize("models", ["S8", pytest.param("S7,S8", marks=pytest.mark.long)])
def test_reproduce_compares_accountings(spillway: Any, tmp_path: Path, models: str) -> None:
    out = tmp_path / "vmcu.md"
    found = spillway("reproduce", "vmcu", "--models", models, "--out", out, "--json").json
    assert [row["module"] for row in found["modules"]] == models.split(",")
    for row in found["modules"]:
        assert row["plan"]["vMCU"] < row["workspace"]["TinyEngine"] < row["rows"]["TinyEngine"]
    assert "## Our forms of the modules" in out.read_text(encoding="utf-8")


def test_reproduce_compares_pipelines(spillway: Any, tmp_path: Path) -> None:
    out = tmp_path / "layering.md"
    arguments = ("reproduce", "demand-layering", "--quick", "--models", "yolov3")
    found = spillway(*arguments, "--out", out, "--json").json
    (row,) = found["table_1"]
    assert row["printed"] == [236.5, 107, 18.0]
    for error in found["errors"]["added"]:
        assert abs(error["points"]) < 3
    assert "## Table II" in out.read_text(encoding="utf-8")
    wrong = spillway("reproduce", "demand-layering", "--models", "resnet50")
    assert wrong.code == 2
    assert "choose among yolov3" in wrong.err


def test_an_answer_that_nobody_reads_is_no_traceback() -> None:
    for options in ([], ["--json"]):
        command = [sys.executable, "-m", "planners.cli", "models", *options]
        done = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert done.stdout is not None
        assert done.stderr is not None
        done.stdout.close()
        said = done.stderr.read()
        done.stderr.close()
        assert (done.wait(), said) == (1, b"")


def test_an_interrupted_command_says_so(spillway: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> list[str]:
        raise KeyboardInterrupt

    monkeypatch.setattr(sp, "models", interrupted)
    found = spillway("models", "--json")
    assert (found.code, found.json) == (130, {"error": "interrupted"})
    assert "interrupted" in found.err


def test_names_that_no_terminal_can_show_are_escaped(spillway: Any, tmp_path: Path) -> None:
    data = sp.load("resnet18").to_json() | {"name": "\ud800"}
    file = tmp_path / "graph.json"
    file.write_text(json.dumps(data))
    assert "\\ud800" in spillway("budgets", file).out


def test_serve_starts_the_explorer(spillway: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def run_module(name: str, run_name: str) -> None:
        assert (name, run_name) == ("app", "__main__")
        assert sys.argv[1:] == ["--port", "0", "--address", "localhost", "--no-show"]

    monkeypatch.setattr(sys, "argv", ["spillway"])
    monkeypatch.setattr("runpy.run_module", run_module)
    assert spillway("serve", "--port", 0, "--no-show").code == 0
    assert "--port" in spillway("serve", "--port", 65536).err


def test_plan_takes_all_of_cosma_s_options(spillway: Any, tmp_path: Path) -> None:
    def planned(*options: str) -> Any:
        return spillway("plan", "squeezenet1_1", *options, "--json")

    cut = planned("--schedule", "dnc", "--break-nodes", "features_3_squeeze,features_6_squeeze")
    assert cut.code == 2
    assert "'features_3_squeeze' is not an operator" in cut.err
    assert planned("--schedule", "dnc").json["status"] == "optimal"
    least = planned("--objective", "peak", "--budget", "1MB").json
    assert least["objective_bytes"] == least["extent_bytes"]
    short = planned("--objective", "peak", "--budget", str(least["objective_bytes"] - 1))
    assert (short.code, short.json["need_bytes"]) in ((3, least["objective_bytes"]),)
    assert planned("--objective", "traffic_then_latency").code == 0
    wrong = planned("--solver", "nonsense", "--method", "ilp")
    assert wrong.code == 2
    assert "unknown solver 'nonsense'; there are HiGHS" in wrong.err
    assert wrong.err.count("\n") == 1
    strict = planned("--paper-strict")
    assert strict.code == 2
    assert "use method='ilp'" in strict.err


def test_plan_exports_the_ilp_and_does_not_plan(spillway: Any, tmp_path: Path) -> None:
    lp, mps = tmp_path / "x.lp", tmp_path / "x.mps"
    given = ("plan", "alexnet", "--export-lp", lp, "--export-mps", mps, "--paper-strict")
    facts = spillway(*given, "--json").json
    assert (facts["kind"], facts["lp"], facts["mps"]) == ("fixed", str(lp), str(mps))
    assert facts["constraints"] == mps.read_text().count("\n E  ") + sum(
        mps.read_text().count(f"\n {sense}  ") for sense in "LG"
    )
    assert "eq10_1" in lp.read_text()
    nowhere = spillway("plan", "alexnet", "--export-lp", tmp_path / "no" / "x.lp")
    assert nowhere.code == 2
    assert "cannot write" in nowhere.err


def test_where_none_is_found_and_none_is_proven_the_exit_code_is_4(
    spillway: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("planners.joined.planner.STRATEGIES", ())
    asked = ("plan", "squeezenet1_1", "--planner", "joined", "--no-others", "--budget", "300KiB")
    found = spillway(*asked, "--time-limit", "0.5", "--json")
    assert found.code == 4
    assert found.json["status"] == "none found"
    assert "no way to run this network was found" in found.json["error"]
