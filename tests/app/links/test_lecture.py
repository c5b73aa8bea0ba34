"""Lectures as files of strangers: what was written is read, all else is refused in a line."""

from __future__ import annotations

import json
from typing import Any

import pytest

import planners as sp
from app.links.lecture import (
    FORMAT,
    MOST_BYTES,
    MOST_ITEMS,
    MOST_NOTE,
    Item,
    Lecture,
    is_lecture,
    query_of,
    read_lecture,
)

LINK = "?model=resnet18&budget=MR"


def text_of(**changed: Any) -> bytes:
    whole = {"format": FORMAT, "version": 1, "title": "t", "items": [{"link": LINK}]}
    return json.dumps({**whole, **changed}).encode()


def test_what_is_saved_is_opened_again() -> None:
    lecture = Lecture("Memory", (Item("One", LINK, "a note\nof two lines", 3), Item("Two", LINK)))
    content = lecture.to_text().encode()
    assert is_lecture(content)
    assert read_lecture(content) == lecture


def test_an_item_without_a_title_has_a_number_and_a_link_loses_its_place() -> None:
    content = text_of(items=[{"link": f"https://example.org/explorer{LINK}"}])
    assert read_lecture(content).items == (Item("Item 1", LINK),)


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"{" + b" " * MOST_BYTES, "larger than"),
        (b"\xff", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "not a lecture"),
        (text_of(format="else"), "not a lecture"),
        (text_of(version=2), "version 2; this explorer reads 1"),
        (text_of(items=[]), "1 to 200 items"),
        (text_of(items=[{"link": LINK}] * (MOST_ITEMS + 1)), "1 to 200 items"),
        (text_of(items={"a": 1}), "1 to 200 items"),
        (text_of(items=[7]), "item 1 of the lecture is not an object"),
        (text_of(items=[{"link": 7}]), "item 1 of the lecture: link is a text"),
        (text_of(items=[{"link": "javascript:alert(1)"}]), "write a link"),
        (text_of(items=[{"link": "http://[?a=1"}]), "write a link"),
        (text_of(items=[{"link": "?" + "a=1&" * 5000}]), "link is a text of at most"),
        (text_of(items=[{"link": LINK, "note": "n" * (MOST_NOTE + 1)}]), "note is a text"),
        (text_of(items=[{"link": LINK, "steps": True}]), "steps is a whole number"),
        (text_of(items=[{"link": LINK, "steps": 10**9}]), "steps is a whole number"),
    ],
)
def test_what_is_no_lecture_is_refused_in_one_line(content: bytes, line: str) -> None:
    with pytest.raises(sp.BadInput, match=line) as refused:
        read_lecture(content)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 300


def test_letters_that_nobody_sees_are_left_out() -> None:
    read = read_lecture(text_of(items=[{"link": LINK, "title": "a\x00\u202eb"}]))
    assert read.items[0].title == "ab"


def test_a_link_is_known_by_its_query() -> None:
    assert query_of("http://localhost:5006/main?model=x#here") == "?model=x"
    with pytest.raises(sp.BadInput):
        query_of("resnet18")
