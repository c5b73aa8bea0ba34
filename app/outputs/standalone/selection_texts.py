"""The page's text on each selection, and what a selection is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from app.display.displayed_plan import DisplayedPlan
from app.kinds.registry import kind_of
from app.model.state import operator_selection, tensor_selection
from app.views.cursor.step_pages import RowBook
from app.views.panels.tables import detail_rows


def detail_numbers(
    shown: DisplayedPlan, why: Mapping[str, Any], book: RowBook, most: int
) -> dict[str, list[Any]]:
    """By selection, and for none: the rows of the table of details."""
    numbers: dict[str, list[Any]] = {}
    for selection in selections(shown):
        if len(numbers) > most:
            break
        numbers[selection] = book.numbers(detail_rows(shown, selection, why))
    return numbers


def selections(shown: DisplayedPlan) -> Iterator[str]:
    """All possible selections: first none, groups, runs and operators, then tensors."""
    graph = shown.graph
    yield ""
    yield from (part.selection for part in kind_of(shown).together(shown))
    yield from (operator_selection(operator.name) for operator in graph.operators)
    seen = dict.fromkeys(residency.tensor for residency in shown.report.residencies)
    largest = sorted(seen, key=lambda name: -graph.size_bytes(name))
    yield from (tensor_selection(name) for name in largest)
