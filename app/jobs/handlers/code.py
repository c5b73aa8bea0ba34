"""C code of overlap plans: written by a worker, sent to the browser as one zip. No Panel here."""

from __future__ import annotations

import base64
import io
import json
import tempfile
import zipfile
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import planners as sp
from app.display.displayed_plan import DisplayedPlan
from app.jobs.job_context import JobContext
from app.jobs.protocol import Request
from app.kinds.registry import kind_of
from planners.core.backends import WRITE_CODE
from planners.core.units import format_bytes

MOST_WEIGHTS_BYTES = 32 * 2**20
"""As C, zipped and in a message of the web socket these are some 64 MiB, and take half a minute."""
TOO_LARGE = (
    "the weights of {} are {}, and the C file would be several times as large: save the plan and"
    " run `spillway code plan.json --out DIR`; the page sends up to {}"
)


@cache
def has_generator() -> bool:
    """Whether the generator of C code can be imported here."""
    try:
        return find_spec(WRITE_CODE.module) is not None
    except ImportError:
        return False


def can_write_code(shown: DisplayedPlan | None) -> bool:
    """Whether there is C code for a plan."""
    return shown is not None and kind_of(shown).has_code and has_generator()


def run_code(context: JobContext, request: Request) -> None:
    """Write the C code of a plan, and send it zipped."""
    context.progress("writing C code")
    plan = sp.Plan.from_json(json.loads(request.more["plan"]))
    if plan.graph.parameter_bytes > MOST_WEIGHTS_BYTES:
        sizes = map(format_bytes, (plan.graph.parameter_bytes, MOST_WEIGHTS_BYTES))
        raise sp.BadInput(TOO_LARGE.format(plan.graph.name, *sizes))
    weights = "model" if "catalogue" in plan.graph.source else "random"
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / plan.graph.name
        sp.write_code(plan, target, weights=weights)  # type: ignore[arg-type]
        data = zipped(target)
    context.result("code", name=f"{plan.graph.name}-c.zip", zip=base64.b64encode(data).decode())


def zipped(folder: Path) -> bytes:
    """All files of a folder in one zip, under the folder's name."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(p for p in folder.rglob("*") if p.is_file()):
            archive.write(path, Path(folder.name) / path.relative_to(folder))
    return buffer.getvalue()
