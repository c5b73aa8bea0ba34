"""The formats of exported times, told apart by how a file begins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from planners.core.exported_times import tflite_benchmark, torch_profiler, vela
from planners.core.exported_times.request import ExportedTimes, TimesFile


@dataclass(frozen=True, slots=True)
class Export:
    """A format: its name in messages, what recognises its beginning, and its reader."""

    name: str
    begins: Callable[[str], bool]
    read: Callable[[TimesFile], ExportedTimes]


def _is_vela(text: str) -> bool:
    return {*vela.COLUMNS} <= {cell.strip() for cell in _first_line(text).split(",")}


def _is_benchmark(text: str) -> bool:
    return _first_line(text) in (*tflite_benchmark.TITLES, *tflite_benchmark.HEADS)


def _is_json(text: str) -> bool:
    return text.lstrip()[:1] in ("{", "[")


def _first_line(text: str) -> str:
    return text[:10_000].split("\n", 1)[0].strip()


EXPORTS = (
    Export("a per-layer table of Vela", _is_vela, vela.read),
    Export("a profile of TFLite's benchmark", _is_benchmark, tflite_benchmark.read),
    Export("a trace of PyTorch's profiler", _is_json, torch_profiler.read),
)


def export_of(text: str) -> Export | None:
    """The format of a file's text; None where it is none of them."""
    return next((each for each in EXPORTS if each.begins(text)), None)
