"""The explorer in a notebook's cell: pages for who was given the word. No browser here."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from urllib.request import urlopen

import pytest

import planners as sp
from app import explore
from app.jobs.pool import WorkerPool
from app.outputs.notebook.inline import Inline, server
from app.session.session import Session
from app.widgets.teardown import take_apart
from tests.plans import plan_of

Until = Callable[[Callable[[], object]], None]
MODEL = "squeezenet1_1"


def fetch(address: str) -> str:
    with urlopen(address, timeout=30) as answer:
        return str(answer.read().decode())


@pytest.fixture
def plan() -> sp.Plan:
    return plan_of(MODEL, budget="1MiB")


@pytest.fixture
def inline(plan: sp.Plan) -> Iterator[Inline]:
    made = explore(plan)
    yield made
    made.close()


def test_a_cell_has_a_frame_with_the_page(inline: Inline) -> None:
    html = inline._repr_html_()
    assert html.count("<iframe") == 1
    (address,) = set(re.findall(r'"(http://[^"]*)"', html))
    assert address == inline.address
    assert str(server()) in inline._repr_mimebundle_()["text/plain"]
    with pytest.raises(sp.BadInput, match="not open yet"):
        _ = inline.plan


def test_the_page_shows_the_plan_and_its_plan_goes_on_in_code(
    inline: Inline, plan: sp.Plan, until: Until
) -> None:
    assert "Spillway" in fetch(inline.address)
    until(lambda: inline.sessions)  # once the page is out
    assert inline.plan.to_json()["program"] == plan.to_json()["program"]
    assert inline.session.problem.model == MODEL
    assert inline.session.problem.budget == "1 MiB"


def test_a_page_that_is_gone_leaves_its_plan(
    inline: Inline, plan: sp.Plan, pool: WorkerPool
) -> None:
    """A cell that is shown again closes the page before, whose session is then taken apart."""
    session = Session(pool)
    inline._begin(session)
    inline._leave(session)
    session.close()
    take_apart([session])
    assert inline.plan.to_json()["program"] == plan.to_json()["program"]


def test_without_the_word_there_is_no_page(inline: Inline) -> None:
    root = inline.address.split("?")[0]
    for address in (root, root + "?given=guessed"):
        fetch(address)
    inline.close()
    for _ in range(2):  # once the second is answered, what is on the first is made
        fetch(inline.address)
    assert inline.sessions == []


def test_a_graph_is_planned_as_asked(pool: WorkerPool, until: Until) -> None:
    graph = sp.load(MODEL, input_shape=(1, 3, 64, 64))
    made, session = explore(graph, budget="MH", planner="cosma"), Session(pool)
    made._begin(session)

    def planned() -> bool:
        session.poll()
        return made.plan.graph == graph

    until(planned)
    assert made.plan.budget_bytes == sp.budgets(graph).MH
    made.close()


def test_a_model_is_planned_as_asked(pool: WorkerPool) -> None:
    made, session = explore(MODEL, budget="1 MiB"), Session(pool)
    made._begin(session)
    assert (session.problem.model, session.problem.budget) == (MODEL, "1 MiB")
    assert session.work.planning
    made.close()


def test_what_cannot_be_asked() -> None:
    with pytest.raises(sp.BadInput, match="neither a field"):
        explore(MODEL, bugdet="MR")
