"""What the page says while it plans: status, the solver as it was, figures and gaps."""

from __future__ import annotations

from app.display.displayed_plan import DisplayedPlan
from app.explorer import Explorer
from app.model.glossary import plain
from app.model.options import OBJECTIVE
from app.model.units import joules_text, seconds_text
from app.session.session import Session
from app.views.panels.cards import badge, cards_html
from app.views.panels.solver import (
    gap_of,
    measure,
    progress_text,
    solver_html,
    solver_svg,
    spark_svg,
    stages,
)
from app.views.panels.status import status_html
from app.widgets.palette import DARK, LIGHT
from planners.core.colours import family_of, ink_on


def test_a_figure_is_words_and_numbers(shown: DisplayedPlan) -> None:
    assert badge(shown)[1] == "proven optimal"
    assert "spill traffic" in cards_html(shown)
    assert seconds_text(0.00123) == "1.23 ms"
    assert joules_text(4.5e-6) == "4.5 µJ"
    text = progress_text({"stage": "<x>", "incumbent_bytes": 100, "bound_bytes": 50})
    assert "gap 50.0%" in text
    assert "<x>" not in text
    assert family_of("max_pool2d")[0] == "pooling"
    assert ink_on("#F0E442") != ink_on("#0072B2")
    assert DARK.panel != LIGHT.panel


def test_while_planning_the_page_says_that_what_is_below_is_of_the_former_choice() -> None:
    session = Session(None)
    explorer = Explorer(session, LIGHT)
    session.open({}, {})
    assert "fused operators" in plain(status_html(session))
    assert "former" not in explorer.cards.object
    session.work.planning = True
    session.problem.model = "timm:<x>"
    assert "still vit_b_16" in status_html(session)
    assert "Planning timm:&lt;x&gt;, MR" in status_html(session)
    assert "former" in explorer.cards.object
    session.back()
    assert "former" not in explorer.cards.object
    session.problem.machine = "stm32f411"
    assert "still vit_b_16, MR, on “A small NPU, for teaching”" in status_html(session)
    session.back()
    session.problem.planner = "fusion"
    assert "still vit_b_16, MR, by cosma<" in status_html(session)


def test_a_sentence_keeps_the_budgets_of_the_network_that_is_drawn() -> None:
    session = Session(None)
    explorer = Explorer(session, LIGHT)
    session.open({}, {})
    assert "From 886.5 KiB on nothing is spilled" in plain(explorer.cards.object)
    session.problem.model = "resnet18"
    others = dict.fromkeys(session.work.budgets, 12345)
    session.planning.take_budgets(others, {**session.work.shown_for, "model": "resnet18"})
    assert session.work.budgets == others
    assert "From 886.5 KiB on nothing is spilled" in plain(explorer.cards.object)


def test_an_import_names_what_it_brings_and_not_what_is_below() -> None:
    session = Session(None)
    session.open({}, {})
    session.work.planning = True
    session.work.progress = {"stage": "importing mine (uploaded)", "at_s": 1.0}
    assert "Planning" not in status_html(session)
    assert "importing mine (uploaded)" in status_html(session)


def test_bytes_of_a_search_are_named_as_what_they_count() -> None:
    """Of fusion and joined all traffic: what is proven least is the compulsory."""
    for planner in ("fusion", "joined"):
        assert measure({"planner": planner}) == "off-chip traffic"
    assert measure({"planner": "auto"}) == "what each planner minimises"
    assert measure({"planner": "cosma"}) == "spill traffic"
    assert measure({"planner": "cosma", "options": {OBJECTIVE: "peak"}}) == "peak memory"


def test_the_solver_is_drawn_as_it_was() -> None:
    history = [
        {"at_s": 0.0, "stage": "import", "best": None, "bound": None},
        {"at_s": 1.0, "stage": "solve", "best": 100, "bound": 20},
        {"at_s": 3.0, "stage": "solve", "best": 60, "bound": 50},
    ]
    drawn = solver_svg(history, 4.0, 300, 100)
    assert drawn.count("<polyline") == 2
    for words in ("100 B", "20 B", "0 s", "4 s", "gap 16.7%"):
        assert f">{words}</text>" in drawn
    assert drawn.count("<polygon") == 1
    assert spark_svg(history, 4.0, 90, 20).count("<polyline") == 2
    assert stages(history, 4.0) == [("import", 1.0), ("solve", 3.0)]
    told = solver_html(history, {"at_s": 4.0}, "peak memory")
    assert "peak memory" in told
    assert "proven bound 50 B" in plain(told)
    assert spark_svg(history[:1], 4.0, 100, 20) == ""
    often = [*history, *(dict(history[-1]) for _ in range(5000))]
    assert len(spark_svg(often, 4.0, 90, 20)) < 600, "what cannot be seen is not sent"
    assert "No plan and no bound yet" in solver_html(history[:1], {"at_s": 0.5}, "spill traffic")


def test_a_gap_that_is_closed_is_no_gap() -> None:
    moment = {"at_s": 1.0, "stage": "solve", "best": 50, "bound": 50}
    assert ">no gap</text>" in solver_svg([moment], 2.0, 300, 100)
    assert gap_of(0, 0) == 0.0
    assert gap_of(10, None) is None
    alone = solver_svg([{**moment, "bound": None}], 2.0, 300, 100)
    assert "gap" not in alone.replace("-gap", "")
    assert alone.count("<polyline") == 1
