"""Widgets bound to fields: each follows the other, and neither echoes."""

from __future__ import annotations

from typing import Any

import ipywidgets
import panel as pn
import param
import pytest

import planners as sp
from app.model.sizes import plain_whole
from app.widgets.bound import bind, bind_to


class Model(param.Parameterized):
    size = param.Integer(3)
    title = param.String("a")
    other = param.String("b")


def test_a_widget_shows_its_field_and_changes_it() -> None:
    model, field = Model(), pn.widgets.TextInput()
    bind(field, model, "title")
    assert field.value == "a"
    model.title = "c"
    assert field.value == "c"
    field.value = "d"
    assert model.title == "d"


def test_what_a_widget_is_made_to_show_is_not_heard_as_said() -> None:
    """Two names round to one place of a slider: showing the first does not choose the second."""
    model, slider = Model(size=37), pn.widgets.IntSlider(start=0, end=10)
    said: list[dict[str, Any]] = []

    def change(**fields: Any) -> None:
        said.append(fields)
        model.param.update(**fields)

    bind(
        slider,
        model,
        "size",
        to=lambda size: size // 10,
        back=lambda place: place * 10,
        change=change,
    )
    assert (slider.value, model.size, said) == (3, 37, [])
    model.size = 55
    assert (slider.value, model.size, said) == (5, 55, [])
    slider.value = 7
    assert (slider.value, model.size, said) == (7, 70, [{"size": 70}])


def test_what_cannot_be_used_stays_to_be_mended_and_is_said() -> None:
    model, field, lines = Model(), pn.widgets.TextInput(), list[sp.SpillwayError | None]()
    bind(
        field,
        model,
        "size",
        to=str,
        back=lambda text: plain_whole(text, 1, 9),
        wrong=lines.append,
    )
    field.value = "lots"
    assert (model.size, field.value) == (3, "lots")
    assert "lots" in str(lines[-1])
    model.title = "another field leaves it alone"
    assert field.value == "lots"
    field.value = " 5 "
    assert (model.size, field.value, lines[-1]) == (5, "5", None)


def test_without_a_line_for_it_what_is_wrong_is_raised() -> None:
    model, field = Model(), pn.widgets.TextInput()
    bind(field, model, "size", to=str, back=lambda text: plain_whole(text, 1, 9))
    with pytest.raises(sp.BadInput):
        field.value = "lots"


def test_a_field_that_depends_on_another_follows_both() -> None:
    model, field = Model(), pn.widgets.TextInput()
    bind(field, model, "title", to=lambda title: f"{title} of {model.other}", also=["other"])
    model.other = "c"
    assert field.value == "a of c"
    assert model.title == "a"


def test_one_widget_for_two_fields() -> None:
    model, box = Model(), pn.widgets.Select(options=["a b", "x y"])

    def take(both: str) -> None:
        model.param.update(title=both[0], other=both[-1])

    bind_to(box, model, ["title", "other"], lambda: f"{model.title} {model.other}", take)
    assert box.value == "a b"
    box.value = "x y"
    assert (model.title, model.other) == ("x", "y")


def test_widgets_of_a_notebook_are_bound_alike() -> None:
    model, field = Model(), ipywidgets.Text()
    bind(field, model, "title")
    field.value = "d"
    assert model.title == "d"
    model.title = "e"
    assert field.value == "e"
