"""A planning process's answer to: what is the peak of this plan made of?"""

from __future__ import annotations

import json
from typing import Any

import planners as sp
from app.jobs.files import judged, plain_name
from app.jobs.job_context import JobContext
from app.jobs.protocol import Request
from app.model.packing import unpacked
from app.model.upload_store import path_of

BLAME_S = 15.0
"""For the plans of all changes."""


def run_blame(context: JobContext, request: Request) -> None:
    """Take a plan's peak apart, and then say what would lower it; of an allocation, that of the
    file that it is from, or of the better placement."""
    context.progress("planning what would lower the peak")
    problem = request.problem
    of: Any
    if "packed" in request.more:
        of = sp.Plan.from_json(json.loads(unpacked(request.more["packed"])))
    else:
        audit, _ = judged(path_of(problem["upload"]), plain_name(problem["model"]))
        of = (
            sp.audit(audit.better(), changes=False, measure=False)
            if request.more["better"]
            else audit
        )
    if isinstance(of, sp.Plan):
        context.result("blame", **{**sp.blame(of, time_limit=0.0).to_json(), "planning": True})
    blamed = sp.blame(of, time_limit=BLAME_S, should_stop=lambda: context.stopped)
    context.result("blame", **blamed.to_json())
