"""A board of sections, and the sections that lead out of wishes which leave no plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import param

from app.display.wish_offers import DROP
from app.model.paths import script
from app.widgets.rows import Sender
from planners.core.units import format_bytes

Section = dict[str, Any]


class Board(Sender):
    """Sections with a title, a text, buttons, rows that can be removed, and a table."""

    sections = param.List(default=[], doc="Dicts: title, text, tone, buttons, rows, table.")

    def reveal(self) -> None:
        """Scroll it into sight if it is not."""
        self._send_msg({"reveal": True})

    _esm = script("board")
    _stylesheets: ClassVar[list[str]] = [
        """
:host { font: 12px var(--sw-font);
  color: var(--sw-text); overflow-y: auto; padding: 0 4px; box-sizing: border-box; }
section { padding: 4px 2px 5px; border-top: 1px solid var(--sw-grid); }
section:first-child { border-top: none; }
h2 { margin: 0 0 3px; font-size: 12px; font-weight: 600; overflow-wrap: anywhere; }
p { margin: 0 0 4px; line-height: 1.35; color: var(--sw-faint); overflow-wrap: anywhere; }
.buttons { display: flex; flex-wrap: wrap; gap: 4px; }
button { font: inherit; font-size: 11.5px; color: inherit; background: var(--sw-page);
  border: 1px solid var(--sw-faint); border-radius: 4px; padding: 2px 7px; cursor: pointer;
  max-width: 100%; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
button:hover:not(:disabled) { background: var(--sw-hover); }
button:focus-visible { outline: 2px solid #0072B2; outline-offset: 1px; }
button:disabled { opacity: .5; cursor: default; }
button[aria-pressed='true'], button.main { background: #0072B2; border-color: #0072B2;
  color: #fff; }
button.cross { border: none; background: none; padding: 0 6px; flex: 0 0 auto; }
.row { display: flex; align-items: baseline; gap: 6px; padding: 1px 0; }
.row .words { flex: 1 1 auto; overflow-wrap: anywhere; }
.mark { flex: 0 0 16px; text-align: center; font-family: 'DejaVu Sans', system-ui; }
small { display: block; color: var(--sw-faint); font-size: 11px; }
.faint .words { color: var(--sw-faint); text-decoration: line-through; }
.faint small { display: inline-block; }
table { border-collapse: collapse; width: 100%; margin: 2px 0 3px; }
th { font-weight: 600; text-align: left; color: var(--sw-faint); padding: 1px 3px; }
td { padding: 1px 3px; border-top: 1px solid var(--sw-grid); }
tr:not(:first-child) th { font-weight: 400; border-top: 1px solid var(--sw-grid); }
.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
td:last-child { font-weight: 600; }
.wrong { border-left: 4px solid #D55E00; padding-left: 7px; }
.wrong p { color: inherit; }
.picking { border-left: 4px solid #0072B2; padding-left: 7px; }
.picking p { color: inherit; font-weight: 600; }
"""
    ]


def ways_out(picking: Mapping[str, Any], why: Mapping[str, Any]) -> list[Section]:
    """The buttons beside the line above the views: give up picking, or plan without a wish."""
    if picking:
        return [{"buttons": [{"text": "Give up", "key": "give up", "about": "or press Escape"}]}]
    return [{"buttons": in_the_way(why)["buttons"]}] if why.get("wishes") else []


def in_the_way(why: Mapping[str, Any]) -> Section:
    """The wishes that leave no plan, each to be dropped; the line above the views says the rest."""
    wishes = list(why["wishes"])
    one = len(wishes) == 1
    text = "This wish leaves no plan:" if one else "These wishes together leave no plan:"
    buttons = [
        {"text": f"Drop “{wish}”", "key": DROP + wish, "kind": "main", "about": "plan without it"}
        for wish in wishes
    ]
    need, have = why["need_bytes"], why["have_bytes"]
    needs = "It needs" if one else "They need"
    short = f" {needs} {format_bytes(need)}, the budget is {format_bytes(have)}."
    return {"title": text + (short if need > have else ""), "buttons": buttons, "tone": "wrong"}
