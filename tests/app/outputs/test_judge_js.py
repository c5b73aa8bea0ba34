"""The judge in the browser's language against `judge` and `check`, over answers by chance."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from collections.abc import Sequence
from typing import Any

import pytest

import planners as sp
from app.display.displayed_plan import DisplayedPlan, show
from app.display.moved_by_hand import moved_plan
from app.model.paths import ASSETS
from app.outputs.site.residencies import stays_data
from app.outputs.site.tasks import task_data
from planners.assignments import Exercise, assignments, judge, solution
from planners.assignments.assignment import Goal
from planners.assignments.ten import small_graph
from planners.simulator.check import replay
from tests.app.networks import beginning
from tests.plans import plan_of

ANSWERS = 300  # a task
PLACEMENTS = 400  # a plan
BY_HAND = [task for task in assignments() if task.answer != "plan"]
ODD_ADDRESSES = (
    *("0", "00", "4KiB", "1.5 KiB", "1.5", "1_0KB", " 8 kib", "-4", "", "x", "9" * 30, "1.2.3"),
    *(None, True, [1], {"a": "b'\"\n\u2028"}, -1, 2**40, "9223372036854775807", "0x10", "1e3"),
)
ODD_NAMES = ("__proto__", "constructor", "</script>", 'it\'s "odd"\u2028\\', "=1+1", "ä\t🎈", "")
ODD_ANSWERS: tuple[Any, ...] = (
    *(None, 5, [], "x", {}, {"order": {}}, {"addresses": []}, {"moves": {}}, {"moves": "abc"}),
    *({"order": None}, {"moves": []}, {"order": [], "moves": []}, {"moves": ["drop x"] * 10_001}),
)


def ran(calls: Sequence[tuple[str, Any, Any, Any]]) -> list[Any]:
    """What functions of the judge return, by node."""
    if (node := shutil.which("node")) is None:
        pytest.skip("no node here: the judge runs in the browser's journeys alone")
    script = (ASSETS / "judge.js").read_text(encoding="utf-8") + (
        "\nconst calls = JSON.parse(require('fs').readFileSync(0, 'utf8'));"
        "\nconst all = { judgeAnswer, judgeStays };"
        "\nprocess.stdout.write(JSON.stringify(calls.map(([f, ...rest]) => all[f](...rest))));"
    )
    done = subprocess.run(
        [node, "-e", script], input=json.dumps(calls), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return list(json.loads(done.stdout))


# ---- answers by chance ---------------------------------------------------------------------------


def hostile() -> Exercise:
    """A task whose tensors have names that are words of a page's or of the judge's language."""
    names = {"x": 4, "</script>": 8, "__proto__": 8, "=A1": 4, "\u202ey": 4}
    reads = {"</script>": "x", "__proto__": "x", "=A1": "</script> __proto__", "\u202ey": "=A1"}
    return Exercise(
        "hostile", "", "", lambda: small_graph("h", names, reads), "moves",
        (Goal("traffic_bytes", 8192), Goal("peak_bytes", 30_000)), "cosma", 24 * 1024,
    )  # fmt: skip


def answer_by_chance(task: Exercise, rng: random.Random, solved: dict[str, Any]) -> Any:
    graph = task.graph()
    if rng.random() < 0.05:
        return rng.choice(ODD_ANSWERS)
    if task.answer == "addresses":
        return {"addresses": addresses_by_chance(graph, rng, dict(solved["addresses"]))}
    if task.answer == "order":
        names = [op.name for op in graph.operators]
        for _ in range(rng.randrange(4)):
            i = rng.randrange(len(names))
            names.insert(rng.randrange(len(names)), names.pop(i))
        if rng.random() < 0.2:
            names[rng.randrange(len(names))] = rng.choice((*ODD_NAMES, *names))
        return {"order": names}
    return {"moves": moves_by_chance(graph, rng, list(solved["moves"]))}


def addresses_by_chance(graph: sp.Graph, rng: random.Random, at: dict[str, Any]) -> dict[str, Any]:
    for _ in range(rng.randrange(4)):
        name = rng.choice([*graph.tensors])
        at[name] = rng.choice(
            (rng.randrange(40_000), 1024 * rng.randrange(64), f"{rng.randrange(64)}KiB")
        )
    if rng.random() < 0.2:
        at[rng.choice([*graph.tensors])] = rng.choice(ODD_ADDRESSES)
    if rng.random() < 0.1:
        at.pop(rng.choice([*at]))
    if rng.random() < 0.1:
        at[rng.choice(ODD_NAMES)] = 0
    return at


def moves_by_chance(graph: sp.Graph, rng: random.Random, lines: list[Any]) -> list[Any]:
    def line() -> Any:
        tensor, op = rng.choice([*graph.tensors]), rng.choice(graph.operators).name
        at = rng.choice((*ODD_ADDRESSES[:12], 1024 * rng.randrange(80), 1024 * rng.randrange(80)))
        made = (f"load {tensor} {at}", f"run {op} {at}", f"store {tensor}", f"drop {tensor}")
        return rng.choice(
            (*made, *made, *made, f"drop {rng.choice(ODD_NAMES)}", "jump", "", None, 7)
        )

    for _ in range(rng.randrange(4)):
        place = rng.randrange(len(lines) + 1)
        change = rng.randrange(4)
        if change == 0:
            lines.insert(place, line())
        elif change == 1 and place < len(lines):
            lines.pop(place)
        elif change == 2 and place < len(lines):
            lines[place] = line()
        elif lines:
            lines.insert(place, lines.pop(rng.randrange(len(lines))))
    return lines


@pytest.mark.parametrize("task", [*BY_HAND, hostile()], ids=lambda task: str(task.name))
def test_the_judge_says_what_the_command_says(task: Exercise) -> None:
    solved = solution(task)
    assert isinstance(solved, dict)
    rng = random.Random(task.name)
    answers = [
        solved,
        dict(task.starter),
        *(answer_by_chance(task, rng, solved) for _ in range(ANSWERS)),
    ]
    data = task_data(task)
    found = ran([("judgeAnswer", data, answer, None) for answer in answers])
    passed = 0
    for answer, verdict in zip(answers, found, strict=True):
        expected = judge(task, answer) if isinstance(answer, dict) else None
        if expected is not None:
            assert verdict == expected.to_json(), answer
            passed += expected.passed
        else:
            assert verdict["says"].startswith("Not valid: an answer is a JSON object"), answer
    assert found[0]["passed"]
    assert 0 < passed < len(answers)


# ---- placements by chance ------------------------------------------------------------------------


def placed(name: str) -> sp.Plan:
    """A plan whose stays are moved about."""
    if name == "eight":
        return plan_of(BY_HAND[1].graph(), budget="64KiB")
    return plan_of(beginning("squeezenet1_1", "cat_1"), budget="MR")


@pytest.mark.parametrize("name", ["spills", "eight"])
def test_placements_are_valid_where_check_says_so(name: str) -> None:
    plan = placed(name)
    shown = show(json.dumps(plan.to_json()))
    stays, rng = stays_data(shown), random.Random(name)
    assert stays
    tried = [placement(stays, plan.budget_bytes, rng) for _ in range(PLACEMENTS)]
    found = ran([("judgeStays", stays, places, plan.budget_bytes) for places in tried])
    for places, verdict in zip(tried, found, strict=True):
        assert verdict["valid"] == is_valid(shown, plan, places, verdict["extent"]), places
        assert verdict["valid"] == (not verdict["outside"] and not verdict["colliding"])
    assert 10 < sum(verdict["valid"] for verdict in found) < len(found) - 10


def placement(stays: Sequence[dict[str, Any]], budget: int, rng: random.Random) -> list[int]:
    """Where a plan has its stays, up to some of them, moved a little or anywhere."""
    places = [stay["at"] for stay in stays]
    for _ in range(rng.randrange(3)):
        i = rng.randrange(len(stays))
        room = budget - stays[i]["size"]
        anywhere = rng.randrange(room + 1), 64 * rng.randrange(room // 64 + 1), room, 0
        edge = rng.choice(stays)
        places[i] = max(0, rng.choice((*anywhere, room + 1, edge["at"] + edge["size"])))
    return places


def is_valid(shown: DisplayedPlan, plan: sp.Plan, places: Sequence[int], extent: int) -> bool:
    for stay, at in zip(shown.report.residencies, places, strict=True):
        if at != stay.spans[0].start:
            plan = moved_plan(plan, shown.report, stay, at)
    try:
        report = replay(plan.graph, plan.program, machine=plan.machine)
    except sp.InvalidPlan:
        return False
    assert report.extent_bytes == extent
    return True


def test_plans_that_cannot_be_placed_by_hand_have_no_data() -> None:
    graph = beginning("squeezenet1_1", "cat_1")
    for planner, budget in (("overlap", "256KiB"), ("streaming", "4MiB")):
        plan = plan_of(graph, planner, budget)
        assert stays_data(show(json.dumps(plan.to_json()))) == []
