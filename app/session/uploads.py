"""Files that a visitor brings: plans, and graphs that become models to choose. No Panel here."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import planners as sp
from app.display.displayed_plan import DisplayedPlan
from app.jobs.files import plain_name
from app.links.lecture import is_lecture
from app.links.url import UPLOADED, problem_of
from app.model.events import tell
from app.model.machine_file import is_machine
from app.model.options import without_breaks
from app.model.settings import UPLOADS_EACH
from app.model.state import GRANULARITIES, WIDTHS
from app.model.upload_store import forget, keep
from app.session.models import Models
from app.session.times_file import is_times
from planners.core.units import format_bytes

Take = Callable[[bytes, str], object]
NO_TAKES: Mapping[str, Take] = {}


def what_else(name: str, content: bytes) -> str:
    """What a file is that is no model and no plan; empty where it may be one of these."""
    if is_lecture(content):
        return "lecture"
    if is_times(content):
        return "times"
    return "machine" if is_machine(name, content) else ""


class Uploads:
    """The files a session was given; `bring` has a problem's file read by a worker, or `judged`.

    `takes` have files that are no models and no plans, by what they are.
    """

    def __init__(
        self, models: Models, bring: Callable[..., object], takes: Mapping[str, Take] = NO_TAKES
    ) -> None:
        self.models, self._bring, self._takes = models, bring, takes
        self.texts, self.tokens, self.names = (
            models.brought.texts,
            models.brought.tokens,
            models.brought.names,
        )
        self._brought = ("", "")
        self._bytes = 0  # of all files so far
        self.kept: set[str] = set()

    def take(self, content: bytes, name: str = "plan.json") -> None:
        """Have a visitor's file read by a worker; only what is valid is shown."""
        self._bytes += len(content)
        self.models.work.refused = []
        if self._bytes > UPLOADS_EACH.value:
            most = format_bytes(UPLOADS_EACH.value)
            self.models.work.notice = (
                f"This page has received {most} of files, its limit: open another page."
            )
            return
        try:
            if take := self._takes.get(what_else(name, content)):
                take(content, name)
                return
            token = keep(name, content)
        except sp.SpillwayError as error:
            self.models.work.notice = str(error)
            return
        self.kept.add(token)
        self._brought = (token, name)
        self._bring(self._problem(name, token), name)

    def judge(self) -> None:
        """Have what the runtime of the chosen model, a visitor's file, plans judged and shown."""
        model, token = self.models.problem.model, self.models.problem.upload
        if token:
            name = self.names.get(model, model)
            self._brought = (token, name)
            self._bring(self._problem(name, token), name, judged=True)

    def _problem(self, name: str, token: str) -> dict[str, Any]:
        problem = {**self.models.request(), "model": plain_name(name) + UPLOADED, "upload": token}
        problem.pop("graph", None)
        return problem | {
            "input_shape": "",
            "bytes_per_element": None,
        }  # What its types usually are.

    def forget(self) -> None:
        """Remove all files that were brought to this page from the server."""
        gone, self.kept = forget(self.kept), set()
        files = "file is" if gone == 1 else "files are"
        self.models.work.notice = f"{gone} {files} no longer on this server."
        tell("files removed by their visitor", files=gone)

    def take_graph(self, graph: Mapping[str, Any]) -> None:
        """Make a graph that could be read a model, and choose it."""
        token, name = self._brought
        self._brought = ("", "")
        label = self._label(graph["name"], graph["text"], token)
        if graph["text"]:
            self.texts[label] = graph["text"]
        if token:
            self.tokens[label], self.names[label] = token, name
        width = graph["bytes_per_element"]
        fields: dict[str, Any] = {"model": label, "input_shape": "", "wishes": []}
        fields["options"] = without_breaks(self.models.problem.options)
        fields |= {"bytes_per_element": width if width in WIDTHS else 1, "upload": token}
        if graph["granularity"] in GRANULARITIES:
            fields["granularity"] = graph["granularity"]
        self.models.brought.set_aside(label, fields, self.models.problem)
        self.models.problem.param.update(**fields)

    def name_timed(self, graph: sp.Graph) -> str:
        """Make a graph whose times were brought a model; its name."""
        text = json.dumps(graph.to_json())
        label = self._label(graph.name, text, "")
        self.texts[label] = text
        problem = self.models.problem
        self.models.brought.set_aside(label, problem.values_by_name(), problem)
        return label

    def _label(self, name: str, text: str, token: str) -> str:
        """The name of an uploaded model; a different one where another file has the name."""
        number, label = 1, name + UPLOADED
        while (label in self.tokens and self.tokens[label] != token) or (
            label in self.texts and self.texts[label] != text
        ):
            number += 1
            label = f"{name}-{number}{UPLOADED}"
        return label

    def adopt(self, shown: DisplayedPlan) -> None:
        """Set the problem to that of an uploaded plan, where the catalogue has its model."""
        fields = problem_of(shown.plan)
        if "model" not in fields:
            token, name = self._brought
            text = json.dumps(shown.graph.to_json())
            label = self._label(shown.graph.name, text, token)
            self.texts[label] = text
            if token:
                self.tokens[label], self.names[label] = token, name
            fields = {**fields, "model": label, "input_shape": "", "upload": token}
            self.models.brought.set_aside(label, fields, self.models.problem)
        else:
            fields = {**fields, "upload": ""}
        self._brought = ("", "")
        self.models.problem.param.update(**{"wishes": [], **fields})
