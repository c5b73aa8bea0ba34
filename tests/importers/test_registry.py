"""One list of formats: suffix and content to reader, for the catalogue, uploads and messages."""

from __future__ import annotations

from pathlib import Path

import pytest

import planners as sp
from app.jobs.files import plain_name
from app.model.upload_store import KNOWN, MOST_BYTES, TOKEN, kind_of
from planners.importers import registry
from planners.importers.registry import FORMATS, Format, format_of

CFG = "[net]\nwidth=32\nheight=32\nchannels=3\n[convolutional]\nfilters=4\nsize=3\npad=1\n"


@pytest.mark.parametrize("each", FORMATS, ids=lambda each: each.kind)
def test_every_format_has_a_reader_and_is_known_everywhere(each: Format) -> None:
    assert format_of(f"net{each.suffix}") is each
    assert callable(each.reader())
    assert each.title in KNOWN
    assert MOST_BYTES[each.kind] == each.most_bytes
    assert TOKEN.fullmatch(f"{'0' * 64}.{each.kind}")
    assert plain_name(f"my net{each.suffix}") == "my_net"


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("net.onnx", b"text", "onnx"),
        ("net", b"\x08\xff\xfe", "onnx"),
        ("net.bin", b"PK\x03\x04", "pt2"),
        ("net.PT2", b"x", "pt2"),
        ("net.txt", CFG.encode(), "cfg"),
        ("net.CFG", b"nothing", "cfg"),
        ("net.txt", b"{}", "json"),
    ],
)
def test_content_and_suffix_say_what_a_file_is(name: str, data: bytes, kind: str) -> None:
    assert kind_of(name, data) == kind


def read_lines(path: Path, shape: object, granularity: str, width: int, fold: bool) -> sp.Graph:
    """A reader of a format that nobody had: an operator a line."""
    tensors = {"x": sp.Tensor("x", (4,), "input")}
    operators, before = [], "x"
    for name in path.read_text().split():
        tensors[f"{name}.out"] = sp.Tensor(f"{name}.out", (4,))
        operators.append(sp.Operator(name, "any", (before,), (f"{name}.out",)))
        before = f"{name}.out"
    return sp.Graph(path.stem, tensors, tuple(operators), ("x",), (before,))


def test_a_format_more_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    more = Format(".lines", "lines of operators (.lines)", f"{__name__}:read_lines", 2**20)
    monkeypatch.setattr(registry, "FORMATS", (*FORMATS, more))
    path = tmp_path / "net.lines"
    path.write_text("first\nsecond\n")
    graph = sp.load(path)
    assert [op.name for op in graph.operators] == ["first", "second"]
    assert sp.check(sp.plan(graph)).macs == 0
    assert registry.titles().endswith("or lines of operators (.lines)")
