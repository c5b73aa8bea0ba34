"""The page's text: sentences and tables of each step, and of each selection."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from app.kinds.registry import kind_of
from app.model.checked_plan import Shown
from app.model.state import (
    Look,
    operator_selection,
    tensor_selection,
)
from app.views.panels.tables import detail_rows, live_rows, live_title, story_rows

SIGNIFICANT = 4
OF_NOW = ("on", "share")
"""The fields that differ from step to step in rows that are otherwise the same."""

Row = Mapping[str, Any]
Ahead = Callable[[float], None]


class RowBook:
    """Rows of tables, each stored once."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, row: Row) -> int:
        """The number of a row, without what depends on the selection and the step."""
        kept = {name: value for name, value in row.items() if name not in OF_NOW and value != ""}
        return self._numbers.setdefault(json.dumps(kept), len(self._numbers))

    def number_with_share(self, row: Row) -> list[float]:
        """The number of a row, and the length of its bar."""
        return [self.number(row), round(float(row["share"]), SIGNIFICANT)]

    def numbers(self, rows: Sequence[Row]) -> list[int | list[float]]:
        """The numbers of rows, some of which have bars."""
        return [self.number_with_share(r) if "share" in r else self.number(r) for r in rows]

    @property
    def rows(self) -> list[Row]:
        """All rows, by number."""
        return [json.loads(text) for text in self._numbers]


def told_steps(steps: int, at: int, most: int) -> range:
    """At most so many steps, around one: longer programs are cut."""
    start = max(0, min(at - most // 2, steps - most))
    return range(start, min(steps, start + most))


def step_rows(
    shown: Shown, look: Look, steps: range, book: RowBook, ahead: Ahead
) -> dict[str, list[Any]]:
    """By step: the title of its table, its rows on chip, and its sentences, as numbers of rows."""
    numbers: dict[str, list[Any]] = {"title": [], "live": [], "story": []}
    memory = kind_of(shown).memory(shown, look.memory)
    for step in steps:
        numbers["title"].append(plain(live_title(shown, step, memory)))
        rows = live_rows(shown, step, "", look.unit)
        numbers["live"].append([book.number_with_share(row) for row in rows])
        numbers["story"].append(book.numbers(story_rows(shown, step, "")))
        if step % 50 == 0:
            ahead((step - steps.start) / len(steps))
    return numbers


def detail_numbers(
    shown: Shown, why: Mapping[str, Any], book: RowBook, most: int
) -> dict[str, list[Any]]:
    """By selection, and for none: the rows of the table of details."""
    numbers: dict[str, list[Any]] = {}
    for selection in selections(shown):
        if len(numbers) > most:
            break
        numbers[selection] = book.numbers(detail_rows(shown, selection, why))
    return numbers


def selections(shown: Shown) -> Iterator[str]:
    """All possible selections: first none, groups, runs and operators, then tensors."""
    graph = shown.graph
    yield ""
    yield from (part.selection for part in kind_of(shown).together(shown))
    yield from (operator_selection(operator.name) for operator in graph.operators)
    seen = dict.fromkeys(stay.tensor for stay in shown.report.residencies)
    largest = sorted(seen, key=lambda name: -graph.size_bytes(name))
    yield from (tensor_selection(name) for name in largest)


def together(shown: Shown) -> list[dict[str, Any]]:
    """What runs together: operators and first step; for runs in a pool also their height."""
    index = shown.graph.index
    return [
        {
            "key": part.selection,
            "operators": [index[name] for name in part.operators],
            "step": part.step,
            **({} if part.extent_bytes is None else {"extent": part.extent_bytes}),
        }
        for part in kind_of(shown).together(shown)
    ]


def graph_json(shown: Shown) -> dict[str, Any]:
    """The names of operators and tensors, and what is read and written as positions among them."""
    graph = shown.graph
    tensors = {name: i for i, name in enumerate(graph.tensors)}
    firsts = first_steps(shown)
    return {
        "tensors": list(tensors),
        "operators": [op.name for op in graph.operators],
        "reads": [[tensors[name] for name in op.inputs] for op in graph.operators],
        "writes": [[tensors[name] for name in op.outputs] for op in graph.operators],
        "parameters": [[tensors[name] for name in op.parameters] for op in graph.operators],
        "first": [firsts.get(op.name, -1) for op in graph.operators],
    }


def first_steps(shown: Shown) -> dict[str, int]:
    """The first step that runs each operator."""
    firsts: dict[str, int] = {}
    for step, names in enumerate(shown.ran):
        for name in names:
            firsts.setdefault(name, step)
    return firsts


def plain(html: str) -> str:
    """The text of a line of our own HTML."""
    return re.sub(r"<[^>]*>", "", html)
