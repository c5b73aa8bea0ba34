"""A planning process's answers about another tool's plan: the verdict, the better plan and file."""

from __future__ import annotations

import base64
import gzip
from io import StringIO
from typing import Any

from app.jobs.files import AUDIT_S, judged, named_file, plain_name
from app.jobs.handlers.planning import send_plan
from app.jobs.job_context import JobContext
from app.jobs.protocol import Request
from app.model.upload_store import path_of
from planners.audits.cure.kernels import RUNTIME
from planners.audits.cure.tflm import planned, with_plan
from planners.audits.readers.by_format import write_table
from planners.audits.verdict.audit import Audit

MOST_NAMED = 6
"""Tensors that are named of a list."""


def send_judged(context: JobContext, request: Request) -> None:
    """Judge a file's plan; send the verdict, and the plan as one that is shown."""
    context.progress("judging the plan")
    audit, plan = _judged(request)
    uploaded = {name: request.problem[name] for name in ("upload", "model")}
    context.result("audit", **uploaded, digest=plan.graph.digest, **verdict_of(audit))
    send_plan(context, plan)


def run_better(context: JobContext, request: Request) -> None:
    """The better placement of the same tensors, as a plan that is shown."""
    context.progress("placing the tensors")
    send_plan(context, _judged(request, better=True)[1])


def run_better_file(context: JobContext, request: Request) -> None:
    """The file with the better plan: the same model, or a table with our addresses."""
    context.progress("placing the tensors")
    name, path = plain_name(request.problem["model"]), path_of(request.problem["upload"])
    if path.suffix != ".tflite":
        audit, _ = _judged(request)
        text = StringIO()
        write_table(text, audit.better().tensors)
        _send_file(context, f"{name}-better.csv", text.getvalue().encode(), audit.better_sentence())
        return
    with named_file(path, name) as named:
        over = bool(request.more["over_inputs"])
        file, plan = planned(named, overlap=over, time_limit_s=AUDIT_S)
        data = with_plan(file, plan)
    line = plan.sentence()
    if plan.overlapped:
        line += f" For the {RUNTIME} only: {', '.join(plan.overlapped)} write over their inputs."
    if plan.unknown:
        line += f" Scratch of {', '.join(plan.unknown)} is unknown: the head may be larger."
    _send_file(context, f"{name}-{'over-inputs' if over else 'planned'}.tflite", data, line)


def _judged(request: Request, *, better: bool = False) -> tuple[Audit, Any]:
    problem = request.problem
    return judged(path_of(problem["upload"]), plain_name(problem["model"]), better=better)


def _send_file(context: JobContext, name: str, data: bytes, line: str) -> None:
    packed = base64.b64encode(gzip.compress(data, 6)).decode()
    context.result("file", name=name, gzip=packed, line=line)


def verdict_of(found: Audit) -> dict[str, Any]:
    """What the page says of a plan beside its pictures, as plain data; sizes in bytes."""
    blame = [tensor for memory in found.memories for tensor in memory.blame]
    worse = found.peak_bytes is not None and found.peak_bytes > found.least_bytes
    return {
        "sentence": found.sentence(),
        "worse": worse,
        "proven": found.proven,
        "packing": any(memory.packing for memory in found.memories),
        "least_bytes": found.least_bytes,
        "floor_bytes": found.floor_bytes,
        "step": found.step(found.memories[0].worst_step),
        "binding": [found.name(id) for id in found.binding[:MOST_NAMED]],
        "bind": len(found.binding),
        "blame": [[found.name(t.id), t.size_bytes, t.stop] for t in blame[:MOST_NAMED] if worse],
        "blamed": len(blame) if worse else 0,
        "memories": len(found.memories),
    }
