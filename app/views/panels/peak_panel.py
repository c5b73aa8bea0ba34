"""The panel "peak": what the peak is made of, and which planned change lowers each part of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import panel as pn

from app.model.state import tensor_selection
from app.session.session import Session
from app.widgets.buttons import button
from app.widgets.following import follow
from app.widgets.rows import BarRows
from app.widgets.style import TEXT
from planners.core.units import format_bytes

LISTED = 40
WAITS = '<span class="faint"><i class="spin"></i>every change is planned and replayed …</span>'
EMPTY = "Break down the peak by kind, block and tensor, and plan the change that lowers each."


class PeakPanel(pn.viewable.Viewer):
    """A button that asks, and rows; those of tensors select them."""

    def __init__(self, session: Session, choose: object, height: int, **params: Any) -> None:
        super().__init__(**params)
        self.session = session
        self.ask = button("What is my peak made of?", "ask-peak", session.blaming.start)
        self.title = pn.pane.HTML("", stylesheets=[TEXT], css_classes=["peak-title"], margin=(2, 4))
        self.rows = BarRows(
            selects=True,
            css_classes=["peak-rows"],
            empty=EMPTY,
            height=height - 58,
            sizing_mode="stretch_width",
        )
        follow(session.work, ["shown", "blamed", "blaming"], lambda: self._show())
        self._show()

    def _show(self) -> None:
        work = self.session.work
        self.ask.disabled = work.blaming or work.shown is None
        self.title.object = WAITS if work.blaming else title_of(work.blamed)
        self.rows.rows = blame_rows(work.blamed)

    def __panel__(self) -> pn.Column:
        return pn.Column(self.ask, self.title, self.rows, sizing_mode="stretch_width", margin=0)


def title_of(blamed: Mapping[str, Any]) -> str:
    """The peak, and where it is."""
    if not blamed:
        return ""
    return f"<b>{blamed['peak_bytes']:,} bytes</b>, most held in step {blamed['step'] + 1}"


def blame_rows(blamed: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The changes with their numbers and new peaks, unless they are being planned; then kinds,
    tensors and blocks, each with the number of the change that lowers it."""
    if not blamed:
        return []
    planning = blamed.get("planning", False)
    head = {"text": "changes that lower it, one at a time", "cells": ["new peak", "moves more"]}
    rows: list[dict[str, Any]] = [] if planning else [head]
    for number, change in enumerate(blamed["changes"], 1):
        more = format_bytes(change["more_bytes"]) if change["more_bytes"] > 0 else "="
        cells = [format_bytes(change["peak_bytes"]), more]
        row = {"text": f"{number}: {change['words']}", "cells": cells}
        rows.append(row | (_key(change["tensor"]) if change["tensor"] else {}))
    if not blamed["changes"] and not planning:
        rows.append({"text": "none of the planned changes", "cells": ["", ""]})
    if not blamed.get("finished", True) and not planning:
        rows.append({"text": "time ran out before all were planned", "cells": ["", ""]})
    for title in ("kinds", "tensors", "blocks"):
        rows.append({"text": f"by {title[:-1]}", "cells": ["bytes", "lowered by"]})
        for share in blamed[title][:LISTED]:
            by = "" if share["cheapest"] is None else str(share["cheapest"] + 1)
            row = {"text": share["name"], "cells": [format_bytes(share["size_bytes"]), by]}
            rows.append(row | (_key(share["name"]) if title == "tensors" else {}))
    return rows


def _key(tensor: str) -> dict[str, Any]:
    return {"key": tensor_selection(tensor)}
