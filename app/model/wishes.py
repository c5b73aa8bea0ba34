"""Wishes as the page has them: texts, and which planner supports them.

The texts are the library's (`planners.wishes.language`). Pure functions; no Panel here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from app.model.state import ProblemFields

KNOWN: Mapping[str, tuple[str, ...]] = {
    "cosma": ("keep", "spill", "before"),
    "fusion": ("fuse", "split", "keep", "spill"),
    "joined": ("keep", "spill", "fuse", "split"),
}
"""The kinds of wishes that each planner supports; planners not listed support none."""

MARKS: Mapping[str, str] = {"keep": "⚓", "spill": "⏏", "before": "≺", "fuse": "∪", "split": "∥"}
TITLES: Mapping[str, str] = {"cosma": "COSMA", "fusion": "Optimus", "joined": "joined"}


def kind_of(text: str) -> str:
    """The kind of a wish, by its text; of a text that is no wish, its first word."""
    words = text.split()
    if len(words) == 3 and words[1] == "before":
        return "before"
    return words[0] if words else ""


def names_of(text: str) -> tuple[str, ...]:
    """The tensor or the operators that a wish names."""
    words = text.split()
    return (words[0], words[2]) if kind_of(text) == "before" else tuple(words[1:])


def asked(problem: ProblemFields) -> list[str]:
    """The wishes that the chosen planner is asked to respect."""
    kinds = KNOWN.get(problem.planner, ())
    return [text for text in problem.wishes if kind_of(text) in kinds]


def added(wishes: Iterable[str], text: str) -> list[str]:
    """The wishes with one more, without those that contradict it."""
    return [*(other for other in wishes if not _against(other, text)), text]


def _against(one: str, other: str) -> bool:
    """Whether two wishes are the same, or about the same thing and cannot both be satisfied."""
    kinds, names = {kind_of(one), kind_of(other)}, (names_of(one), names_of(other))
    if kinds <= {"keep", "spill"}:
        return names[0] == names[1]
    same = set(names[0]) == set(names[1])
    return same and (kinds == {"before"} or kinds <= {"fuse", "split"})


def why_not_asked(text: str, planner: str) -> str:
    """Why a wish is not sent to a planner; empty where it is."""
    supported = KNOWN.get(planner, ())
    if kind_of(text) in supported:
        return ""
    who = [TITLES[name] for name, kinds in KNOWN.items() if kind_of(text) in kinds]
    does = "does" if len(who) == 1 else "do"
    return f"{planner} does not support this wish" + (
        f"; {' and '.join(who)} {does}" if who else ""
    )


def picked_wish(kind: str, first: str, second: str) -> str:
    """The wish about the operator of the first button and the one that was tapped afterwards."""
    if kind == "after":
        return f"{second} before {first}"
    return f"{first} before {second}" if kind == "before" else f"{kind} {first} {second}"


def picking_text(picking: Mapping[str, Any]) -> str:
    """What is to be tapped next."""
    words = {
        "before": "Tap the operator before which {} is to run.",
        "after": "Tap the operator after which {} is to run.",
        "fuse": "Tap the operator with which {} is to be fused.",
        "split": "Tap the operator from which {} is to be split.",
    }
    return words[picking["kind"]].format(picking["operator"]) + " Escape cancels."
