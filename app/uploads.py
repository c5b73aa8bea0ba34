"""Files that a visitor brings: plans, and graphs that become models to choose. No Panel here."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import planners as sp
from app.import_jobs import plain_name
from app.jobs import Message
from app.options import USUAL
from app.shown import Shown
from app.state import GRANULARITIES, WIDTHS
from app.upload_store import keep
from app.url import UPLOADED, problem_of

if TYPE_CHECKING:
    from app.session import Session


class Uploads:
    """What a session was given, by the name under which it is chosen.

    `texts` are graphs as JSON; `tokens` say under which name a file is kept, and `names` what its
    visitor calls it.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.texts: dict[str, str] = {}
        self.tokens: dict[str, str] = {}
        self.names: dict[str, str] = {}
        self._brought = ("", "")

    def take(self, content: bytes, name: str = "plan.json") -> None:
        """Have a file that someone brought read by a worker; only what is right is shown."""
        try:
            token = keep(name, content)
        except sp.SpillwayError as error:
            self.session.work.notice = str(error)
            return
        self._brought = (token, name)
        problem = {**self.session.request(), "model": plain_name(name) + UPLOADED, "upload": token}
        problem.pop("graph", None)
        problem["input_shape"] = ""
        self.session.bring(problem)

    def fields(self, model: str, token: str) -> dict[str, Any]:
        """What a worker needs to have a model that was uploaded; nothing for others."""
        if text := self.texts.get(model):
            return {"graph": text}
        return {"upload": token} if token and model.endswith(UPLOADED) else {}

    def take_graph(self, message: Message) -> None:
        """A graph that could be read becomes a model that can be chosen, and is chosen."""
        token, name = self._brought
        self._brought = ("", "")
        label = self._label(message["name"], message["text"], token)
        if message["text"]:
            self.texts[label] = message["text"]
        if token:
            self.tokens[label], self.names[label] = token, name
        width = message["bytes_per_element"]
        fields: dict[str, Any] = {"model": label, "input_shape": "", "break_nodes": None}
        fields["wishes"] = []
        fields |= {"bytes_per_element": width if width in WIDTHS else 1, "upload": token}
        if message["granularity"] in GRANULARITIES:
            fields["granularity"] = message["granularity"]
        self.session.problem.param.update(**fields)

    def _label(self, name: str, text: str, token: str) -> str:
        """The name of a model to choose: another one where that is taken by another file."""
        number, label = 1, name + UPLOADED
        while (label in self.tokens and self.tokens[label] != token) or (
            label in self.texts and self.texts[label] != text
        ):
            number += 1
            label = f"{name}-{number}{UPLOADED}"
        return label

    def adopt(self, shown: Shown) -> None:
        """Make the problem that of a plan that was uploaded, where the catalogue has its model."""
        found = problem_of(shown.plan)
        if "model" not in found:
            token, name = self._brought
            text = json.dumps(shown.graph.to_json())
            label = self._label(shown.graph.name, text, token)
            self.texts[label] = text
            if token:
                self.tokens[label], self.names[label] = token, name
            found = {**found, "model": label, "input_shape": "", "upload": token}
        else:
            found = {**found, "upload": ""}
        self._brought = ("", "")
        self.session.problem.param.update(**{**USUAL, **found})
