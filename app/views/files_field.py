"""Files: what is brought, and the plan on screen to take away."""

from __future__ import annotations

from io import StringIO
from typing import Any

import panel as pn

from app.session import Session
from app.style import COMPACT
from planners.units import format_bytes

UPLOAD_LIMIT = 12 * 2**20  # the web socket takes messages of 20 MB, and base64 adds a third


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
        self.upload = pn.widgets.FileInput(
            accept=".json",
            css_classes=["upload"],
            stylesheets=[COMPACT],
            sizing_mode="stretch_width",
            margin=(2, 8),
        )
        self.upload.param.watch(self._uploaded, "value")

    def _show_download(self) -> None:
        """A long plan is on screen before it is written down."""
        self.download.disabled = not self.session.work.written

    def _plan_file(self) -> Any:
        shown = self.session.work.shown
        self.download.filename = f"{shown.graph.name}-{shown.plan.budget_bytes}.plan.json"
        return StringIO(shown.text)

    def _uploaded(self, event: Any) -> None:
        if event.new and len(event.new) > UPLOAD_LIMIT:
            limit = format_bytes(UPLOAD_LIMIT)
            self.session.work.notice = f"The file is larger than {limit}; load it in a notebook."
        elif event.new:
            self.session.uploads.take(event.new)

    def __panel__(self) -> pn.Column:
        return pn.Column(self.upload, self.download, sizing_mode="stretch_width", margin=0)
