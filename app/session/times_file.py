"""Measured times of a network's layers that a visitor brings as a file. No Panel here."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import planners as sp
from app.jobs.files import plain_name
from planners.core.exported_times import export_of
from planners.core.layer_times import COLUMNS, KERNELS, with_times
from planners.core.units import format_bytes

HEADS = tuple(",".join(columns) for columns in (COLUMNS, KERNELS))
TRACE = '"traceEvents"'
"""In a trace of a profiler, which is JSON as graphs and plans are."""
SEEN = 100_000
MOST_BYTES = 4 * 2**20
"""Of a file that a page reads, which has no other visitor wait while it does."""
NOT_YET = "Times belong to the network on screen: drop them once the chosen one is there."


def is_times(content: bytes) -> bool:
    """Whether a file is meant as times of layers, by how it begins."""
    text = content[:SEEN].decode("utf-8-sig", "replace")
    if text.lstrip()[:1] in ("{", "["):
        return TRACE in text
    return text.split("\n", 1)[0].replace(" ", "").strip() in HEADS or export_of(text) is not None


def timed(graph: sp.Graph, machine: sp.Machine, name: str, content: bytes) -> sp.Graph:
    """The graph with the times of a file. Raises `BadInput` with one line that names the file."""
    if len(content) > MOST_BYTES:
        raise sp.BadInput(
            f"times of layers have at most {format_bytes(MOST_BYTES)} here: "
            "use the file with spillway plan --times"
        )
    with TemporaryDirectory(prefix="spillway-times-") as folder:
        path = Path(folder, plain_name(name) + Path(name).suffix[:8])
        path.write_bytes(content)
        try:
            return with_times(graph, path, machine)
        except sp.BadInput as error:
            raise sp.BadInput(str(error).replace(f"{folder}/", "")) from error
