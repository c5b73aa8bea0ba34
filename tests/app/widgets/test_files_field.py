"""A file arrives in pieces: no more of one is held than is allowed, and of one file at a time."""

from __future__ import annotations

from unittest.mock import Mock

import pytest

from app.widgets.files_field import dropper


def piece(name: str, number: int, of: int, data: bytes) -> Mock:
    event = Mock(event_name="upload_event")
    event.data = {"name": name, "chunk": number, "total_chunks": of, "data": data}
    return event


def test_pieces_of_files_that_never_began_are_not_held() -> None:
    field = dropper("upload", "words")
    for number in range(50):
        field._process_event(piece(f"{number}.onnx", 2, 9, b"x" * 1000))
    assert not sum(len(part) for parts in field._file_buffer.values() for part in parts)
    for number in range(50):
        field._process_event(piece(f"{number}.onnx", 1, 9, b"x" * 1000))
    assert sum(len(part) for parts in field._file_buffer.values() for part in parts) == 1000
    assert field.whole is None
    field._process_event(piece("a.json", 1, 2, b"ab"))
    field._process_event(piece("a.json", 2, 2, b"cd"))
    assert field.whole == ("a.json", b"abcd")


def test_files_that_still_arrive_are_held_within_what_all_visitors_may_bring(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SPILLWAY_UPLOADS", "2500")
    fields = [dropper("upload", "words") for _ in range(3)]
    for field in fields:
        field._process_event(piece("a.onnx", 1, 2, b"x" * 1000))
    assert "no room" in fields[2].whole[1]
    assert not fields[2]._file_buffer
    fields[0]._process_event(piece("a.onnx", 2, 2, b"x"))
    assert fields[0].whole == ("a.onnx", b"x" * 1000 + b"x")
    fields[2]._process_event(piece("b.onnx", 1, 1, b"x" * 1000))
    assert fields[2].whole == ("b.onnx", b"x" * 1000)
