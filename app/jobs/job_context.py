"""What a job has of its process: where to answer, cached graphs, and whether to stop."""

from __future__ import annotations

import contextlib
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import planners as sp
from app.jobs.files import read_data, uploaded_graph
from app.jobs.protocol import Answer
from app.jobs.worker_affinity import GRAPH_KEYS
from app.model.sizes import plain_shape
from planners.catalogue.loading import no_such_model

Rest = Mapping[str, Any] | None
"""What a request takes along when it goes on after others had their turn; None: it is done."""
PROGRESS_EVERY_S = 0.1
GRAPHS_KEPT = 4
TO_FIND = "type a part of a name to find it; timm:NAME and uploaded files load too"
FILES = (".json", ".pt2", ".onnx", ".tflite", ".cfg")
NO_FILES = ("timm:", "vmcu:")
"""How names of models begin that stand in no list, and are no file's."""


class JobContext:
    """One job at a time: reports results, knows whether it has been asked to stop."""

    def __init__(self, send: Callable[[bytes], object]) -> None:
        """`send` takes each answer, as `Answer.line` in UTF-8; it may be called by any thread."""
        self.send = send
        self.job = 0
        self.cancelled: set[int] = set()
        self._graphs: OrderedDict[tuple[Any, ...], sp.Graph] = OrderedDict()
        self._said: list[str] | None = None

    def result(self, name: str, /, **data: Any) -> None:
        """Report one result."""
        self.say(Answer("result", name, data))

    def progress(self, stage: str, elapsed_s: float = 0.0, **data: Any) -> None:
        """Report what is being done."""
        self.say(Answer("progress", data={"stage": stage, "elapsed_s": elapsed_s, **data}))

    def failed(self, text: str) -> None:
        """Report in one line what went wrong."""
        self.say(Answer("error", data={"text": text}))

    def say(self, answer: Answer) -> None:
        """Send one answer to the current job."""
        line = answer.line(self.job)
        if self._said is not None and answer.kind != "progress":
            self._said.append(line)
        self.send(line.encode())

    @contextlib.contextmanager
    def noting(self) -> Iterator[list[str]]:
        """Collect the lines sent meanwhile, except progress."""
        self._said = []
        try:
            yield self._said
        finally:
            self._said = None

    @property
    def stopped(self) -> bool:
        """Whether the server has asked the current job to stop."""
        return self.job in self.cancelled

    def graph(self, problem: Mapping[str, Any]) -> sp.Graph:
        """The graph of a problem; the last few are cached, because an import takes seconds."""
        key = tuple(problem.get(name) for name in GRAPH_KEYS)
        if key not in self._graphs:
            self.progress(f"importing {problem['model']}")
            self._graphs[key] = load_graph(problem)
            while len(self._graphs) > GRAPHS_KEPT:
                self._graphs.popitem(last=False)
        self._graphs.move_to_end(key)
        return self._graphs[key]

    def reporter(self, prefix: str = "") -> Callable[[sp.Progress], bool]:
        """A progress callback: forwards ten messages a second, returns False once asked to stop."""
        at_s, stage = 0.0, ""

        def report(progress: sp.Progress) -> bool:
            nonlocal at_s, stage
            now = time.monotonic()
            if progress.stage != stage or now - at_s >= PROGRESS_EVERY_S:
                at_s, stage = now, progress.stage
                self.progress(
                    prefix + progress.stage,
                    progress.elapsed_s,
                    incumbent_bytes=progress.incumbent_bytes,
                    bound_bytes=progress.bound_bytes,
                )
            return not self.stopped

        return report


def load_graph(problem: Mapping[str, Any]) -> sp.Graph:
    """The graph that was uploaded, or a catalogue model; a visitor may not name a path.

    Raises `SpillwayError` with a line that says what is wrong.
    """
    name, width = problem["model"], problem["bytes_per_element"]
    if text := problem.get("graph"):
        return sp.Graph.from_json(read_data(text)).with_bytes_per_element(width)
    if problem.get("upload"):
        return uploaded_graph(problem)
    if "/" in name or Path(name).suffix in FILES:
        raise sp.BadInput(f"no model is called {name!r:.60}; to plan a file, upload it")
    if name not in sp.models() and not name.startswith(NO_FILES):  # nor find out which files exist
        unknown = no_such_model(name)
        raise sp.UnknownName(unknown.what, name, unknown.nearest, TO_FIND)
    settings = {"granularity": problem["granularity"], "bytes_per_element": width}
    shape = plain_shape(problem.get("input_shape", ""))
    try:
        if isinstance(shape, int):
            shapes = sp.load(name, **settings).source["input_shape"]
            shape = [[shape, *rest] for _, *rest in shapes]
        return sp.load(name, input_shape=shape, **settings)
    except sp.UnknownName as error:
        raise sp.UnknownName(error.what, error.name, error.nearest, TO_FIND) from None
