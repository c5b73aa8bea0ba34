"""Files that a visitor brings: plans, and graphs that become models to choose. No Panel here."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from app.jobs import Message
from app.options import USUAL
from app.shown import Shown
from app.state import GRANULARITIES, WIDTHS
from app.url import UPLOADED, problem_of

if TYPE_CHECKING:
    from app.session import Session


class Uploads:
    """The graphs that a session was given, as text, by the name under which they are chosen."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.texts: dict[str, str] = {}

    def take(self, content: bytes) -> None:
        """Have a plan or graph that someone brought checked by a worker, and only then shown."""
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError:
            line = "The file is neither a plan nor a graph: it is not UTF-8 text."
            self.session.work.notice = line
            return
        self.session.check(text)

    def take_graph(self, message: Message) -> None:
        """A graph that could be read becomes a model that can be chosen, and is chosen."""
        label = message["name"] + UPLOADED
        self.texts[label] = message["text"]
        width = message["bytes_per_element"]
        fields: dict[str, Any] = {"model": label, "input_shape": "", "break_nodes": None}
        fields["wishes"] = []
        fields["bytes_per_element"] = width if width in WIDTHS else 1
        if message["granularity"] in GRANULARITIES:
            fields["granularity"] = message["granularity"]
        self.session.problem.param.update(**fields)

    def adopt(self, shown: Shown) -> None:
        """Make the problem that of a plan that was uploaded, where the catalogue has its model."""
        found = problem_of(shown.plan)
        if "model" not in found:
            label = shown.graph.name + UPLOADED
            self.texts[label] = json.dumps(shown.graph.to_json())
            found = {**found, "model": label, "input_shape": ""}
        self.session.problem.param.update(**{**USUAL, **found})
