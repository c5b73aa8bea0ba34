"""The explorer, a Panel application; in notebooks, `explore` shows it as a cell's output."""

from __future__ import annotations

from importlib import import_module
from typing import Any

SHOWN_BY = "app.outputs.notebook"  # by name: every room is below this package


def explore(what: Any = "", **options: Any) -> Any:
    """The whole explorer as a cell's output: see `app.outputs.notebook.explore`."""
    return import_module(SHOWN_BY).explore(what, **options)
