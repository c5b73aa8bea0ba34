"""Pages of steps: what the browser needs in order to show any of them without its server.

Sentences, rows of what is live, and titles of the steps around the cursor, each row once; and films
of the figures that change with each step.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from app.display.displayed_plan import DisplayedPlan
from app.kinds.registry import kind_of
from app.views.panels.tables import live_rows, live_title, story_rows

SIGNIFICANT = 4
OF_NOW = "share"
"""What differs from step to step in rows that are otherwise the same."""
MOST_PLACES = 20_000
"""Longer lists of steps stay on the server, which then says where the next of them is."""

Row = Mapping[str, Any]
BackgroundPlans = Callable[[float], None]


class RowBook:
    """Rows of tables, each stored once."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, row: Row) -> int:
        """The number of a row, without what depends on the step."""
        kept = {name: value for name, value in row.items() if name != OF_NOW and value != ""}
        return self._numbers.setdefault(json.dumps(kept), len(self._numbers))

    def number_with_share(self, row: Row) -> list[float]:
        """The number of a row, and the length of its bar."""
        return [self.number(row), round(float(row[OF_NOW]), SIGNIFICANT)]

    def numbers(self, rows: Sequence[Row]) -> list[int | list[float]]:
        """The numbers of rows, some of which have bars."""
        return [self.number_with_share(r) if OF_NOW in r else self.number(r) for r in rows]

    @property
    def rows(self) -> list[Row]:
        """All rows, by number."""
        return [json.loads(text) for text in self._numbers]


def steps_around(steps: int, at: int, most: int) -> range:
    """At most so many steps, around one."""
    start = max(0, min(at - most // 2, steps - most))
    return range(start, min(steps, start + most))


def step_rows(
    shown: DisplayedPlan,
    steps: range,
    looks: tuple[str, str],
    book: RowBook,
    ahead: BackgroundPlans,
) -> dict[str, list[Any]]:
    """By step: the title of its table, its rows on chip, and its sentences, as numbers of rows.

    `looks` are what a link calls the memory that is looked at, and how addresses are written.
    """
    numbers: dict[str, list[Any]] = {"title": [], "live": [], "story": []}
    key, unit = looks
    memory = kind_of(shown).memory(shown, key)
    for step in steps:
        page = shown.told.get((step, memory, unit))
        if page is None:
            tables = live_rows(shown, step, unit), story_rows(shown, step)
            page = shown.told[step, memory, unit] = (live_title(shown, step, memory), *tables)
        title, live, story = page
        numbers["title"].append(title)
        numbers["live"].append(book.numbers(live))
        numbers["story"].append(book.numbers(story))
        if step % 50 == 0:
            ahead((step - steps.start) / len(steps))
    return numbers


def step_pages(
    shown: DisplayedPlan, steps: range, looks: tuple[str, str], film: Mapping[str, Any]
) -> dict[str, Any]:
    """The pages of some steps of a plan, and where the cursor can jump in it, as plain data."""
    book = RowBook()
    rows = step_rows(shown, steps, looks, book, lambda _share: None)
    return {
        "steps": shown.steps,
        "first": steps.start,
        **rows,
        "book": book.rows,
        "film": film,
        "peaks": _few(shown.peaks),
        "moves": _few(shown.moves),
    }


def _few(steps: Sequence[int]) -> Sequence[int] | None:
    return steps if len(steps) <= MOST_PLACES else None


def to_bytes(pages: Mapping[str, Any]) -> bytes:
    """Pages for the browser: JSON, compressed to a twentieth."""
    text = json.dumps(pages, separators=(",", ":"), ensure_ascii=False)
    return gzip.compress(text.encode(), 6, mtime=0)


def from_bytes(packed: bytes) -> dict[str, Any]:
    """What `to_bytes` was given, as the browser has it."""
    pages: dict[str, Any] = json.loads(gzip.decompress(packed))
    return pages
