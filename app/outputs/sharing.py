"""Pages and long tables of a plan: written by a worker, sent packed. No Panel here."""

from __future__ import annotations

import base64
import gzip
import json

import planners as sp
from app.display.file_names import file_stem
from app.jobs.job_context import JobContext
from app.jobs.protocol import Request
from app.model.packing import unpacked
from app.model.state import Look
from app.outputs.export import FILES, written
from app.outputs.standalone import page_html, seen_of

PAGE = "html"


def run_export(context: JobContext, request: Request) -> None:
    """Check a plan and write one of its files; `html` as it is viewed."""
    wanted = request.more

    def said(stage: str, share: float) -> None:
        context.progress(stage, share=share)
        if context.stopped:
            raise sp.Cancelled("the export was stopped")

    said("checking every byte", 0.0)
    plan = sp.Plan.from_json(json.loads(unpacked(wanted["packed"])))
    seen = seen_of(plan, **wanted["seen"], look=Look(**wanted["look"]))
    name = wanted["file"]
    if name == PAGE:
        text, ending = page_html(seen, said), ".html"
    else:
        said("writing", 0.5)
        text, ending = written(name, seen.shown), FILES[name][0]
    data = base64.b64encode(gzip.compress(text.encode(), 6)).decode()
    context.result("exported", name=file_stem(seen.shown) + ending, gzip=data)
