"""Fields of options: those of a planner of one's own, as its type declares them, and of ours."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import panel as pn
import pytest

import planners as sp
from app.session.session import Session
from app.widgets.option_fields import OptionFields
from planners.core import registry

EXTENSION = Path(__file__).parents[1] / "extension"


class Asked:
    """A pool that takes requests and never answers."""

    def __init__(self) -> None:
        self.requests: list[Any] = []

    def submit(self, request: Any, **how: Any) -> Any:
        self.requests.append(request)
        return Silent()


class Silent:
    """A job of which nothing is heard."""

    state, seconds, ahead = "running", 0.0, 0

    def drain(self) -> list[Any]:
        return []

    def cancel(self) -> None:
        """Nothing runs."""


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    """A page's session in a process that has the planner `slow` installed."""
    with monkeypatch.context() as patch:
        patch.syspath_prepend(EXTENSION)
        registry.planners.cache_clear()
        made = Session(Asked())  # type: ignore[arg-type]  # enough of a pool
        made.open({}, {})
        yield made
        made.close()
    registry.planners.cache_clear()


def test_a_planner_of_ones_own_has_its_two_options_on_the_page(session: Session) -> None:
    """One is a number in front, the other a box that rules the number out."""
    assert "slow" in sp.planners()
    session.choose(planner="slow")
    fields = OptionFields(session, "slow", {}, {})
    pause, eager = fields.widgets["pause"], fields.widgets["eager"]
    assert (pause.label, pause.value, type(eager)) == ("Pause (ms)", "100", pn.widgets.Checkbox)
    assert fields.first is pause
    pause.value = "250"
    assert session.problem.options == {"slow.pause": 250}
    eager.value = True
    assert pause.disabled
    assert "it does not wait for a second report" in fields.why["front"].object
    assert session.problem.options["slow.eager"] is True


@pytest.mark.parametrize("wrong", ["fast", "0", "1001", "1e3", "-5", "", "²"])
def test_what_is_wrong_is_said_beside_the_field_and_changes_nothing(
    session: Session, wrong: str
) -> None:
    session.choose(planner="slow", pause=250)
    fields = OptionFields(session, "slow", {}, {})
    fields.widgets["pause"].value = wrong
    (said,) = [pane for pane in fields._wrong.values() if pane.visible]
    assert "a whole number of ms from 1 to 1,000" in said.object
    assert session.problem.options == {"slow.pause": 250}


@pytest.mark.parametrize("planner", ["cosma", "fusion", "overlap", "streaming", "auto"])
def test_each_option_that_a_page_offers_has_a_field(session: Session, planner: str) -> None:
    fields = OptionFields(session, planner, {}, {})
    shown = {name for name, spec in fields.specs.items() if spec.place != "none"}
    assert set(fields.widgets) == shown
    for name, spec in fields.specs.items():
        if name in shown:
            assert fields.widgets[name].label, name
            assert spec.help, name
