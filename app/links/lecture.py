"""A lecture of one's own: views to show one after the other, as links with notes. No Panel here.

A file of it is a stranger's: bounded, read as data, refused in one line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import planners as sp
from app.links.url import LONGEST

FORMAT = "spillway-lecture"
VERSION = 1
MOST_BYTES = 2**20
MOST_ITEMS, MOST_TITLE, MOST_NOTE, MOST_STEPS = 200, 200, 4000, 1000


@dataclass(frozen=True, slots=True)
class Item:
    """What is shown: a title, the query of a link, a note, and how many steps to walk there."""

    title: str
    link: str
    note: str = ""
    steps: int = 0

    @property
    def fields(self) -> dict[str, str]:
        """The fields of the link."""
        return dict(parse_qsl(self.link.lstrip("?"), keep_blank_values=True))


@dataclass(frozen=True, slots=True)
class Lecture:
    """A title, and items in the order in which they are shown."""

    title: str = ""
    items: tuple[Item, ...] = ()

    def to_text(self) -> str:
        """As a file."""
        data = {"format": FORMAT, "version": VERSION, "title": self.title}
        return json.dumps({**data, "items": [asdict(item) for item in self.items]}, indent=1) + "\n"


def is_lecture(content: bytes) -> bool:
    """Whether a visitor's file says that it is a lecture; what else it says is not looked at."""
    return content[:400].lstrip(b"\xef\xbb\xbf \r\n\t")[:1] == b"{" and (
        f'"{FORMAT}"'.encode() in content[:400]
    )


def read_lecture(content: bytes) -> Lecture:
    """The lecture in a file. Raises `BadInput` with a line on what is wrong where."""
    if len(content) > MOST_BYTES:
        raise sp.BadInput(f"the lecture is larger than {MOST_BYTES:,} bytes")
    try:
        data = json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise sp.BadInput("the lecture is not JSON in UTF-8") from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise sp.BadInput(f"the file is not a lecture: its format is not {FORMAT}")
    if data.get("version") != VERSION:
        given = data.get("version")
        raise sp.BadInput(f"the lecture has version {given!r:.20}; this explorer reads {VERSION}")
    items = data.get("items")
    if not isinstance(items, list) or not 0 < len(items) <= MOST_ITEMS:
        raise sp.BadInput(f"a lecture has 1 to {MOST_ITEMS} items")
    title = _text(data, "title", MOST_TITLE, "the lecture")
    return Lecture(title, tuple(_items(items)))


def _items(given: list[Any]) -> Iterator[Item]:
    for number, item in enumerate(given, 1):
        where = f"item {number} of the lecture"
        if not isinstance(item, dict):
            raise sp.BadInput(f"{where} is not an object with title, link and note")
        steps = item.get("steps", 0)
        if type(steps) is not int or not 0 <= steps <= MOST_STEPS:
            raise sp.BadInput(f"{where}: steps is a whole number from 0 to {MOST_STEPS}")
        title, note = _text(item, "title", MOST_TITLE, where), _text(item, "note", MOST_NOTE, where)
        link = query_of(_text(item, "link", 2 * LONGEST, where), where)
        yield Item(title or f"Item {number}", link, note, steps)


def _text(data: dict[str, Any], name: str, most: int, where: str) -> str:
    text = data.get(name, "")
    if not isinstance(text, str) or len(text) > most:
        raise sp.BadInput(f"{where}: {name} is a text of at most {most:,} letters")
    return "".join(c for c in text if c.isprintable() or c == "\n").strip()


def query_of(link: str, where: str = "the link") -> str:
    """The query of a link to any explorer: where that runs does not matter.

    Raises `BadInput` where there is none.
    """
    try:
        query = link[1:] if link.startswith("?") else urlsplit(link).query
        if len(query) <= LONGEST and parse_qsl(query):
            return "?" + query
    except ValueError:
        pass
    raise sp.BadInput(f"{where}: write a link that Copy link gives, such as ?model=resnet18")
