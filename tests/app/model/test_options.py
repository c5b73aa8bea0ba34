"""The planner's options: what is sent to it, what is ruled out and why, break nodes by hand."""

from __future__ import annotations

import json
from itertools import product
from typing import Any
from urllib.parse import parse_qsl

import pytest

import planners as sp
from app.links.url import from_query, problem_of, to_query
from app.model.glossary import plain
from app.model.history import best_so_far, remembered
from app.model.option_keys import type_of
from app.model.options import (
    options,
    series,
    why_not,
    word,
)
from app.model.state import ProblemFields
from app.outputs.scripts import as_python
from app.session.breaks import NO_BREAKS, NO_OPERATOR, WRONG_ORDER, used_breaks
from app.session.session import Session
from app.views.dag.bars import infeasible_html, nearest
from app.views.panels.cards import badge, cards_html, proof_text, scope
from app.views.panels.comparing import plan_names
from app.views.panels.controls import Controls
from app.views.panels.live_solver import LiveSolver
from app.views.panels.planner_options import PlannerOptions
from planners.core.graph import Graph, Operator, Tensor
from planners.core.units import format_bytes
from planners.cosma.options import CosmaOptions
from planners.study.budgets import plain_budget
from tests.app.networks import beginning
from tests.plans import AMPLE_S, plan_of

CHOICES = ("schedule", "objective", "method", "replacement")


def diamond() -> Graph:
    """Five operators: a fork of two branches that meet again."""
    pairs = {"a": ("x",), "b": ("a",), "c": ("a",), "d": ("b", "c"), "e": ("d",)}
    tensors = {"x": Tensor("x", (8,), "input")} | {n: Tensor(n, (8,)) for n in pairs}
    return Graph(
        name="diamond",
        tensors=tensors,
        operators=tuple(Operator(f"op_{n}", "add", read, (n,)) for n, read in pairs.items()),
        inputs=("x",),
        outputs=("e",),
    )


def distinct_options() -> list[dict[str, Any]]:
    """What the page can send at all, each once."""
    found = {}
    values = [CosmaOptions.spec(name).choices for name in CHOICES]
    for *chosen, strict in product(*values, (False, True)):
        problem = ProblemFields.with_values(
            **dict(zip(CHOICES, chosen, strict=True)), paper_strict=strict
        )
        sent = options(problem)
        found[json.dumps(sent, sort_keys=True)] = sent
    return list(found.values())


@pytest.mark.usefixtures("solver_here")
@pytest.mark.parametrize(
    "sent", distinct_options(), ids=lambda sent: "-".join(map(str, sent.values()))
)
def test_the_planner_takes_whatever_can_be_chosen(sent: dict[str, Any]) -> None:
    plan = sp.plan(diamond(), budget="MR", time_limit=AMPLE_S, **sent)
    sp.check(plan)
    for name, value in sent.items():
        if value != "auto":
            assert plan.options[name] == value


def test_what_is_ruled_out_is_not_sent_and_not_forgotten() -> None:
    problem = ProblemFields.with_values(replacement="belady")
    assert options(problem)["replacement"] == "belady"
    problem.take(schedule="joint")
    assert "replacement" in why_not(problem)
    assert "replacement" not in options(problem)
    problem.take(schedule="mpmf")
    assert options(problem)["replacement"] == "belady"
    problem.take(method="ilp")
    sent = options(problem)
    assert "replacement" not in sent
    assert (sent["solver"], sent["paper_strict"]) == ("HiGHS", False)
    problem.take(method="search")
    assert not {"solver", "paper_strict"} & options(problem).keys()


def test_break_nodes_are_sent_with_divide_and_conquer_only() -> None:
    problem = ProblemFields.with_values(break_nodes=["op_a"])
    assert "break_nodes" not in options(problem)
    problem.take(schedule="dnc")
    assert options(problem)["break_nodes"] == ["op_a"]
    problem.take(break_nodes="auto")
    assert options(problem)["break_nodes"] == "auto"
    problem.take(objective="peak")
    assert "break_nodes" not in options(problem)


def test_a_planner_without_options_is_sent_none() -> None:
    assert not type_of("no such planner").own()
    assert options(ProblemFields(planner="no such planner")) == {}


def test_a_line_of_the_chart_is_named_by_what_is_not_the_usual() -> None:
    def named(**chosen: Any) -> str:
        problem = ProblemFields.with_values(**chosen)
        return series({"planner": "cosma", "options": options(problem)})

    assert named() == "cosma default"
    assert named(replacement="belady") == "cosma default belady"
    assert named(schedule="dnc") == "cosma dnc"
    assert named(schedule="dnc", break_nodes=["a", "b"]) == "cosma dnc a+b"
    assert named(schedule="dnc", break_nodes=["a", "b", "c"]) == "cosma dnc a+…+c (3)"
    assert named(method="ilp", paper_strict=True) == "cosma default ilp paper_strict"
    assert word("cosma.break_nodes", "auto") == "automatic"


