"""Pages and long tables of a plan: written by a worker, sent packed. No Panel here."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping
from typing import Any, Protocol

import planners as sp
from app.packing import unpacked
from app.state import Look

PAGE = "html"


class Desk(Protocol):
    """What a job needs of its process."""

    @property
    def stopped(self) -> bool: ...

    def send(self, kind: str, **fields: Any) -> None: ...


def run_export(desk: Desk, request: Mapping[str, Any]) -> None:
    """Check a plan and write one of its files; `html` as it is looked at."""
    from app.export import FILES, file_stem, written
    from app.standalone import page_html, seen_of

    def said(stage: str, share: float) -> None:
        desk.send("progress", stage=stage, share=share, elapsed_s=0.0)
        if desk.stopped:
            raise sp.Cancelled("the export was stopped")

    said("checking every byte", 0.0)
    plan = sp.Plan.from_json(json.loads(unpacked(request["packed"])))
    seen = seen_of(plan, **request["seen"], look=Look(**request["look"]))
    name = request["file"]
    if name == PAGE:
        text, ending = page_html(seen, said), ".html"
    else:
        said("writing", 0.5)
        text, ending = written(name, seen.shown), FILES[name][0]
    data = base64.b64encode(gzip.compress(text.encode(), 6)).decode()
    desk.send("exported", name=file_stem(seen.shown) + ending, gzip=data)


RUN = {"export": run_export}
