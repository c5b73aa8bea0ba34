"""Files and links that are dropped anywhere on the page: nothing is ignored in silence."""

from __future__ import annotations

from typing import Any

import param

import planners as sp
from app.links.lecture import query_of
from app.model.paths import script
from app.session.session import Session
from app.widgets.component import Component

WORDS = """Drop it here: files are read, never executed

a model (.onnx .tflite .pt2 .cfg) · a plan or graph (.json .html)
another tool's plan (.pte .csv) · a machine (.toml)
times of its layers (.csv) · a lecture (.json)"""


class DropAnywhere(Component):
    """Hands a dropped file to the field for files; sends `wrong` lines, and links."""

    words = param.String(
        default=WORDS, doc="What is written over the page while a file is dragged."
    )

    _esm = script("within", "drop")


def drop_anywhere(session: Session) -> DropAnywhere:
    """For a session's page."""

    def hear(message: dict[str, Any]) -> None:
        match message:
            case {"wrong": text}:
                session.work.notice = str(text)[:300]
            case {"link": link}:
                try:
                    session.go_to(query_of(str(link)))
                except sp.SpillwayError as error:
                    session.work.notice = str(error)

    view = DropAnywhere(width=0, height=0, margin=0)
    view.on_msg(lambda event: hear(event.data))
    return view
