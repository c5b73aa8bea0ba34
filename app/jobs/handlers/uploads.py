"""A planning process's answers to a visitor's file: a checked plan, or its graph."""

from __future__ import annotations

import planners as sp
from app.jobs.files import THE_FILE, is_graph, plain_name, read_data, read_text
from app.jobs.handlers.audits import send_judged
from app.jobs.handlers.planning import send_budgets, send_plan
from app.jobs.job_context import JobContext
from app.jobs.protocol import Request
from app.model.options import weights_in
from app.model.upload_store import PLANS, path_of

TYPE_SHAPE = "type it into the field Input shape, as 1x3x224x224 or by names as batch=1, length=16"


def run_check(context: JobContext, request: Request) -> None:
    """Read an uploaded plan or graph; a plan is taken only if its check passes."""
    context.progress("checking the uploaded file")
    check_text(context, request.more["text"], THE_FILE)


def check_text(context: JobContext, text: str, name: str) -> None:
    """The same for a text, of the file of this name."""
    data = read_data(text, name)
    if is_graph(data, name):
        send_graph(context, sp.Graph.from_json(data), text)
        return
    plan = sp.Plan.from_json(data)
    send_plan(context, plan)
    send_budgets(context, plan.graph, weights_in(plan))


def send_graph(context: JobContext, graph: sp.Graph, text: str = "") -> None:
    """Send a graph that could be read; with its text where its file is not to be read again."""
    names = ("name", "granularity", "bytes_per_element")
    context.result("graph", text=text, **{name: getattr(graph, name) for name in names})


def run_import(context: JobContext, request: Request) -> None:
    """Read an uploaded file of any kind; one that is no plan becomes a model, unless what its
    runtime plans is to be `judged`."""
    path, name = path_of(request.problem["upload"]), plain_name(request.problem["model"])
    context.progress("reading the uploaded file")
    if path.suffix in (".json", ".html"):
        file = str(request.more["file"])
        check_text(context, read_text(path, file), file)
        return
    if path.suffix[1:] in PLANS or request.more.get("judged"):
        send_judged(context, request)
        return
    try:
        send_graph(context, context.graph(request.problem))
    except sp.BadInput as error:
        if "input_shape" not in str(error):
            raise
        width = request.problem["bytes_per_element"] or "native"  # as a file that has a shape
        settings = {"granularity": request.problem["granularity"], "bytes_per_element": width}
        context.result("shapeless", name=name, text="", line=f"{error}: {TYPE_SHAPE}", **settings)
