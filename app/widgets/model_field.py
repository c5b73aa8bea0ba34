"""A field for a model's name: suggests as one types, and lets any name be tried."""

from __future__ import annotations

from typing import ClassVar

import param

from app.model.paths import script
from app.widgets.rows import Sender


class ModelField(Sender):
    """A text field with suggestions; Enter, Tab or a tap sends the name as the key.

    What is typed is sent as it stands: only arrows and taps choose among the suggestions, or
    Enter where there is but one.
    """

    value = param.String("", doc="The name that is chosen.")
    options = param.List(default=[], item_type=str, doc="The names that are suggested.")
    label = param.String("Model", doc="What stands above the field.")

    _esm = script("model_field")
    _stylesheets: ClassVar[list[str]] = [
        """
:host { font: 12.5px var(--sw-font);
  color: var(--sw-text); position: relative; z-index: 30; }
label { display: block; font-size: 11.5px; margin: 0 0 1px; color: var(--sw-faint); }
input { box-sizing: border-box; width: 100%; height: 28px; padding: 2px 8px; font: inherit;
  color: inherit; background: var(--sw-panel); border: 1px solid #0072B2; border-radius: 4px; }
.bk-menu { position: absolute; left: 0; right: 0; max-height: 260px; overflow-y: auto; z-index: 40;
  background: var(--sw-panel); border: 1px solid var(--sw-faint); border-radius: 4px;
  box-shadow: 0 3px 12px rgba(0,0,0,.25); }
.bk-menu[hidden] { display: none; }
.bk-menu div { padding: 3px 8px; cursor: pointer; overflow-wrap: anywhere; }
.bk-menu div:hover, .bk-menu .active { background: var(--sw-hover); font-weight: 600; }
"""
    ]
