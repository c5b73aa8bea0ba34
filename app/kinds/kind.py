"""What a kind of plan gives the page: cards, rows of tables, what belongs together. No Panel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from planners.core.units import format_bytes

Looks = Mapping[str, tuple[str, str, str]]
"""The colour of a rectangle of the address map, its hatch, and their meaning, by its role."""
Row = dict[str, Any]
"""A row of a table: its text and cells, and its look."""


@dataclass(frozen=True, slots=True)
class Card:
    """A figure above the views, the line under it, what it measures, and its hover."""

    value: str
    label: str
    name: str
    hover: str = ""


@dataclass(frozen=True, slots=True)
class Together:
    """Operators that run together: their selection, and their first step."""

    selection: str
    operators: tuple[str, ...]
    step: int
    extent_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Band:
    """What runs together as colours show it: a piece over steps or time, a region of the graph.

    `who` names the operators, `line` says how they run. Bands come in the order of `together`.
    """

    name: str
    operators: tuple[str, ...]
    start_step: int
    stop_step: int
    colour: str
    who: str
    line: str


def fact(text: str, value: str = "") -> Row:
    """A row that only informs."""
    return {"text": text, "cells": [value]}


def link(word: str, name: str, selection: str) -> Row:
    """A row that selects something when tapped."""
    return {"text": f"{word} {name}", "cells": [""], "key": selection}


def address_text(address: int, unit: str) -> str:
    """An address in KiB or hexadecimal."""
    return f"{address:#x}" if unit == "hex" else f"@{format_bytes(address)}"
