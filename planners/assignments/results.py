"""The answers of a class in one table."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from planners.assignments.assignment import Exercise, Measure
from planners.assignments.judge import judge
from planners.assignments.ten import assignment as find
from planners.core.errors import BadInput

MEASURES: tuple[Measure, ...] = (
    "noncompulsory_bytes",
    "traffic_bytes",
    "peak_bytes",
    "extent_bytes",
    "latency_s",
)
COLUMNS = ("student", "assignment", "passed", *MEASURES, "says")
STARTS_A_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def judge_folder(task: Exercise | str | int, folder: str | Path) -> list[dict[str, Any]]:
    """Judge every `.json` of a folder: a row each, of the file's name without ending.

    Measures in bytes and seconds, None where an answer is not valid. Raises `BadInput` where there
    is no answer, `UnknownName` for a task that does not exist.
    """
    asked = task if isinstance(task, Exercise) else find(task)
    paths = sorted(path for path in Path(folder).glob("*.json") if path.is_file())
    if not paths:
        raise BadInput(f"no answers in {folder}: it holds no .json file")
    rows = []
    for path in paths:
        verdict = judge(asked, path)
        row: dict[str, Any] = {"student": path.stem, "assignment": verdict.assignment}
        row |= {"passed": verdict.passed}
        row |= {name: verdict.measured.get(name) for name in MEASURES}
        rows.append({**row, "says": verdict.says})
    return rows


def as_csv(rows: Sequence[dict[str, Any]]) -> str:
    """The rows as a table that a spreadsheet opens; no cell begins a formula."""
    text = io.StringIO()
    table = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    table.writeheader()
    table.writerows({key: _cell(value) for key, value in row.items()} for row in rows)
    return text.getvalue()


def _cell(value: Any) -> Any:
    formula = isinstance(value, str) and value.startswith(STARTS_A_FORMULA)
    return f"'{value}" if formula else value
