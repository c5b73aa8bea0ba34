"""A lecture: made of what is on screen, given item by item, printed; files that are no models."""

from __future__ import annotations

import json

from param.parameterized import discard_events

import planners as sp
from app.links.lecture import Item, Lecture
from app.model.state import problem_with
from app.outputs.handout import handout_html
from app.session.initial_plan import first_shown
from app.session.session import Session
from app.views.dag.bars import instead
from tests.app.conftest import Until
from tests.app.networks import beginning


def settle(session: Session, until: Until) -> None:
    def quiet() -> bool:
        session.poll()
        return not session.busy

    until(quiet)


def test_a_lecture_is_made_of_views_and_given_item_by_item(session: Session, until: Until) -> None:
    lecturing, look = session.lecturing, session.look
    look.step = 3
    lecturing.add("The spill", "look at the triangle")
    session.change(budget="MP")
    settle(session, until)
    lecturing.add()
    assert [item.title for item in lecturing.items] == ["The spill", "vit_b_16"]
    text = lecturing.lecture.to_text()
    lecturing.drop(0)
    session.uploads.take(text.encode(), "mine.json")
    assert "2 items" in session.work.notice
    assert lecturing.item is None
    session.teaching.present("memory")
    assert lecturing.step(1)
    settle(session, until)
    assert lecturing.item == lecturing.items[0]
    assert session.problem.budget == "MR"
    assert look.step == 3
    assert look.presenting == "memory"  # the link was made without a layout: it stays
    assert lecturing.step(1)
    settle(session, until)
    assert session.problem.budget == "MP"
    assert session.work.shown.report.noncompulsory_bytes == 0
    assert not lecturing.step(1)
    assert lecturing.step(-1)


def test_an_item_may_walk_some_steps_before_the_next(session: Session) -> None:
    lecturing = session.lecturing
    link = lecturing._acts.query()
    lecturing.lecture = Lecture("", (Item("a", link, "", 2), Item("b", link)))
    lecturing.go(0)
    start = session.look.step
    assert lecturing.step(1)
    assert lecturing.step(1)
    assert (session.look.step, lecturing.at) == (start + 2, 0)
    assert lecturing.step(1)
    assert lecturing.at == 1


def test_items_are_ordered_named_and_taken_away(session: Session) -> None:
    lecturing = session.lecturing
    for name in "abc":
        lecturing.add(name)
    lecturing.move(0, 1)
    lecturing.move(0, -1)
    lecturing.edit(2, title=" third ", note="n")
    lecturing.edit(9, title="nothing there")
    lecturing.drop(0)
    lecturing.call("A lecture")
    assert [(item.title, item.note) for item in lecturing.items] == [("a", ""), ("third", "n")]
    assert lecturing.lecture.title == "A lecture"


def test_a_lecture_that_is_none_is_said_and_the_one_there_stays(session: Session) -> None:
    session.lecturing.add("kept")
    session.uploads.take(b'{"format": "spillway-lecture", "version": 9}', "x.json")
    assert session.work.notice == "x.json: the lecture has version 9; this explorer reads 1"
    assert [item.title for item in session.lecturing.items] == ["kept"]


def test_the_handout_has_every_item_and_escapes_what_strangers_wrote(
    session: Session, until: Until
) -> None:
    lecturing = session.lecturing
    lecturing.add("<b>bold</b>", "<script>alert(1)</script>")
    bad = Item("no plan", "?v=2&budget=1")
    lecturing.lecture = Lecture("<i>", (*lecturing.items, bad))
    lecturing.hand_out()
    settle(session, until)
    assert set(lecturing.plans) == {lecturing.items[0].link, ""}
    page = handout_html(lecturing.lecture, {lecturing.items[0].link: first_shown()})
    assert "&lt;script&gt;" in page
    assert "<script" not in page
    assert "<b>bold" not in page
    assert page.count("<svg") == 1
    assert "There is no plan of this." in page
    assert "are spilled or fetched again" in page


def test_a_machine_file_changes_numbers_of_its_preset(session: Session, until: Until) -> None:
    preset = sp.presets()["npu_small"]
    faster = preset.to_json() | {"macs_per_s": preset.macs_per_s * 2}
    session.uploads.take(sp.Machine.from_json(faster).to_toml().encode(), "mine.toml")
    settle(session, until)
    assert session.problem.machine == "npu_small"
    assert session.problem.machine_fields.startswith("macs_per_s=")
    assert session.work.notice == ""
    strange = json.dumps(faster | {"name": "mine"}).encode()
    session.uploads.take(strange, "mine.json")
    assert "other memories or engines" in session.work.notice
    session.uploads.take(b"a = [", "x.toml")
    assert session.work.notice == "the machine file is neither TOML nor JSON"


def test_what_fits_instead_is_asked_of_the_other_planners(session: Session, until: Until) -> None:
    session.uploads.take(json.dumps(beginning("squeezenet1_1", "cat_1").to_json()).encode())
    settle(session, until)
    session.change(budget="12 KiB")
    settle(session, until)
    found = {one["planner"]: one["need_bytes"] for one in session.work.elsewhere}
    assert session.work.infeasible
    assert "fusion" in found
    assert all(0 < need <= 12 * 1024 for need in found.values())
    assert found["joined"] == found["fusion"]  # It asks for these too.
    (board,) = instead(session.work.elsewhere)
    assert {"Plan with fusion", "Plan with joined"} <= {each["text"] for each in board["buttons"]}
    session.elsewhere.turn_to("fusion")
    settle(session, until)
    assert not session.work.infeasible
    assert session.work.elsewhere == []
    assert session.work.shown.plan.budget_bytes == 12 * 1024
    needed = problem_with({**session.fields(), "budget": str(found["fusion"] - 1)})
    assert session.request(needed)["budget"] == found["fusion"] - 1


def test_what_fits_instead_is_not_told_of_a_plan_that_has_come_back_meanwhile(
    session: Session, until: Until
) -> None:
    session.change(model="squeezenet1_1", budget="200 KiB")

    def asked() -> bool:
        session.poll()
        return bool(session.work.infeasible)

    until(asked)
    with discard_events(session.work):  # as the tour does, and an exchange with the pinned plan
        session.work.infeasible = {}
    settle(session, until)
    assert session.work.elsewhere == []
