"""`spillway schedule`: answers, exit codes, and what is said where a deadline is missed."""

from __future__ import annotations

import json
from typing import Any

import pytest

import planners as sp
from planners.cli import main
from planners.core.errors import BadInput
from planners.streaming import several
from planners.streaming.several.networks import entry, names_of


@pytest.fixture
def schedule(capfd: pytest.CaptureFixture[str]) -> Any:
    def run(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stop:
            main(["schedule", *map(str, arguments)])
        out, err = capfd.readouterr()
        return int(stop.value.code or 0), out, err

    return run


PAIR = ("squeezenet1_1:100:80", "mobilenet_v2:200")


def test_the_least_memory_meets_all_deadlines(schedule: Any) -> None:
    code, out, _ = schedule(*PAIR, "--json")
    found = json.loads(out)
    assert (code, found["status"], found["layout"]) == (0, "met", "shared")
    assert [row["task"] for row in found["tasks"]] == ["squeezenet1_1", "mobilenet_v2"]
    assert [row["period_s"] for row in found["tasks"]] == [0.1, 0.2]
    assert [row["deadline_s"] for row in found["tasks"]] == [0.08, 0.2]
    assert all(row["bound_s"] <= row["deadline_s"] for row in found["tasks"])
    assert (found["hyperperiod_s"], found["jobs"]) == (0.2, 3)
    one, some, each = found["compared"]
    # With time to spare the largest layer is enough, of both or of each.
    assert found["memory_bytes"] == one["memory_bytes"] == 1_281_000
    assert each["memory_bytes"] == 1_281_000 + 513_000
    assert some["memory_bytes"] is None
    assert one["proven"]
    assert each["proven"]


def test_a_missed_deadline_is_an_answer_that_names_the_job(schedule: Any) -> None:
    tight = ("squeezenet1_1:34:5", "mobilenet_v2:68:34", "--ring", "1281000", "--json")
    code, out, err = schedule(*tight)
    found = json.loads(out)
    assert (code, found["status"]) == (3, "missed")
    late = max(found["tasks"], key=lambda row: row["lateness_s"])
    assert found["job"] == f"{late['task']} job {late['worst_job']}"
    assert found["need_s"] == late["bound_s"] > found["have_s"] == late["deadline_s"]
    assert found["job"] in err
    assert "short by" in err
    assert err.count("\n") == 1
    code, out, _ = schedule(*tight[:-1], "--policy", "fixed")
    assert code == 3
    assert "LATE" in out


def test_even_all_kept_may_be_too_slow(schedule: Any) -> None:
    code, out, err = schedule("squeezenet1_1:1", "--json")
    assert code == 3
    assert json.loads(out)["layout"] == "all kept"
    assert "even with all networks kept in memory" in err


@pytest.mark.parametrize("stages", [2, 3])
def test_draws_stay_below_the_bound(schedule: Any, stages: int) -> None:
    options = ("--spread", 0.2, "--draws", 20, "--stages", stages, "--ring", "2MiB")
    code, out, _ = schedule(*PAIR, *options, "--json")
    for row in json.loads(out)["tasks"]:
        assert row["drawn_median_s"] <= row["drawn_largest_s"] < row["bound_s"]
    assert code == 0
    assert "drawn: at most" in schedule(*PAIR, *options)[1]


def test_slices_make_the_ring_smaller(schedule: Any) -> None:
    whole, cut = (
        json.loads(schedule(*PAIR, "--slices", n, "--json")[1])["memory_bytes"] for n in (1, 4)
    )
    assert cut <= whole / 3


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("squeezenet1_1:33.3333", "mobilenet_v2:100"), 2, "above 1000; choose periods"),
        (("squeezenet1_1:100:200",), 2, "at most its period, 100 ms"),
        (("squeezenet1_1", "--policy", "rm"), 2, "choose one of edf, fixed"),
        (("squeezenet1_1", "--ring", "much"), 2, "'much' is not a size"),
        (("squeezenet1_1", "--period", "x"), 2, "'x' is not a number"),
        ((":100",), 2, "names no model"),
        (("squeezenet1_1", "--ring", "1KiB"), 3, "needs 513000 bytes at once"),
        (("squeezenet1_1", "--machine", "eyeriss", "--stages", "3"), 2, "at once; choose 2 stages"),
    ],
)
def test_wrong_input_is_one_line(
    schedule: Any, arguments: tuple[str, ...], code: int, says: str
) -> None:
    found, _, err = schedule(*arguments)
    assert found == code
    assert says in err
    assert err.count("\n") == 1


def test_entries() -> None:
    assert entry("resnet18").period_s is None
    assert entry("vmcu:S1:20").model == "vmcu:S1"
    assert float(entry("a:33.3").period_s or 0) == 0.0333
    assert names_of(["a", "a", "a"]) == ["a", "a#2", "a#3"]
    with pytest.raises(BadInput):
        entry(" :5")


def test_the_library_says_the_same() -> None:
    machine = sp.load_machine("jetson_xavier_980pro")
    entries = [entry(text) for text in PAIR]
    graphs = [sp.load(said.model) for said in entries]
    tasks = several.tasks_of(entries, graphs, machine, several.exact("0.1"))
    found = several.answer(tasks, "edf", 1_281_000)
    assert found.analysis.met
    assert found.compared == ()
    assert [task.priority for task in tasks] == [0, 1]
