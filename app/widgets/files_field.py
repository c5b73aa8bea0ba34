"""Files: upload, and download of the plan on screen."""

from __future__ import annotations

from io import StringIO
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import panel as pn
import param

from app.model.paths import script
from app.model.settings import UPLOADS
from app.model.upload_store import LARGEST, NO_ROOM, too_large
from app.session.session import Session
from app.widgets.component import Component
from app.widgets.style import COMPACT

WHAT = """Drop a file anywhere, or browse
a plan · .pt2 · .onnx · .tflite · .cfg · JSON
another tool's plan: .pte · .csv · Vela's
a machine: .toml · times: .csv
a lecture: .json"""
UNREAD = "The browser could not read {}: it was moved, changed or is a folder. Choose it again."

_arriving: WeakKeyDictionary[FileField, int] = WeakKeyDictionary()
"""The bytes that are held of files of which more is to come, for all visitors."""


class FileField(Component):
    """A field for one file, which arrives in pieces; no more of it is taken than is allowed."""

    words = param.String(default="", doc="What is written on it.")
    largest = param.Integer(default=LARGEST, doc="The most bytes that a file may have.")

    _rename: ClassVar[dict[str, str | None]] = {"whole": None}

    whole = param.Parameter(None, doc="The name of the last file, and its bytes or why not.")

    def __init__(self, **params: Any) -> None:
        super().__init__(**params)
        self._turn, self._parts = 0, list[bytes]()

    def _handle_msg(self, data: Any) -> None:
        name, turn, at = str(data["name"]), int(data["turn"]), int(data["at"])
        if at == 0:
            self._turn, self._parts = turn, []
        elif turn != self._turn or at != len(self._parts):
            return  # The first piece of a file makes it the one that is read.
        self._parts.append(data["data"])
        size = _arriving[self] = sum(map(len, self._parts))
        if int(data["size"]) < 0:
            self._end(name, UNREAD.format(name))
        elif max(size, int(data["size"])) > LARGEST:
            self._end(name, too_large(LARGEST))
        elif sum(_arriving.values()) > UPLOADS.value:
            self._end(name, NO_ROOM)
        elif len(self._parts) == int(data["of"]):
            self._end(name, b"".join(self._parts))
        else:
            self._send_msg({"turn": turn, "taken": len(self._parts)})

    def _end(self, name: str, whole: bytes | str) -> None:
        self._send_msg({"turn": self._turn, "taken": 0})
        self._turn, self._parts = 0, []
        _arriving.pop(self, None)
        self.whole = (name, whole)

    _esm = script("file_field")
    _stylesheets: ClassVar[list[str]] = [
        """
label { display: block; position: relative; box-sizing: border-box; width: 100%; padding: 6px;
  border-radius: 4px; border: 1px dashed var(--sw-faint); color: var(--sw-text);
  font: 12px/1.35 var(--sw-font); text-align: center; white-space: pre-line;
  cursor: pointer; overflow-wrap: anywhere; }
label:hover { border-color: var(--sw-text); }
label:focus-within { outline: 2px solid #56B4E9; outline-offset: -1px; }
input { position: absolute; inset: 0; width: 100%; height: 100%; margin: 0; opacity: 0;
  cursor: pointer; }
"""
    ]


class FilesField(pn.viewable.Viewer):
    """Upload a plan or a graph; save the plan on screen."""

    def __init__(self, session: Session, **params: Any) -> None:
        super().__init__(**params)
        self.session = session
        self._make()
        session.work.param.watch(lambda *_: self._show_download(), ["written"])
        self._show_download()

    def _make(self) -> None:
        self.download = pn.widgets.FileDownload(
            callback=self._plan_file,
            filename="plan.json",
            label="Save plan",
            css_classes=["download"],
            stylesheets=[COMPACT],
            sizing_mode="stretch_width",
            margin=(2, 8),
        )
        self.upload = FileField(
            words=WHAT, css_classes=["upload"], sizing_mode="stretch_width", margin=(2, 8)
        )
        self.upload.param.watch(self._uploaded, "whole")
        self.forget = pn.widgets.Button(
            label="Delete my files from the server",
            css_classes=["forget"],
            visible=False,
            on_click=lambda _event: self._forget(),
            stylesheets=[COMPACT],
            sizing_mode="stretch_width",
            margin=(2, 8),
        )

    def _show_download(self) -> None:
        """A long plan is on screen before its text is written."""
        self.download.disabled = not self.session.work.written

    def _plan_file(self) -> Any:
        shown = self.session.work.shown
        self.download.filename = f"{shown.graph.name}-{shown.plan.budget_bytes}.plan.json"
        return StringIO(shown.text)

    def _uploaded(self, event: Any) -> None:
        name, content = event.new
        if isinstance(content, str):
            self.session.work.notice = content
        else:
            self.session.uploads.take(content, name)
        self.forget.visible = bool(self.session.uploads.kept)

    def _forget(self) -> None:
        self.session.uploads.forget()
        self.forget.visible = False

    def __panel__(self) -> pn.Column:
        return pn.Column(
            self.upload, self.download, self.forget, sizing_mode="stretch_width", margin=0
        )
