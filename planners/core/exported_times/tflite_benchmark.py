"""`benchmark_model --enable_op_profiling=true --profiling_output_csv_file=F` of TFLite, of LiteRT.

(Newer releases have `--op_profiling_output_mode=csv --op_profiling_output_file=F`, too.) Of the
section of regular runs, in run order, each row is a node: its type, milliseconds of the first run
and on average, how often a run calls it, and the names of its outputs with its number, `[a, b]:12`.
Cells are parted by a comma and a space, and not quoted, though types and names may hold both. A
delegate runs many nodes as one: such a profile says nothing of single operators.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from planners.core.errors import BadInput
from planners.core.exported_times.request import (
    ExportedTimes,
    TimesFile,
    operators_by_part,
    quantity,
    require_all,
)

REGULAR = "Operator-wise Profiling Info for Regular Benchmark Runs:"
TITLES = ("Profiling Info for Benchmark Initialization:", REGULAR)
_CELLS = "first, avg_ms, %, cdf%, mem KB, times called, name"
HEADS = (f"node type, {_CELLS}", f"node type, start, {_CELLS}")
"""Newer and older releases."""
_NUMBER = r"[-+.\w]+"
_ROW = re.compile(
    rf"(?P<type>.+?), (?:{_NUMBER}, )?{_NUMBER}, (?P<ms>{_NUMBER}), {_NUMBER}%, {_NUMBER}%, "
    rf"{_NUMBER}, (?P<called>\d{{1,9}}), (?P<name>.+)"
)
_NODE = re.compile(r"\[(?P<outputs>.*)\]:\d+")
_OWN = re.compile(r"\w+/\d+")
"""What the runtime itself does: `AllocateTensors/0`."""


def read(file: TimesFile) -> ExportedTimes:
    """Seconds of each operator. Raises `BadInput` with the line that belongs to no operator."""
    made_by = {name: op.name for name, (op, _) in operators_by_part(file.graph).items()}
    seconds = defaultdict[str, float](float)
    for where, row in _rows(file):
        if _OWN.fullmatch(row["name"]):
            continue
        node = _NODE.fullmatch(row["name"])
        if node is None or "Delegate" in row["type"]:
            raise BadInput(
                f"{where}: {row['type']!r:.60} runs many operators as one: profile without "
                "delegates (--use_xnnpack=false)"
            )
        outputs = node["outputs"]
        names = [name for name in (outputs, *outputs.split(", ")) if name in made_by]
        if len({made_by[name] for name in names}) != 1:
            raise BadInput(f"{where}: {file.graph.name} has no operator that makes {outputs!r:.80}")
        ms = quantity(row["ms"], f"{where}: avg_ms", 1e12)
        seconds[made_by[names[0]]] += ms / 1e3 * max(1, int(row["called"]))
    require_all(file.graph, file.path, seconds)
    each = {name: [value] for name, value in seconds.items()}
    return ExportedTimes(each, f"TFLite's benchmark, {file.path.name}")


def _rows(file: TimesFile) -> Iterator[tuple[str, re.Match[str]]]:
    """The rows of regular runs, in run order, each with its place."""
    lines = enumerate(file.text.split("\n"), start=1)
    if REGULAR not in file.text and file.text.startswith(TITLES):
        raise BadInput(f"{file.path}: it has no regular runs")
    for _, line in lines:
        if line.strip() == REGULAR or REGULAR not in file.text:
            break
    head = next((line.strip() for _, line in lines if line.startswith("node type,")), "")
    if head not in HEADS:
        raise BadInput(f"{file.path}: its regular runs have no line {HEADS[0]!r}")
    for number, line in lines:
        if not line.strip():
            return
        where = f"{file.path}, line {number}"
        row = _ROW.fullmatch(line.strip())
        if row is None:
            raise BadInput(f"{where}: not {HEADS[0]!r}: {line.strip()!r:.60}")
        yield where, row
