"""C code of overlap plans: written by a worker, sent to the browser as one zip. No Panel here."""

from __future__ import annotations

import base64
import io
import json
import tempfile
import zipfile
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import planners as sp
from app.shown import Shown

GENERATOR = "planners.overlap.code.of_plan"


class Desk(Protocol):
    """What a job needs of its process."""

    def send(self, kind: str, **fields: Any) -> None: ...


@cache
def has_generator() -> bool:
    """Whether the generator of C code can be imported here."""
    try:
        return find_spec(GENERATOR) is not None
    except ImportError:
        return False


def can_write_code(shown: Shown | None) -> bool:
    """Whether there is C code for a plan."""
    return shown is not None and shown.pool is not None and has_generator()


def run_code(desk: Desk, request: Mapping[str, Any]) -> None:
    """Write the C code of a plan, and send it zipped."""
    desk.send("progress", stage="writing C code", elapsed_s=0.0)
    plan = sp.Plan.from_json(json.loads(request["plan"]))
    weights = "model" if "catalogue" in plan.graph.source else "random"
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / plan.graph.name
        sp.write_code(plan, target, weights=weights)  # type: ignore[arg-type]
        data = zipped(target)
    desk.send("code", name=f"{plan.graph.name}-c.zip", zip=base64.b64encode(data).decode())


def zipped(folder: Path) -> bytes:
    """All files of a folder in one zip, under the folder's name."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(p for p in folder.rglob("*") if p.is_file()):
            archive.write(path, Path(folder.name) / path.relative_to(folder))
    return buffer.getvalue()


RUN = {"code": run_code}
