"""The planning process: reads jobs as JSON lines, writes progress and plans as JSON lines.

It runs as `python -m app.worker` in a session of its own, so that the server can end it together
with every solver that it has started. It ends itself when the server goes away.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TextIO

import planners as sp
from app import code_jobs, fused_jobs, hand_jobs, share_jobs, stream_jobs, sweep_jobs
from app.bundles import checked_bundled, plan_text
from app.fused_jobs import GRAPH_KEYS
from app.import_jobs import is_graph, plain_name, read_data, read_text, uploaded_graph
from app.memory import limit_this_process
from app.options import FUSION, OVERLAP, STREAMING, counts
from app.results import results, versions
from app.shown import show
from app.sizes import plain_shape
from app.sweep_jobs import make_plan
from app.upload_store import path_of
from app.wire import to_wire

Send = Callable[..., None]
Rest = Mapping[str, Any] | None
"""Fields that a request has when it goes on after others had their turn; None: it is done."""
PROGRESS_EVERY_S = 0.1
GRAPHS_KEPT = 4
TOO_LARGE = "This needs more memory than a planning process may have: try a smaller model."
TYPE_SHAPE = "type it into the field Input shape, such as 1x3x224x224"
TO_FIND = "type a part of a name to find it; timm:NAME and uploaded files load too"
FAILED = "The plan failed its check and is not shown."
FILES = (".json", ".pt2", ".onnx", ".cfg")


class Desk:
    """One job at a time: sends its messages, knows whether it has been asked to stop."""

    def __init__(self, out: TextIO) -> None:
        self.out = out
        self.job = 0
        self.cancelled: set[int] = set()
        self._lock = threading.Lock()
        self._graphs: OrderedDict[tuple[Any, ...], sp.Graph] = OrderedDict()
        self._said: list[str] | None = None

    def send(self, kind: str, **fields: Any) -> None:
        """Write one message of the current job."""
        line = json.dumps({"job": self.job, "type": kind, **fields}, separators=(",", ":"))
        if self._said is not None and kind != "progress":
            self._said.append(line)
        with self._lock:
            self.out.write(line + "\n")
            self.out.flush()

    @contextlib.contextmanager
    def noting(self) -> Iterator[list[str]]:
        """The lines written meanwhile, but for progress."""
        self._said = []
        try:
            yield self._said
        finally:
            self._said = None

    @property
    def stopped(self) -> bool:
        """Whether the server has asked for an end of the current job."""
        return self.job in self.cancelled

    def graph(self, problem: Mapping[str, Any]) -> sp.Graph:
        """The graph of a problem; the last few are kept, because an import takes seconds."""
        key = tuple(problem.get(name) for name in GRAPH_KEYS)
        if key not in self._graphs:
            self.send("progress", stage=f"importing {problem['model']}", elapsed_s=0.0)
            self._graphs[key] = load_graph(problem)
            while len(self._graphs) > GRAPHS_KEPT:
                self._graphs.popitem(last=False)
        self._graphs.move_to_end(key)
        return self._graphs[key]

    def reporter(self, prefix: str = "") -> Callable[[sp.Progress], bool]:
        """A progress callback: forwards ten messages a second, says no once asked to stop."""
        last = [0.0, ""]

        def report(progress: sp.Progress) -> bool:
            now = time.monotonic()
            if progress.stage != last[1] or now - float(last[0]) >= PROGRESS_EVERY_S:
                last[:] = [now, progress.stage]
                self.send(
                    "progress",
                    stage=prefix + progress.stage,
                    elapsed_s=progress.elapsed_s,
                    incumbent_bytes=progress.incumbent_bytes,
                    bound_bytes=progress.bound_bytes,
                )
            return not self.stopped

        return report


def load_graph(problem: Mapping[str, Any]) -> sp.Graph:
    """The graph that was uploaded, or a catalogue model; a path is no name for a visitor to give.

    Raises `SpillwayError` with a line that says what is wrong.
    """
    name, width = problem["model"], problem["bytes_per_element"]
    if text := problem.get("graph"):
        return sp.Graph.from_json(read_data(text)).with_bytes_per_element(width)
    if problem.get("upload"):
        return uploaded_graph(problem)
    if "/" in name or Path(name).suffix in FILES:
        raise sp.BadInput(f"{name!r:.60} is no model's name; to plan a file, upload it")
    settings = {"granularity": problem["granularity"], "bytes_per_element": width}
    shape = plain_shape(problem.get("input_shape", ""))
    try:
        if isinstance(shape, int):
            shapes = sp.load(name, **settings).source["input_shape"]
            shape = [[shape, *rest] for _, *rest in shapes]
        return sp.load(name, input_shape=shape, **settings)
    except sp.UnknownName as error:
        raise sp.UnknownName(error.what, error.name, error.nearest, TO_FIND) from None


def run_plan(desk: Desk, request: Mapping[str, Any]) -> None:
    """Plan one problem, then say what budgets its graph has."""
    problem, began = request["problem"], time.monotonic()
    with desk.noting() as said:
        proven = plan_and_tell(desk, problem)
    if not desk.stopped:
        results().keep("plan", problem, said, time.monotonic() - began, proven=proven)


def plan_and_tell(desk: Desk, problem: Mapping[str, Any]) -> bool:
    """Whether the plan is proven to be the best; it is sent, or why there is none."""
    graph, proven = desk.graph(problem), False
    try:
        plan = make_plan(desk, graph, problem, problem["budget"])
        proven = plan.claims.status == "optimal"
        send_plan(desk, plan)
    except sp.BudgetTooSmall as error:
        spills = problem["options"].get("objective") != "peak"
        exact = problem["planner"] in (
            FUSION,
            OVERLAP,
            STREAMING,
        )  # MR is no bound for parts of operators
        streams = problem["planner"] == STREAMING
        told = infeasible(graph, error)
        desk.send("infeasible", spills=spills, exact=exact, streams=streams, **told)
    if not desk.stopped:
        desk.send("budgets", **budgets(desk, graph, counts(problem)))
    return proven


def send_plan(desk: Desk, plan: sp.Plan) -> None:
    """Check and time what will be read on the other side, and send it with what was found."""
    desk.send("progress", stage="checking every byte", elapsed_s=0.0)
    if "layout" in plan.details:
        send_pool_plan(desk, plan)
        return
    try:
        text = json.dumps(plan.to_json(), separators=(",", ":"))
        shown = show(text, desk.reporter())
    except sp.InvalidPlan as error:
        raise sp.BadInput(f"{FAILED} {error}") from error
    desk.send("plan", **to_wire(shown))


def send_pool_plan(desk: Desk, plan: sp.Plan) -> None:
    """The same for a program of pixels: what is drawn first, and its text when that is written."""
    try:
        shown = checked_bundled(plan, desk.reporter())
    except sp.InvalidPlan as error:
        raise sp.BadInput(f"{FAILED} {error}") from error
    desk.send("plan", **to_wire(shown))
    desk.send("progress", stage="writing the plan down", elapsed_s=0.0)
    desk.send("text", packed=plan_text(plan))


def infeasible(graph: sp.Graph, error: sp.BudgetTooSmall) -> dict[str, Any]:
    """What is needed, what there is, and what binds with its sizes."""
    return {
        "need_bytes": error.need_bytes,
        "have_bytes": error.have_bytes,
        "operator": error.operator,
        "remedy": error.remedy,
        "tensors": [[name, graph.size_bytes(name)] for name in error.tensors],
        "wishes": list(getattr(error, "wishes", ())),
        "text": str(error),
    }


def budgets(desk: Desk, graph: sp.Graph, parameters: bool) -> dict[str, Any]:
    """MR, MH and MP of a graph as plain numbers, kept by what the graph holds."""
    asked, began = {"graph": graph.digest, "parameters": parameters}, time.monotonic()
    if known := results().recall("budgets", asked):
        return dict(json.loads(known.lines[0]))
    desk.send("progress", stage="finding the minimum peak memory (MP)", elapsed_s=0.0)
    found = sp.budgets(graph, parameters=parameters)
    names = ("MR", "MH", "MP", "MP_proven", "MP_bound", "default_peak", "binding_operator")
    told = {name: getattr(found, name) for name in names}
    results().keep("budgets", asked, [json.dumps(told)], time.monotonic() - began)
    return told


def run_budgets(desk: Desk, request: Mapping[str, Any]) -> None:
    """Say what budgets a problem's graph has."""
    problem = request["problem"]
    desk.send("budgets", **budgets(desk, desk.graph(problem), counts(problem)))