def test_plans_that_are_compared_are_named_by_the_options_that_count() -> None:
    here = ProblemFields.with_values(
        schedule="dnc", method="ilp", solver="CBC", replacement="greedy"
    )
    there = ProblemFields.with_values(schedule="joint")
    names = plan_names(here.values_by_name(), there.values_by_name())
    assert names == ("dnc", "joint")
    here, there = ProblemFields(budget="MP"), ProblemFields.with_values(paper_strict=True)
    names = plan_names(here.values_by_name(), there.values_by_name())
    assert names == ("MP", "MR")


def test_a_link_carries_all_options() -> None:
    problem = ProblemFields.with_values(
        schedule="dnc",
        objective="peak",
        break_nodes=["cat, 1", "ü&="],
        method="ilp",
        solver="CBC",
        paper_strict=True,
    )
    found, _, wrong = from_query(dict(parse_qsl(to_query(problem, Session(None).look)[1:])))  # type: ignore[arg-type]
    assert wrong == []
    assert ProblemFields(**found).values_by_name() == problem.values_by_name()
    assert (
        ProblemFields(**from_query({"v": "1", "break_nodes": "auto"})[0]).option("break_nodes")
        == "auto"
    )


@pytest.mark.parametrize(
    "text",
    [
        "break_nodes=[1]",
        "solver=abacus",
        "objective=beauty",
        "method=guess",
        "paper_strict=2",
        "schedule=never",
    ],
)
def test_an_option_that_a_link_may_not_say_is_one_line(text: str) -> None:
    name, value = text.split("=")
    for given in ({"v": "1", name: value}, {"v": "2", f"cosma.{name}": value}):
        problem, _, wrong = from_query(given)
        assert problem == {"machine": "npu_ideal"}
        assert len(wrong) == 1
        assert name in wrong[0]


def test_the_copied_python_has_the_options_that_count() -> None:
    text = as_python(
        ProblemFields.with_values(schedule="dnc", break_nodes=["relu_1"], replacement="belady")
    )
    assert "schedule='dnc'," in text
    assert "break_nodes=['relu_1']," in text
    assert "belady" not in text
    assert "solver" not in text


def test_break_nodes_are_chosen_by_hand_beginning_with_those_found(
    session: Session, until: Any
) -> None:
    breaks = session.breaks
    breaks.toggle("linear_9")
    assert session.work.notice == WRONG_ORDER
    session.change(model="efficientnet_b0")
    session.choose(schedule="dnc")
    settle(session, until)
    used = breaks.nodes
    assert used
    assert set(used) < set(session.work.shown.graph.index)
    breaks.by_hand(True)
    assert session.problem.option("break_nodes") == used
    assert not session.busy
    assert not session.stale
    breaks.toggle(used[0])
    settle(session, until)
    assert session.work.notice == ""
    assert set(used_breaks(session.work.shown.plan)) == set(used[1:])
    breaks.by_hand(False)
    settle(session, until)
    assert breaks.nodes == used


def test_no_break_nodes_by_hand_is_nothing_to_plan(session: Session) -> None:
    session.problem.take(schedule="dnc")
    session.breaks.by_hand(True)
    assert session.problem.option("break_nodes") == ()
    assert session.work.notice == NO_BREAKS
    assert not session.busy
    session.breaks.toggle("")
    assert session.work.notice == NO_OPERATOR


def test_another_model_has_no_break_nodes_by_hand(session: Session) -> None:
    session.problem.take(schedule="dnc", break_nodes=["linear_9"])
    session.change(budget="MP")
    assert session.problem.option("break_nodes") == ("linear_9",)
    session.change(model="squeezenet1_1")
    assert session.problem.option("break_nodes") == "auto"
    session.breaks.toggle("linear_9")
    assert "not on screen yet" in session.work.notice


def test_a_break_node_that_is_none_is_one_line_and_loses_nothing(
    session: Session, until: Any
) -> None:
    before = session.work.shown
    last = before.graph.operators[-1].name
    session.choose(schedule="dnc", break_nodes=[last])
    settle(session, until)
    assert session.work.shown is before
    assert repr(last) in session.work.notice
    assert "\n" not in session.work.notice
    assert session.problem.option("break_nodes") == (last,)


def test_a_least_peak_beyond_the_budget_says_what_it_needs(session: Session, until: Any) -> None:
    session.choose(objective="peak")
    settle(session, until)
    why = session.work.infeasible
    words, budget = nearest(why)
    told = plain(infeasible_html(why, "cosma", session.work.shown))
    assert f"COSMA needs {format_bytes(why['need_bytes'])} without spills." in told
    assert "short. What binds:" in told
    shown = session.work.shown
    size = format_bytes(shown.plan.budget_bytes)
    assert told.endswith(f"The plan below, of {shown.graph.name}, by COSMA, fits {size}.")
    assert plain_budget(budget) == why["need_bytes"] > session.work.budgets["MR"]
    assert "MR" not in words
    open_ = plain(infeasible_html({**why, "proven": False}, "cosma"))
    assert "COSMA found no plan without spills in" in open_
    assert " and no proof that none exists. It has one in" in open_
    session.change(budget=budget)
    settle(session, until)
    assert session.work.infeasible == {}
    assert session.work.shown.report.noncompulsory_bytes == 0
    assert "peak memory: " in proof_text(session.work.shown)


