"""Presenting: where something moves next, what is marked, that it goes with a link and stops."""

from __future__ import annotations

from urllib.parse import parse_qsl

import pytest

from app.display.displayed_plan import DisplayedPlan
from app.explorer import Explorer
from app.kinds.registry import step_story
from app.links.url import from_query, to_query
from app.model.presenter import LAYOUTS, USUAL, layout_of
from app.model.state import tensor_selection
from app.page import press
from app.session.initial_plan import first_shown
from app.session.session import Session
from app.session.teaching import next_event, spoken_tensors
from app.session.tour_stops import STOPS
from app.views.cursor.step_pages import from_bytes
from app.views.panels.presenter import presenter
from app.views.panels.teaching import PAUSE, PLAY, TeachingBar
from app.widgets.palette import LIGHT


@pytest.fixture
def explorer() -> Explorer:
    session = Session(None)  # type: ignore[arg-type]
    made = Explorer(session, LIGHT)
    session.open({}, {})
    return made


def test_an_event_is_a_step_whose_sentences_tell_of_a_transfer(shown: DisplayedPlan) -> None:
    told = [
        step
        for step in range(shown.steps)
        if any(s.mark in ("in", "out") for s in step_story(shown, step))
    ]
    assert list(shown.moves) == told
    assert 0 < len(told) < shown.steps
    quiet = [k for k in range(shown.steps) if any(s.mark == "quiet" for s in step_story(shown, k))]
    assert set(quiet) == set(range(shown.steps)) - set(told)


def test_the_next_event_skips_quiet_steps(shown: DisplayedPlan) -> None:
    found = list(shown.moves)
    assert next_event(shown, found[0]) == found[1]
    assert next_event(shown, found[1] - 1) == found[1]
    assert next_event(shown, found[1], -1) == found[0]
    assert next_event(shown, found[-1]) is None
    assert next_event(shown, found[0], -1) is None


def test_the_browser_has_what_is_spoken_of_while_it_presents(explorer: Explorer) -> None:
    session, client = explorer.session, explorer.cursor.client
    shown, look = session.work.shown, session.look
    assert "spoken" not in from_bytes(client.pages)
    look.selection = tensor_selection(shown.graph.operators[0].outputs[0])
    session.teaching.present("memory")
    assert look.presenting == "memory"
    assert look.selection == ""  # it would hide what is mentioned
    pages = from_bytes(client.pages)
    for step, spoken in enumerate(pages["spoken"], pages["first"]):
        assert spoken == spoken_tensors(shown, step)
        assert {s.tensor for s in step_story(shown, step) if s.tensor} <= set(spoken)
    spoken = spoken_tensors(shown, look.step)
    assert set(explorer.map.names) == set(spoken)
    press(session, "n", None)
    assert look.step in shown.moves
    assert set(explorer.map.names) == set(spoken_tensors(shown, look.step)) != set(spoken)
    look.selection = tensor_selection(spoken[0])
    assert set(explorer.map.names) == {spoken[0]}
    session.teaching.present("")
    assert "spoken" not in from_bytes(client.pages)
    look.selection = ""
    assert explorer.map.names == set()


def test_words_are_large_and_a_link_keeps_the_layout(explorer: Explorer) -> None:
    session, stepper = explorer.session, explorer.stepper
    assert "large" not in stepper.story.css_classes
    view = presenter(session)
    view.layout = "time"  # as the browser sets it
    assert session.look.presenting == "time"
    assert "large" in stepper.story.css_classes
    query = to_query(session.problem, session.look)
    given = dict(parse_qsl(query[1:]))
    _, look, wrong = from_query(given)
    assert look["presenting"] == "time"
    assert wrong == []
    assert "playing" not in query
    session.look.presenting = ""  # as at the end of a tour
    assert view.layout == ""
    session.teaching.present("no such layout")
    assert session.look.presenting == ""


def test_a_link_that_taught_presents_the_memory() -> None:
    assert from_query({"v": "2", "teaching": "1"})[1:] == ({"presenting": USUAL}, [])
    assert from_query({"v": "2", "teaching": "0"})[1:] == ({}, [])
    assert from_query({"v": "2", "presenting": "else"})[1] == {}


def test_each_stop_of_the_tour_has_a_layout_that_shows_what_it_tells_of() -> None:
    shown = {layout_of(stop.targets) for stop in STOPS}
    assert {"memory", "network", "time", "pool", "front"} <= shown <= {*LAYOUTS}
    assert layout_of(("export",)) == USUAL


def label_of_play(bar: TeachingBar) -> str:
    return next(str(row["label"]) for row in bar.bar.buttons if row["name"] == "play")


def test_space_plays_and_another_plan_stops(explorer: Explorer) -> None:
    session, bar = explorer.session, explorer.stepper.teaching
    press(session, " ", None)
    assert bar.player.playing
    assert label_of_play(bar) == PAUSE
    bar.player.playing = False  # as the client does at the end
    assert not session.look.playing
    assert label_of_play(bar) == PLAY
    press(session, " ", None)
    session.show(first_shown())
    session.work.param.trigger("shown")
    assert not session.look.playing
