"""Nonsense in every field of a link, and in fields that are typed: clear words, nothing lost."""

from __future__ import annotations

from unittest.mock import Mock

import pytest

import planners as sp
from app.jobs.job_context import load_graph
from app.links.url import LOOKED_AT, VERSION, from_query
from app.model.option_keys import type_of
from app.model.sizes import format_exact, plain_shape, plain_whole
from app.model.state import FIELDS, Look, ProblemFields
from app.session.session import Session
from app.widgets.budget_field import BudgetField
from app.widgets.whole_number import WholeNumber
from planners.study.budgets import plain_budget
from tests.app.silent_pool import SilentPool

NONSENSE = ("nonsense", "-1", "1e308", "nan", "∞", "[" * 500, "<script>", "../../etc/passwd", "\0")
FREE = {"selection", "memory", "expanded", "across", "pinned"}
"""Fields of the look that may be any text: what they do not find, they do not show."""


OPTIONS = [f"{name}.{option}" for name in sp.planners() for option in type_of(name).own()]
ANY = ("wishes", "cosma.break_nodes")


@pytest.mark.parametrize("name", [*sorted(set(FIELDS) - {"options", "upload"}), *OPTIONS])
def test_nonsense_in_a_link_is_said_by_its_field(name: str) -> None:
    for text in NONSENSE:
        problem, _, wrong = from_query({"v": VERSION, name: text})
        if not wrong:
            ProblemFields(**problem)  # then it is a value that the field may have
        else:
            assert len(wrong) == 1
            assert name in wrong[0] or text[:20] in wrong[0]
            assert len(wrong[0]) < 280
            assert "\n" not in wrong[0]
    refused = {"v": VERSION, name: "nonsense"}
    if name not in ANY:
        assert from_query(refused)[0] == {}


@pytest.mark.parametrize("name", sorted(set(LOOKED_AT) - FREE))
def test_nonsense_in_how_it_is_looked_at_is_said_too(name: str) -> None:
    for text in NONSENSE:
        _, look, wrong = from_query({"v": VERSION, name: text})
        assert (name in look) != bool(wrong)
        if name in look:
            setattr(Look(), name, look[name])


@pytest.mark.parametrize(
    "text", ["nonsense", "-5 KiB", "0", "1e400 KiB", "nan", "KiB", "12 parsecs", "∞", "9" * 400]
)
def test_a_budget_that_is_none_says_what_to_write(text: str) -> None:
    with pytest.raises(sp.SpillwayError) as found:
        plain_budget(text)
    assert "\n" not in str(found.value)
    assert len(str(found.value)) < 200


@pytest.mark.parametrize(
    "text", ["nonsense", "0", "-1", "1x3x", "1.5x3", "1x3x1e9", "x", "9" * 40, "1x3xNaN", "1x-3"]
)
def test_a_shape_that_is_none_says_what_to_write(text: str) -> None:
    with pytest.raises(sp.BadInput, match="1x3x224x224"):
        plain_shape(text)


def test_a_link_of_nonsense_opens_a_page_with_a_plan() -> None:
    given = {"v": VERSION, **dict.fromkeys(ProblemFields.param, "nonsense")}
    problem, look, wrong = from_query({k: v for k, v in given.items() if k != "name"})
    session = Session(SilentPool())  # type: ignore[arg-type]
    session.open(problem, look, wrong)
    assert session.work.shown is not None
    assert "cannot be used" in " ".join(session.work.refused)


def test_an_unknown_model_is_told_in_words_of_the_page() -> None:
    problem = {"model": "resnet51", "bytes_per_element": 1, "granularity": "fused"}
    with pytest.raises(sp.UnknownName, match="did you mean 'resnet") as found:
        load_graph(problem)
    assert "type a part of a name" in str(found.value)
    assert "()" not in str(found.value)


@pytest.mark.parametrize("text", ["", "abc", "0", "3601", "-5", "1.5", "1e2", "∞", "9" * 400])
def test_a_whole_number_out_of_bounds_says_what_to_write(text: str) -> None:
    with pytest.raises(sp.BadInput, match="from 1 to 3,600") as found:
        plain_whole(text, 1, 3600)
    assert len(str(found.value)) < 120


def test_a_time_limit_is_refused_in_words_and_nothing_is_planned() -> None:
    session = Session(SilentPool())  # type: ignore[arg-type]
    limit = WholeNumber(session, "time_limit", "Limit (s)", "limit")
    limit.field.value = "99999"
    assert "too large" in limit.wrong.object
    assert (session.problem.time_limit, limit.field.value) == (30, "99999")
    limit.field.value = "60"
    assert (session.problem.time_limit, limit.wrong.object) == (60, "")


def test_a_size_that_is_none_stays_to_be_mended_until_the_budget_changes() -> None:
    session = Session(SilentPool())  # type: ignore[arg-type]
    session.open({}, {}, [])
    budget = BudgetField(session)
    budget.typed.value = "12 parsecs"
    session.problem.model = "resnet18"
    assert budget.typed.value == "12 parsecs"
    assert "not a size" in budget.wrong.object
    session.problem.budget = "256 KiB"
    assert (budget.typed.value, budget.wrong.object) == ("256 KiB", "")
    budget.typed.value = "64KB"
    assert (session.problem.budget, budget.typed.value) == ("64 KB", "64 KB")


def test_a_place_of_a_slider_that_was_longer_is_the_last_one() -> None:
    session = Session(SilentPool())  # type: ignore[arg-type]
    session.open({}, {}, [])
    budget = BudgetField(session)
    budget.slider.param.update(end=9999)  # as the browser has it, until it hears of another network
    budget.slider.value = 5000
    assert session.models.work.under == budget.sizes[-1] * 1024
    budget._slid(Mock(new=5000))
    assert session.problem.budget == format_exact(budget.sizes[-1] * 1024)
