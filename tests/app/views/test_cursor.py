"""The cursor moves and selects in the browser, which has what the steps around it need."""

from __future__ import annotations

from typing import Any

from app.display.displayed_plan import DisplayedPlan
from app.explorer import Explorer
from app.kinds.registry import step_story
from app.model.state import operator_selection, tensor_selection
from app.views.cursor.client import AT_ONCE, LATER
from app.views.cursor.step_pages import from_bytes


def pages_of(explorer: Explorer) -> dict[str, Any]:
    """What the browser has of the steps around the cursor."""
    return from_bytes(explorer.cursor.client.pages)


def test_the_browser_has_what_the_steps_around_the_cursor_need(explorer: Explorer) -> None:
    shown, client = explorer.session.work.shown, explorer.cursor.client
    pages, step = pages_of(explorer), explorer.session.look.step
    assert (pages["step"], pages["steps"]) == (client.step, shown.steps) == (step, shown.steps)
    assert pages["peaks"] == list(shown.peaks)
    assert len(pages["title"]) == len(pages["story"]) == len(pages["film"]["frames"]) == AT_ONCE
    for at in range(pages["first"], pages["first"] + AT_ONCE):
        k = at - pages["first"]
        told = [pages["book"][number]["text"] for number in pages["story"][k]]
        assert told == [sentence.text for sentence in step_story(shown, at)]
        live = [pages["book"][number]["key"] for number, _ in pages["live"][k]]
        assert sorted(live) == sorted(f"tensor:{stay.tensor}" for stay in shown.live(at))
    explorer.cursor._hear({"pages": step})
    assert len(pages_of(explorer)["title"]) == min(LATER, shown.steps)
    assert len(client.pages) < 16 * 1024


def test_the_browser_moves_by_itself_and_says_so_later(explorer: Explorer) -> None:
    client, session = explorer.cursor.client, explorer.session
    pages, step = client.pages, session.look.step
    explorer.cursor._hear({"step": step + 3})
    assert session.look.step == client.step == step + 3
    assert client.pages == pages
    session.cursor.step_by(1)  # by something that the server decides
    assert client.step == step + 4
    explorer.cursor._hear({"step": 10**6})
    assert session.look.step == session.work.shown.steps - 1
    explorer.cursor._hear({"key": "["})
    assert session.look.step == session.work.shown.peaks[-1]
    session.look.unit = "hex"
    assert any("0x" in cell for row in pages_of(explorer)["book"] for cell in row.get("cells", ()))


def test_another_plan_is_another_cursor(explorer: Explorer, fused: DisplayedPlan) -> None:
    before = pages_of(explorer)
    explorer.session.show(fused)
    pages = pages_of(explorer)
    assert pages["plan"] != before["plan"]
    assert pages["step"] == fused.opening_step
    assert explorer.stepper.slider.end == fused.steps - 1
    assert not any(model.syncable for model in (explorer.stepper.slider, explorer.dag.ring))


def test_the_browser_selects_by_itself_and_says_so_later(explorer: Explorer) -> None:
    cursor, look = explorer.cursor, explorer.session.look
    client, tensor = cursor.client, next(iter(explorer.session.work.shown.graph.tensors))
    look.panel = "solver"
    said = {"selection": tensor_selection(tensor), "plan": cursor.plan, "said": 1}
    cursor._hear(said)
    assert (look.selection, look.panel, client.heard) == (tensor_selection(tensor), "solver", 1)
    cursor._hear({**said, "selection": "", "step": 3, "tapped": True, "said": 2})
    assert (look.selection, look.step, look.panel, client.heard) == ("", 3, "details", 2)
    cursor._hear({**said, "plan": cursor.plan - 1, "said": 3})  # another plan is on screen by now
    assert (client.selected, client.heard) == ("", 3)
    look.selection = tensor_selection(tensor)  # by something that the server decides
    assert client.selected == look.selection


def test_the_browser_has_what_belongs_together_once_it_asks(explorer: Explorer) -> None:
    cursor, graph = explorer.cursor, explorer.session.work.shown.graph
    assert cursor.client.tables == b""
    cursor._hear({"tables": cursor.plan})
    tables = from_bytes(cursor.client.tables)
    assert tables["plan"] == cursor.plan
    assert tables["graph"]["operators"] == [op.name for op in graph.operators]
    assert tables["together"] == tables["waits"] == []
    assert len(cursor.client.tables) < 4 * 1024


def test_a_tap_is_for_the_wish_that_waits(explorer: Explorer) -> None:
    session, client = explorer.session, explorer.cursor.client
    wishes: list[str] = []
    session.what_if.add = wishes.append  # type: ignore[method-assign]
    first, second = (op.name for op in session.work.shown.graph.operators[:2])
    assert not client.picking
    session.what_if.act(f"pick before {first}")
    assert client.picking
    explorer.cursor._hear({"tap": operator_selection(first)})
    assert "same operator" in session.work.notice
    explorer.cursor._hear({"tap": operator_selection(second)})
    assert not client.picking
    assert wishes == [f"{first} before {second}"]
    assert session.look.selection == operator_selection(first)
    explorer.cursor._hear({"tap": operator_selection(second)})  # none waits any more
    assert session.look.selection == operator_selection(second)
