"""Small components: rows that can be tapped, words of a step, and what only the browser can do."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import param

from app.model.paths import script
from app.widgets.component import Component
from app.widgets.style import TIP

ROWS, EACH_STEP = script("rows"), script("each_step")
"""How rows become a table, here and in a page without a server; how a table follows the cursor."""


VISIT = "visit:"


class Sender(Component):
    """A component whose messages are keys: of the keyboard, or of a row."""

    __abstract = True

    def on_key(self, act: Callable[[str], object]) -> None:
        """Call `act` with each key that arrives."""
        self.on_msg(lambda event: act(str(event.data.get("key", ""))))


class Words(Component):
    """A line of our own HTML about the cursor's step."""

    part = param.String(default="", doc="Which of the step's lines it is.")

    _esm = EACH_STEP + script("words")


class BarRows(Sender):
    """Rows with a chip, a text, numbers and a bar; a tap sends the row's key, or selects it."""

    rows = param.List(default=[], doc="Dicts: key, chip, mark, ink, text, cells, share, title.")
    head = param.List(default=[], doc="Titles of the columns as our own HTML; none, no head.")
    empty = param.String(default="", doc="What is said where there are no rows.")
    part = param.String(default="", doc="Which rows of the cursor's step it has; or its own.")
    selects = param.Boolean(default=False, doc="Whether keys are selections: the browser's matter.")

    _esm = ROWS + EACH_STEP + script("bar_rows")
    _stylesheets: ClassVar[list[str]] = [
        TIP,
        """
:host { font: 12px var(--sw-font); color: var(--sw-text); overflow-y: auto; }
table { border-collapse: collapse; width: 100%; table-layout: auto; }
th { font-weight: 600; text-align: left; color: var(--sw-faint); padding: 1px 4px;
  position: sticky; top: 0; background: var(--sw-panel); }
td { padding: 2px 4px; border-top: 1px solid var(--sw-grid); vertical-align: top;
  line-height: 1.35; }
tr:first-child td { border-top: none; }
td:first-child { overflow-wrap: anywhere; }
.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.chip { display: inline-block; min-width: 14px; height: 14px; line-height: 14px; margin-right: 6px;
  border-radius: 3px; text-align: center; font-size: 10px; font-weight: 700; padding: 0 2px;
  vertical-align: top; margin-top: 1px; }
.share { display: block; height: 3px; margin-top: 2px; border-radius: 2px; }
.tap { cursor: pointer; }
.tap:hover, .tap:focus { background: var(--sw-hover); outline: none; }
.tap:focus-visible { outline: 2px solid var(--sw-accent); outline-offset: -2px; }
.title td { font-weight: 600; color: var(--sw-faint); padding-top: 6px; }
.on td { background: var(--sw-hover); }
.on td:first-child { box-shadow: inset 3px 0 var(--sw-accent); }
.empty { color: var(--sw-faint); padding: 4px; }
""",
    ]


class Browser(Sender):
    """What only the browser can do: keys come in as messages; the address and the clipboard go out.

    Keys are messages, because a property that changes fast is merged. An address of another model,
    machine, budget or planner is pushed, so that the back button leads to the plan before; Back
    and Forward come in as `visit:` and the query. Other addresses are replaced.
    """

    first = param.String("", doc="The query of the problem with which the page opened.")
    visits = 0
    """How often Back or Forward has come in: an address from before is of another plan."""

    def on_key(self, act: Callable[[str], object]) -> None:
        """Call `act` with each key of the keyboard."""
        super().on_key(lambda key: None if key.startswith(VISIT) else act(key))

    def on_visit(self, act: Callable[[str], object]) -> None:
        """Call `act` with the query to which Back or Forward leads."""

        def hear(key: str) -> None:
            if key.startswith(VISIT):
                self.visits += 1
                act(key.removeprefix(VISIT))

        super().on_key(hear)

    def address(self, query: str) -> None:
        """Put a query into the browser's address, keeping parameters that are not ours (the
        theme)."""
        self._send_msg({"address": query, "visits": self.visits})

    def copy(self, text: str) -> None:
        """Put a text on the clipboard, where the browser allows it."""
        self._send_msg({"copy": text})

    def file(self, name: str, zip: str = "", gzip: str = "") -> None:
        """Save a zip whose bytes are given in base 64, or a file that is compressed so."""
        self._send_msg({"file": zip or gzip, "name": name, "packed": bool(gzip)})

    def picture(self, kind: str, name: str, only: str = "") -> None:
        """Save the figures on screen, one below the other, as `svg` or `png`; or `only` one."""
        self._send_msg({"picture": kind, "name": name, "only": only})

    _esm = script("browser")
