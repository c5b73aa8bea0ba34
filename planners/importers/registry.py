"""The formats of networks that are read from files: content and suffix to reader, the only list."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from planners.core.graph import Graph

SECTION = re.compile(r"\s*(?:[#;][^\n]*\n\s*)*\[[a-z]+\]\s*[\n#;]")


@dataclass(frozen=True, slots=True)
class Format:
    """A format: its suffix, its reader as `module:function`, and how its content is known.

    The reader takes a path, an input shape, a granularity, bytes per element and whether pads are
    folded into the windows that read them. A file that has `signature` at its place is of this
    format whatever its suffix; one that begins with `hint` is where it is no text and its suffix
    says nothing. `is_text` knows a format that is text. Larger files than `most_bytes` are not
    taken from visitors.
    """

    suffix: str
    title: str
    target: str
    most_bytes: int
    signature: bytes = b""
    signature_at: int = 0
    hint: bytes = b""
    is_text: Callable[[str], bool] | None = None

    @property
    def kind(self) -> str:
        """The suffix without its dot."""
        return self.suffix[1:]

    def reader(self) -> Callable[..., Graph]:
        """Import the reader. Raises `ImportError`."""
        module, _, name = self.target.partition(":")
        reader: Callable[..., Graph] = getattr(import_module(module), name)
        return reader


FORMATS = (
    Format(".onnx", ".onnx", "planners.importers.onnx.reader:from_onnx", 2**28, hint=b"\x08"),
    Format(
        ".tflite",
        ".tflite",
        "planners.importers.tflite.reader:from_tflite",
        2**28,
        signature=b"TFL3",
        signature_at=4,
    ),
    Format(".pt2", ".pt2", "planners.importers.pt2.reader:from_pt2", 2**28, signature=b"PK"),
    Format(
        ".cfg",
        "Darknet .cfg",
        "planners.importers.darknet.reader:from_darknet",
        2**20,
        is_text=lambda text: bool(SECTION.match(text)),
    ),
)
"""A format more is a line here, and its reader."""


def format_of(path: str | Path) -> Format | None:
    """The format that a file's suffix says; None for other suffixes."""
    suffix = Path(path).suffix.lower()
    return next((each for each in FORMATS if each.suffix == suffix), None)


def signed(data: bytes) -> Format | None:
    """The format that content says for sure."""
    return next(
        (f for f in FORMATS if f.signature and data.startswith(f.signature, f.signature_at)), None
    )


def hinted(data: bytes) -> Format | None:
    """The format that bytes may be which are no text."""
    return next((f for f in FORMATS if f.hint and data.startswith(f.hint)), None)


def format_of_text(text: str) -> Format | None:
    """The format that a text is."""
    return next((f for f in FORMATS if f.is_text and f.is_text(text)), None)


def titles() -> str:
    """All formats as words: `.onnx, .tflite, .pt2 or Darknet .cfg`."""
    *first, last = (each.title for each in FORMATS)
    return f"{', '.join(first)} or {last}"
