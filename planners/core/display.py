"""How graphs, plans and traces show themselves in a notebook, where they are a cell's value.

The explorer draws them, found by name and only then: the library knows nothing of it. Where the
explorer or what it draws with is not installed, they show a plain table of the same facts.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, TypeAlias

VIEWS = "app.outputs.notebook.pages"
Fact: TypeAlias = tuple[str, str]
"""What is told, and how much of it there is."""


class Displayed:
    """An object that notebooks show as HTML; its text stays what it was."""

    __slots__ = ()

    def facts(self) -> Sequence[Fact]:
        """The first one names the object, the others sum it up; quick to compute."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        try:
            views = import_module(VIEWS)
        except ImportError:
            return table(self.facts())
        return str(views.html(self))

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        """One line of text beside the HTML: notebooks save both, and a program is megabytes."""
        return {"text/plain": line(self.facts())}


def line(facts: Sequence[Fact]) -> str:
    """Facts in one line."""
    (what, name), *others = facts
    return f"<{what} {name}: {', '.join(f'{key} {value}' for key, value in others)}>"


def table(facts: Sequence[Fact]) -> str:
    """Facts as a plain HTML table; names may come from anywhere, so everything is escaped."""
    from html import escape

    (what, name), *others = facts
    rows = "".join(
        f'<tr><th style="text-align: left">{escape(key)}</th>'
        f'<td style="text-align: left">{escape(value)}</td></tr>'
        for key, value in others
    )
    return f"<table><caption>{escape(what)} <b>{escape(name)}</b></caption>{rows}</table>"
