"""Files that visitors bring: read as data; nothing in them is executed."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import planners as sp
from app.model.sizes import plain_shape
from app.model.upload_store import KNOWN, MOST_BYTES, PLANS, path_of
from planners.audits.verdict.audit import Audit
from planners.core.element_types import Width
from planners.core.files import is_page, plan_text_in
from planners.core.graph import FORMAT as GRAPH
from planners.core.plan import FORMAT as PLAN
from planners.core.reading_limits import parsed_json

OWN_SHAPE = "it has its own input shape: clear the field of the shape, or export it anew"
MOST_NAME = 60
THE_FILE = "the file"
"""What a file is called that has no name."""
AUDIT_S = 10.0  # for the proof of another tool's plan
FORMATS = (PLAN, GRAPH)


def uploaded_graph(problem: Mapping[str, Any]) -> sp.Graph:
    """The graph of an uploaded file, with the shape, granularity and width that are chosen.

    Without a width (None) it has the one that is usual for its types.

    Raises `SpillwayError` with a line that names the file as its visitor does.
    """
    token, width = str(problem["upload"]), problem["bytes_per_element"]
    path, name = path_of(token), plain_name(str(problem["model"]))
    shape = plain_shape(problem.get("input_shape", ""))
    kind = path.suffix[1:]
    if kind in ("json", "html"):
        if shape is not None:
            raise sp.BadInput(f"{name}: {OWN_SHAPE}")
        file = as_called(name, path)
        graph = graph_in(read_data(read_text(path, file), file), file)
        return graph if width is None else graph.with_bytes_per_element(width)
    if kind in PLANS:
        return judged(path, name)[1].graph
    with named_file(path, name) as named:
        return _imported(named, shape, str(problem["granularity"]), width)


def judged(path: Path, name: str, *, better: bool = False) -> tuple[Audit, sp.Plan]:
    """Another tool's plan, judged, and as a plan of ours: the better one where that is asked for,
    or where the file has no addresses.

    Raises `SpillwayError` with a line that names the file as its visitor does.
    """
    with named_file(path, name) as named:
        audit: Audit = sp.audit(named, changes=False, measure=False, time_limit=AUDIT_S)
        if audit.broken:
            raise sp.BadInput(f"{name}: {audit.sentence()}")
        plan = audit.as_plan(better=better or audit.peak_bytes is None)
    line = audit.better_sentence() if better else audit.sentence()
    return audit, replace(plan, notes=(line, *plan.notes))


@contextmanager
def named_file(path: Path, name: str) -> Iterator[Path]:
    """The file under its visitor's name, which messages then have, with nothing beside it."""
    with tempfile.TemporaryDirectory(prefix="spillway-") as place:
        named = Path(place) / f"{name}{path.suffix}"
        onnx = path.suffix == ".onnx"  # external data is looked for where a link leads
        named.write_bytes(path.read_bytes()) if onnx else os.symlink(path, named)
        try:
            yield named
        except sp.SpillwayError as error:
            message = str(error).replace(f"{place}/", "").replace(named.name, as_called(name, path))
            raise sp.BadInput(message) from error


def as_called(name: str, path: Path) -> str:
    """A kept file as its visitor calls it: of one that has an ending of another kind, that."""
    return name if Path(name).suffix else f"{name}{path.suffix}"


def _imported(path: Path, shape: Any, granularity: str, width: Width | None) -> sp.Graph:
    def read(shape: Any) -> sp.Graph:
        return sp.load(path, input_shape=shape, granularity=granularity, bytes_per_element=width)

    if isinstance(shape, int):  # a batch of the file's own shape
        own_shape = read(None).source["input_shape"]
        shape = [[shape, *rest] for _, *rest in own_shape]
    try:
        return read(shape)
    except ImportError as error:
        raise sp.BadInput(f"{path.name}: this server cannot read it: {error}") from error


def graph_in(data: Any, name: str) -> sp.Graph:
    """The graph in the JSON of a graph or a plan. Raises `BadInput` for anything else."""
    if is_graph(data, name):
        return sp.Graph.from_json(data)
    return sp.Plan.from_json(data).graph


def is_graph(data: Any, name: str) -> bool:
    """Whether data is a graph, else a plan. Raises `BadInput` where it says neither."""
    says = data.get("format") if isinstance(data, dict) else None
    if says not in FORMATS:
        wanted = " nor ".join(FORMATS)
        raise sp.BadInput(f"{name} is not a plan and not a graph: its format is neither {wanted}")
    return bool(says == GRAPH)


def read_text(path: Path, name: str) -> str:
    """An uploaded text; of an HTML page, the plan that it carries."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise sp.BadInput(f"{name} is not UTF-8 text") from error
    return plan_text_in(text) if is_page(text) else text


def read_data(text: str, name: str = THE_FILE) -> Any:
    """The content of an uploaded text. Raises `BadInput` where it is not JSON."""
    try:
        return parsed_json(text, name)
    except (ValueError, RecursionError) as error:
        line = f" from line {error.lineno} on" if isinstance(error, json.JSONDecodeError) else ""
        raise sp.BadInput(f"{name} is not JSON{line}: drop {KNOWN}") from error


def plain_name(label: str) -> str:
    """The name of a model or file as a safe file name."""
    stem = re.sub(r" \(uploaded\)$", "", label).rsplit("/", 1)[-1].rsplit("\\", 1)[-1]
    stem = re.sub(rf"\.(html?|{'|'.join(MOST_BYTES)})$", "", stem, flags=re.IGNORECASE)
    return re.sub(r"[^\w.-]+", "_", stem).strip("._")[:MOST_NAME] or "model"
