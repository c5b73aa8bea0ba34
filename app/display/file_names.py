"""What files of a plan are called when they are saved. No Panel here."""

from __future__ import annotations

from app.display.displayed_plan import DisplayedPlan


def file_stem(shown: DisplayedPlan) -> str:
    """What files of a plan are called."""
    return f"{file_word(shown.graph.name)}-{shown.plan.budget_bytes}"


def file_word(name: str) -> str:
    """A name as a part of a file's."""
    return "".join(c if c.isalnum() or c in "-_." else "-" for c in name)
