"""A file arrives in pieces: no more of one is held than is allowed, and of one file at a time."""

from __future__ import annotations

import pytest

from app.model.upload_store import LARGEST
from app.widgets.files_field import FileField


def send(field: FileField, name: str, at: int, of: int, data: bytes, size: int = 0) -> None:
    said = {"turn": hash(name), "name": name, "at": at, "of": of, "size": size, "data": data}
    field._handle_msg(said)


def test_pieces_of_files_that_never_began_are_not_held() -> None:
    field = FileField()
    for number in range(50):
        send(field, f"{number}.onnx", 1, 9, b"x" * 1000)
    assert field._parts == []
    for number in range(50):
        send(field, f"{number}.onnx", 0, 9, b"x" * 1000)
    assert field._parts == [b"x" * 1000]
    assert field.whole is None
    send(field, "a.json", 0, 2, b"ab")
    send(field, "a.json", 1, 2, b"cd")
    assert field.whole == ("a.json", b"abcd")
    assert field._parts == []


def test_a_piece_counts_once_and_in_its_turn() -> None:
    field = FileField()
    for at, data in ((0, b"a"), (2, b"c"), (1, b"b"), (1, b"b"), (2, b"c")):
        send(field, "a.json", at, 3, data)
    assert field.whole == ("a.json", b"abc")


def test_what_is_too_large_or_unread_is_said_before_it_is_held() -> None:
    field = FileField()
    send(field, "a.onnx", 0, 9, b"", size=LARGEST + 1)
    assert "large" in field.whole[1]
    send(field, "a.onnx", 0, 9, b"", size=-1)
    assert "could not read a.onnx" in field.whole[1]
    assert field._parts == []


def test_files_that_still_arrive_are_held_within_what_all_visitors_may_bring(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SPILLWAY_UPLOADS", "2500")
    fields = [FileField() for _ in range(3)]
    for field in fields:
        send(field, "a.onnx", 0, 2, b"x" * 1000)
    assert "no room" in fields[2].whole[1]
    assert not fields[2]._parts
    send(fields[0], "a.onnx", 1, 2, b"x")
    assert fields[0].whole == ("a.onnx", b"x" * 1000 + b"x")
    send(fields[2], "b.onnx", 0, 1, b"x" * 1000)
    assert fields[2].whole == ("b.onnx", b"x" * 1000)