def test_widgets_say_why_they_cannot_be_used() -> None:
    session = Session(None)  # type: ignore[arg-type]
    controls = Controls(session).options
    widgets, problem = controls.form.widgets, session.problem
    assert widgets["solver"].disabled
    assert not controls.breaks.visible
    assert not widgets["replacement"].disabled
    problem.take(schedule="joint", replacement="belady")
    assert widgets["replacement"].disabled
    assert widgets["replacement"].value == "optimal"
    assert "Replacement: " in controls.form.why["more"].object
    problem.take(schedule="dnc")
    assert controls.breaks.visible
    problem.take(schedule="default", method="ilp")
    assert not widgets["solver"].disabled
    assert "ilp" in controls.more.label
    assert problem.option("replacement") == "belady"


def test_the_folded_part_is_open_where_a_link_uses_it() -> None:
    session = Session(None)  # type: ignore[arg-type]
    assert not PlannerOptions(session).rest.visible
    session.problem.take(method="ilp", solver="CBC")
    made = PlannerOptions(session)
    assert made.rest.visible
    assert "ilp, CBC" in made.more.label


def test_the_best_so_far_is_never_lost_between_stages() -> None:
    moments: list[dict[str, Any]] = []
    now: dict[str, Any] = {}
    for at_s, (stage, best, bound) in enumerate(
        (("start", None, None), ("search", 90, 10), ("beam", 70, None), ("search", 80, 5))
    ):
        told = {"stage": stage, "at_s": at_s, "incumbent_bytes": best, "bound_bytes": bound}
        now = best_so_far(now, told)
        moments = remembered(remembered(moments, now), now)
    found = [(m["stage"], m["best"], m["bound"]) for m in moments]
    assert found == [
        ("start", None, None),
        ("search", 90, 10),
        ("beam", 70, 10),
        ("search", 70, 10),
    ]


def test_the_window_on_the_solver_comes_late_and_can_be_closed() -> None:
    session = Session(None)  # type: ignore[arg-type]
    live = LiveSolver(session)
    moment = {"stage": "<search>", "at_s": 0.4, "incumbent_bytes": 2048, "bound_bytes": 1024}
    history = [{"stage": "<search>", "at_s": 0.4, "best": 2048, "bound": 1024}]
    session.work.param.update(planning=True, history=history, progress=moment)
    assert not live.window.visible
    session.work.param.update(
        history_for={"options": {"cosma.objective": "peak"}}, progress={**moment, "at_s": 2.0}
    )
    assert live.window.visible
    for words in ("gap 50.0%", "peak memory", "2 KiB", "&lt;search&gt;", "2.0 s"):
        assert words in live.text.object
    live._close()
    session.work.progress = {**moment, "at_s": 3.0}
    assert not live.window.visible
    session.work.planning = False
    session.work.param.update(planning=True, progress={**moment, "at_s": 2.0})
    assert live.window.visible


@pytest.mark.parametrize(
    ("chosen", "words", "held"),
    [
        ({}, "proven optimal", "for this order"),
        ({"schedule": "joint"}, "proven optimal", "over all orders"),
        ({"replacement": "greedy"}, "heuristic, gap", "for this order"),
        ({"objective": "traffic_then_latency"}, "traffic proven optimal", "for this order"),
    ],
)
def test_the_badge_says_what_the_proof_holds_for(
    session: Session, until: Any, chosen: dict[str, str], words: str, held: str
) -> None:
    name = "small (uploaded)"
    session.uploads.texts[name] = json.dumps(beginning("squeezenet1_1", "cat_1").to_json())
    session.problem.model = name
    session.problem.take(**chosen)
    session.plan()
    settle(session, until)
    shown = session.work.shown
    assert shown.graph.name == "squeezenet1_1"
    assert badge(shown)[1].startswith(words)
    assert scope(shown) == held
    assert held in cards_html(shown)


def test_a_plan_that_was_brought_has_the_options_it_was_made_with(
    session: Session, until: Any
) -> None:
    plan = plan_of("squeezenet1_1", schedule="joint")
    session.problem.take(method="ilp", replacement="belady")
    session.uploads.take(json.dumps(plan.to_json()).encode())
    settle(session, until)
    assert problem_of(plan)["options"] == {"cosma.schedule": "joint"}
    assert session.problem.options == {"cosma.schedule": "joint"}


def settle(session: Session, until: Any) -> None:
    """Poll until no worker has anything more to say."""

    def done() -> bool:
        session.poll()
        return not session.busy

    until(done)