def run_check(desk: Desk, request: Mapping[str, Any]) -> None:
    """Read a plan or graph that someone uploaded: a plan only if every byte of it is right."""
    desk.send("progress", stage="checking the uploaded file", elapsed_s=0.0)
    check_text(desk, request["text"])


def check_text(desk: Desk, text: str) -> None:
    """The same for the text of one."""
    data = read_data(text)
    if is_graph(data):
        send_graph(desk, sp.Graph.from_json(data), text)
        return
    plan = sp.Plan.from_json(data)
    send_plan(desk, plan)
    desk.send("budgets", **budgets(desk, plan.graph, plan.program.counts_parameters))


def send_graph(desk: Desk, graph: sp.Graph, text: str = "") -> None:
    """A graph that could be read; with its text where it is not to be read from its file again."""
    names = ("name", "granularity", "bytes_per_element")
    desk.send("graph", text=text, **{name: getattr(graph, name) for name in names})


def run_import(desk: Desk, request: Mapping[str, Any]) -> None:
    """Read a file of any kind that someone uploaded; one that is no plan becomes a model."""
    path = path_of(request["problem"]["upload"])
    desk.send("progress", stage="reading the uploaded file", elapsed_s=0.0)
    if path.suffix in (".json", ".html"):
        check_text(desk, read_text(path))
        return
    try:
        send_graph(desk, desk.graph(request["problem"]))
    except sp.BadInput as error:
        if "input_shape" not in str(error):
            raise
        known = {name: request["problem"][name] for name in ("granularity", "bytes_per_element")}
        name = plain_name(request["problem"]["model"])
        desk.send("shapeless", name=name, text="", line=f"{error}: {TYPE_SHAPE}", **known)


