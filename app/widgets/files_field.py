"""Files: upload, and download of the plan on screen."""

from __future__ import annotations

from io import StringIO
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import panel as pn
import panel.models.file_dropper  # a page knows only models that were imported before it
import param

from app.model.settings import UPLOADS
from app.model.upload_store import LARGEST, NO_ROOM, too_large
from app.session.session import Session
from app.widgets.style import COMPACT

WHAT = "\\A ".join(
    (
        "Drop a file anywhere, or browse",
        "a plan · .pt2 · .onnx · .tflite · .cfg · JSON",
        "another tool's plan: .pte · .csv · Vela's",
        "a machine: .toml · times: .csv · a lecture: .json",
    )
)
CHUNK = 4 * 2**20  # the web socket takes messages of 20 MB
LOOK = """
.filepond--root { margin: 0; min-height: 34px; font: inherit; font-size: 12px; }
.filepond--panel-root { background: transparent; border: 1px dashed var(--sw-faint);
  border-radius: 4px; }
.filepond--drop-label { color: inherit; }
.filepond--drop-label label { font-size: 0; padding: 4px; }  /* its words are not ours */
.filepond--drop-label label::after { font-size: 12px; line-height: 1.35; white-space: pre-line; }
.filepond--credits, .filepond--file-status { display: none; }  /* "complete" is not "read" */
"""
WORDS = """
.filepond--drop-label.filepond--drop-label {{ min-height: {high}px; }}
.filepond--drop-label label::after {{ content: "{words}"; }}
"""


_arriving: WeakKeyDictionary[Dropper, int] = WeakKeyDictionary()
"""The bytes that are held of files of which more is to come, for all visitors."""


class Dropper(pn.widgets.FileDropper):
    """A field for one file, which arrives in pieces; no more of it is taken than is allowed."""

    _rename: ClassVar[dict[str, str | None]] = {"whole": None}

    whole = param.Parameter(None, doc="The name of the last file, and its bytes or why not.")

    def _process_event(self, event: Any) -> None:
        data = event.data
        if event.event_name == "delete_event":
            return
        name = str(data["name"])
        if data["chunk"] == 1:
            self._file_buffer = {name: []}
        elif name not in self._file_buffer:
            return  # The first piece of a file makes it the one that is read.
        parts = self._file_buffer[name]
        piece = data["data"]
        parts.append(piece if isinstance(piece, bytes) else str(piece).encode())
        size = _arriving[self] = sum(map(len, parts))
        if size > LARGEST:
            self._drop()
            self.whole = (name, too_large(LARGEST))
        elif sum(_arriving.values()) > UPLOADS.value:
            self._drop()
            self.whole = (name, NO_ROOM)
        elif data["chunk"] == data["total_chunks"]:
            self._drop()
            self.whole = (name, b"".join(parts))

    def _drop(self) -> None:
        self._file_buffer = {}
        _arriving.pop(self, None)


def dropper(name: str, words: str, **look: Any) -> Dropper:
    """A field for one file with `words` on it and the CSS class `name`."""
    high = 28 + 16 * words.count("\\A")  # as high as its words
    return Dropper(
        label="",
        multiple=False,
        chunk_size=CHUNK,
        max_file_size=f"{LARGEST // 10**6}MB",
        previews=[],
        layout="compact",
        css_classes=[name],
        stylesheets=[LOOK, WORDS.format(high=high, words=words)],
        **look,
    )


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
        self.upload = dropper(
            "upload",
            WHAT,
            sizing_mode="stretch_width",
            margin=(2, 8),
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
