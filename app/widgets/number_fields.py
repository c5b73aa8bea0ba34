"""A small component: numbers in groups, each a text field with a word on what is wrong with it."""

from __future__ import annotations

from typing import ClassVar

import param

from app.model.paths import script
from app.widgets.rows import Sender


class NumberFields(Sender):
    """A field for each row; Enter, Tab or a tap elsewhere sends `NAME TEXT`, Escape takes back."""

    rows = param.List(default=[], item_type=dict, doc="What `app.model.machines.Row` has.")

    _esm = script("number_fields")
    _stylesheets: ClassVar[list[str]] = [
        """
:host { font: 12px var(--sw-font); color: var(--sw-text); }
.title { font-weight: 650; margin: 5px 0 2px; }
.line { display: grid; grid-template-columns: 1fr 116px 12px; align-items: center;
  column-gap: 5px; margin: 0 0 2px; }
.name { font-size: 11.5px; color: var(--sw-faint); }
input { box-sizing: border-box; width: 100%; height: 24px; padding: 1px 6px; font: inherit;
  color: inherit; background: var(--sw-panel); border: 1px solid var(--sw-faint);
  border-radius: 4px; }
input:focus { outline: 2px solid var(--sw-accent); }
input.wrong { border-color: var(--sw-alarm); }
.dot { color: var(--sw-accent); font-size: 10px; }
.about { grid-column: 1 / -1; font-size: 11px; line-height: 1.35; color: var(--sw-faint);
  text-align: right; padding-right: 17px; }
.about.wrong { color: var(--sw-alarm); font-weight: 600; text-align: left; }
.about:empty { display: none; }
"""
    ]
