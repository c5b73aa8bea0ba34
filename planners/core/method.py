"""The map of a planner's method, as data: what is decided, by what, in which modules."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Decision:
    """A question that a method answers, how it does, and the modules that do, by their full names.

    `proven` says in which case nothing is better; empty where nothing is proven.
    """

    what: str
    how: str
    modules: tuple[str, ...]
    proven: str = ""
