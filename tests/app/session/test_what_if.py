"""What if, in a session: wishes made, taken back, in the way, and what they cost."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qsl

import pytest

from app.display.displayed_plan import DisplayedPlan
from app.display.wish_offers import offers
from app.links.url import from_query, to_query
from app.model.options import options, why_not
from app.model.state import Look, ProblemFields
from app.model.wishes import KNOWN, added, asked, kind_of, names_of, picked_wish, why_not_asked
from app.page import press
from app.session.session import Session
from app.views.dag.bars import Message
from app.views.dag.scene import scene
from app.views.dag.wish_marks import wish_columns
from app.views.memory.wish_marks import tensor_marks
from app.views.panels.what_if import sections
from tests.app.networks import beginning


def settle(session: Session, until: Any) -> None:
    def done() -> bool:
        session.poll()
        return not session.busy

    until(done)


def words(given: Any) -> str:
    """All that a panel says."""
    if isinstance(given, dict):
        return " ".join(words(value) for value in given.values())
    if isinstance(given, list | tuple):
        return " ".join(map(words, given))
    return str(given)


# ---- wishes as texts -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "kind", "names"),
    [
        ("keep t", "keep", ("t",)),
        ("spill t", "spill", ("t",)),
        ("a before b", "before", ("a", "b")),
        ("fuse a b", "fuse", ("a", "b")),
        ("", "", ()),
    ],
)
def test_a_wish_is_read_by_its_words(text: str, kind: str, names: tuple[str, ...]) -> None:
    assert (kind_of(text), names_of(text)) == (kind, names)


@pytest.mark.parametrize(
    ("held", "text", "left"),
    [
        ("keep t", "spill t", []),
        ("keep t", "keep u", ["keep t"]),
        ("a before b", "b before a", []),
        ("fuse a b", "split b a", []),
        ("fuse a b", "a before b", ["fuse a b"]),
        ("keep t", "keep t", []),
    ],
)
def test_a_wish_takes_the_place_of_what_it_contradicts(
    held: str, text: str, left: list[str]
) -> None:
    assert added([held], text) == [*left, text]


def test_the_kinds_are_those_that_the_planners_know() -> None:
    from planners.cosma.model.constraints import KNOWN as COSMA
    from planners.fusion.partition.constraints import KNOWN as FUSION
    from planners.joined.wishes import KNOWN as JOINED

    assert {"cosma": COSMA, "fusion": FUSION, "joined": JOINED} == KNOWN


def test_only_wishes_that_the_planner_knows_are_sent() -> None:
    problem = ProblemFields.with_values(wishes=["keep t", "fuse a b"], replacement="belady")
    assert options(problem)["wishes"] == ["keep t"]
    assert "replacement" in why_not(problem)
    problem.planner = "fusion"
    assert options(problem)["wishes"] == problem.wishes
    assert "online" in why_not(problem)
    problem.planner = "streaming"
    assert asked(problem) == []
    assert "wishes" not in options(problem)
    assert "wishes" not in options(ProblemFields())
    assert "Optimus and joined do" in why_not_asked("fuse a b", "cosma")
    assert "COSMA and Optimus and joined do" in why_not_asked("keep a", "overlap").split("; ")


def test_a_link_carries_the_wishes() -> None:
    problem = ProblemFields(wishes=["keep ü&=", "a before b"])
    query = dict(parse_qsl(to_query(problem, Look())[1:]))
    assert from_query(query)[0]["wishes"] == problem.wishes
    for text in ("keep t", "[1]", "auto", "{}"):
        found, _, wrong = from_query({"v": "3", "wishes": text})
        assert found == {}
        assert "wishes" in wrong[0]


def test_what_is_offered_suits_the_selection_and_the_planner(shown: DisplayedPlan) -> None:
    def labels(selection: str, planner: str, *wishes: str) -> list[str]:
        return [offer.label for offer in offers(shown, selection, wishes, planner)]

    assert labels("tensor:add_1", "cosma") == ["Keep on chip", "Keep off chip"]
    assert "Run before…" in labels("operator:add_1", "cosma")
    assert "Keep its output on chip" in labels("operator:add_1", "cosma")
    assert labels("tensor:x", "fusion") == []
    fused = labels("operator:add_1", "fusion")
    assert "Fuse with layer_norm_1" in fused
    assert "Split from…" in fused
    assert labels("operator:add_1", "streaming") == []
    assert labels("tensor:no such", "cosma") == []
    pressed = offers(shown, "tensor:add_1", ["keep add_1"], "cosma")[0]
    assert pressed.on
    assert pressed.key == "drop keep add_1"


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("before", "a before b"),
        ("after", "b before a"),
        ("fuse", "fuse a b"),
        ("split", "split a b"),
    ],
)
def test_the_second_operator_completes_the_wish(kind: str, text: str) -> None:
    assert picked_wish(kind, "a", "b") == text


def test_wishes_are_marked_on_the_views(shown: DisplayedPlan) -> None:
    wishes = ["keep add_1", "linear_2 before linear_9", "keep gone"]
    assert tensor_marks(wishes) == {"add_1": "⚓", "gone": "⚓"}
    everything = sorted(shown.tree.everything())
    drawn = scene(shown, everything, "kind")
    marks, arcs = wish_columns(shown, drawn, shown.tree.nodes(everything), wishes)
    assert sorted(marks["about"]) == ["keep add_1", *["linear_2 before linear_9"] * 2]
    assert {kind: len(columns["x0"]) for kind, columns in arcs.items()} == {
        "before": 1,
        "fuse": 0,
        "split": 0,
    }


# ---- wishes in a session ---------------------------------------------------------------------


def test_a_wish_is_kept_in_the_problem_until_the_model_changes(session: Session) -> None:
    session.look.selection = "tensor:add_1"
    press(session, "k", lambda: None)
    assert session.problem.wishes == ["keep add_1"]
    assert session.look.panel == "what if"
    press(session, "o", lambda: None)
    assert session.problem.wishes == ["spill add_1"]
    press(session, "o", lambda: None)
    assert session.problem.wishes == []
    session.change(wishes=["keep add_1"], budget="MP")
    session.change(budget="MH")
    assert session.problem.wishes == ["keep add_1"]
    session.change(model="squeezenet1_1")
    assert session.problem.wishes == []
    session.what_if.act("wish keep add_1")
    assert "not on screen yet" in session.work.notice


def test_of_groups_parameters_are_no_choice(session: Session) -> None:
    session.problem.planner = "fusion"
    name = next(t for t, it in session.work.shown.graph.tensors.items() if it.kind == "parameter")
    session.look.selection = f"tensor:{name}"
    press(session, "k", lambda: None)
    assert f"and {name} is loaded" in session.work.notice
    assert session.problem.wishes == []
    session.problem.wishes = [f"keep {name}"]  # of a link: it can be taken away
    session.what_if.toggle("keep")
    assert session.problem.wishes == []


def test_two_operators_are_tapped_one_after_the_other(session: Session) -> None:
    session.look.selection = "operator:linear_2"
    session.what_if.act("pick before linear_2")
    assert "before which linear_2" in words(sections(session))
    assert session.what_if.picked("operator:linear_2")
    assert "same operator" in session.work.notice
    assert session.what_if.picked("tensor:x")
    assert "not an operator" in session.work.notice
    assert session.what_if.picked("operator:linear_9")
    assert session.problem.wishes == ["linear_2 before linear_9"]
    assert not session.what_if.picked("operator:linear_9")
    session.what_if.act("pick after linear_2")
    press(session, "Escape", lambda: None)
    assert session.work.picking == {}
    assert session.look.selection == "operator:linear_2"


def test_a_wish_that_the_planner_does_not_know_says_so(session: Session) -> None:
    session.what_if.add("fuse conv2d cat")
    assert "Optimus and joined do" in session.work.notice
    assert session.problem.wishes == []
    session.problem.wishes = ["fuse conv2d cat"]
    assert "not asked: cosma does not support this wish" in words(sections(session))


def test_a_plan_respects_the_wish_and_says_what_it_costs(session: Session, until: Any) -> None:
    bare = session.work.shown
    name = next(r.tensor for r in bare.report.residencies if r.ending == "spill")
    session.look.panel = "what if"
    session.change(budget="MH")
    settle(session, until)
    without = session.work.shown
    session.what_if.add(f"spill {name}")
    settle(session, until)
    assert session.work.notice == ""
    assert session.work.shown is not without
    assert session.work.wished["traffic_bytes"] == without.report.traffic_bytes
    assert "what they cost" in words(sections(session))
    session.what_if.undo()
    settle(session, until)
    assert session.problem.wishes == []
    assert session.work.shown.report.traffic_bytes == without.report.traffic_bytes
    assert session.work.wished == {}


def test_the_price_is_found_beside_where_no_plan_without_is_known(
    session: Session, until: Any
) -> None:
    session.change(wishes=["spill add_1"], budget="MP")
    settle(session, until)
    found = session.work.wished
    assert found["noncompulsory_bytes"] == 0
    assert session.work.shown.report.noncompulsory_bytes > 0
    assert not session.work.pricing


def test_wishes_in_the_way_are_named_and_can_be_dropped(session: Session, until: Any) -> None:
    message, before = Message(session), session.work.shown
    session.what_if.add("keep add_1")
    settle(session, until)
    why = session.work.infeasible
    assert why["wishes"] == ["keep add_1"]
    assert session.work.shown is before
    assert session.look.panel == "what if"
    assert "Drop “keep add_1”" in words(sections(session))
    assert "No plan respects the wishes" in message.text.object
    assert message.ways_out.visible
    assert message.remedy.visible
    session.what_if.act("drop keep add_1")
    settle(session, until)
    assert session.work.infeasible == {}
    assert not message.row.visible
    asked = session.problem.budget
    message.remedy.clicks += 1  # a press that was under way
    assert session.problem.budget == asked


def test_a_wish_of_a_name_that_is_none_is_one_line(session: Session, until: Any) -> None:
    before = session.work.shown
    session.change(wishes=["keep ad_1"])
    settle(session, until)
    assert "'add_1'" in session.work.notice
    assert "\n" not in session.work.notice
    assert session.work.shown is before
    session.what_if.undo()
    assert session.problem.wishes == []
    assert not session.stale


def test_groups_are_split_where_it_is_wished(session: Session, until: Any) -> None:
    session.uploads.take(json.dumps(beginning("squeezenet1_1", "cat_1").to_json()).encode())
    settle(session, until)
    session.change(planner="fusion", budget="12KiB")
    settle(session, until)
    before = session.work.shown
    group = next(group for group in before.groups if len(group.operators) > 1)
    one, other = group.operators[0], group.operators[-1]
    session.look.selection = f"operator:{one}"
    assert "Split from" in words(sections(session))
    assert session.live.offered
    session.what_if.act(f"pick split {one}")
    assert session.what_if.picked(f"operator:{other}")
    settle(session, until)
    assert session.work.notice == ""
    after = session.work.shown
    assert after.group_of[one] != after.group_of[other]
    assert not session.live.offered
    assert session.work.wished["traffic_bytes"] == before.report.traffic_bytes
    session.what_if.act("clear")
    settle(session, until)
    assert session.work.shown.report.traffic_bytes == before.report.traffic_bytes