def run_warm(_desk: Desk, _request: Mapping[str, Any]) -> None:
    """Import what a model import needs, so that the first one a person asks for is quick."""
    import torch  # noqa: F401


RUN: dict[str, Callable[..., Rest]] = {
    "plan": run_plan,
    "budgets": run_budgets,
    "check": run_check,
    "import": run_import,
    "warm": run_warm,
    **fused_jobs.RUN,
    **code_jobs.RUN,
    **hand_jobs.RUN,
    **stream_jobs.RUN,
    **share_jobs.RUN,
    **sweep_jobs.RUN,
}


def serve(desk: Desk, requests: SimpleQueue[dict[str, Any]]) -> None:
    """Run jobs one after the other, for ever."""
    while True:
        request = requests.get()
        desk.job, rest = request["job"], None
        try:
            rest = RUN[request["kind"]](desk, request)
        except sp.SpillwayError as error:
            desk.send("error", text=str(error))
        except MemoryError:
            desk.send("error", text=TOO_LARGE)
        except Exception as error:  # a planner's bug must cost its job, not the worker
            desk.send("error", text=f"the planner failed: {type(error).__name__}: {error}")
        if rest is None:
            desk.send("done")
        else:
            desk.send("yielded", fields=rest)


def listen(desk: Desk, requests: SimpleQueue[dict[str, Any]]) -> None:
    """Take requests from the server; when it is gone, end this process and its solvers."""
    for line in sys.stdin:
        message = json.loads(line)
        if "cancel" in message:
            desk.cancelled.add(message["cancel"])
        elif "kind" in message:
            requests.put(message)
    os.killpg(os.getpgrp(), signal.SIGKILL)


def guard() -> None:
    """Leave a process behind that ends the whole group when the server is gone.

    A solver may hold this process so that `listen` has no turn, or outlive it.
    """
    if os.fork():
        return
    os.close(1)  # or the server would not see that the worker has ended
    gone = select.poll()
    gone.register(0, 0)  # nothing but the end of the server's side
    gone.poll()
    os.killpg(os.getpgrp(), signal.SIGKILL)


def main() -> None:
    """Keep the real standard output for messages: solvers print to descriptor 1 as they like."""
    guard()
    limit_this_process()
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    os.nice(5)
    desk, requests = Desk(out), SimpleQueue[dict[str, Any]]()
    threading.Thread(target=listen, args=(desk, requests), daemon=True).start()
    threading.Thread(target=versions, daemon=True).start()  # of the sources as they are now
    serve(desk, requests)


if __name__ == "__main__":
    main()
