"""A choice among what there is now, where that changes while somebody chooses."""

from __future__ import annotations

from typing import Any

import panel as pn


class ChangingSelect(pn.widgets.Select):
    """A list whose options change: what a browser chose among those of before is left out.

    A choice and new options may pass each other on their way; Panel raises `ValueError` for it.
    """

    def _process_property_change(self, props: dict[str, Any]) -> dict[str, Any]:
        names = (*self.labels, *self.unicode_values, "")
        is_gone = "value" in props and props["value"] not in names
        kept = {name: value for name, value in props.items() if name != "value" or not is_gone}
        params: dict[str, Any] = super()._process_property_change(kept)
        return params


class ChangingButtons(pn.widgets.RadioButtonGroup):
    """The same as buttons in a row: a number beyond those that there are is left out."""

    def _process_property_change(self, props: dict[str, Any]) -> dict[str, Any]:
        is_gone = (props.get("active") or 0) >= len(self.values)
        kept = {name: value for name, value in props.items() if name != "active" or not is_gone}
        params: dict[str, Any] = super()._process_property_change(kept)
        return params
