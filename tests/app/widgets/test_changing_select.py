"""A choice that passes new options on its way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from app.widgets.changing_select import ChangingButtons, ChangingSelect


@pytest.mark.parametrize("options", [["map", "front"], {"The map": "map", "The front": 2}])
def test_what_is_no_option_any_more_changes_nothing(
    options: Sequence[str] | Mapping[str, Any],
) -> None:
    """`ring not in list` in the server's log, as somebody chose a picture and another plan came."""
    choice = ChangingSelect(options=["map", "ring"])
    choice.options = options
    choice._process_events({"value": "ring"})
    assert choice.value == "map"
    second = list(options)[1]
    choice._process_events({"value": second})
    assert choice.value == (options[second] if isinstance(options, Mapping) else second)
    choice._process_events({"value": "ring", "disabled": True})
    assert choice.disabled


def test_a_button_that_is_gone_changes_nothing() -> None:
    buttons = ChangingButtons(options=["a", "b", "c"], value="a")
    buttons.options = ["a", "b"]
    buttons._process_events({"active": 2})
    assert buttons.value == "a"
    buttons._process_events({"active": 1})
    assert buttons.value == "b"
