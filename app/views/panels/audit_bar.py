"""Another tool's plan: the verdict in full, the better one beside it, and the better file."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

import panel as pn

from app.session.session import Session
from app.widgets.buttons import button
from app.widgets.deferred import seen, show_in_row
from app.widgets.following import follow
from app.widgets.style import BOX, TEXT
from planners.audits.cure.kernels import RUNTIME
from planners.core.units import format_bytes

OTHERS_KERNELS = "not those of CMSIS-NN, Xtensa or Ethos-U"
OVERLAP = f"outputs over dying inputs: assumes the {RUNTIME}, {OTHERS_KERNELS}"
RUNTIME_PLANS = (
    "TensorFlow Lite Micro plans this file's arena by itself. See its plan and how much "
    "smaller it could be, or write a better plan into the file."
)
NOT_WRITTEN = (
    "An ExecuTorch program cannot be rewritten: its addresses are in its instructions. Its "
    "exporter takes our packing instead, in three lines:"
)
EXPORTER = """from planners.backends.executorch import pack_memory
planning = MemoryPlanningPass(memory_planning_algo=MemoryPlanningAlgorithmSuite([pack_memory]))
config = ExecutorchBackendConfig(memory_planning_pass=planning)"""
FILES = {".tflite": "Write the better file (.tflite)"}
TABLE = "Write the better file (.csv)"
SMALL_WORDS = ":host, label, span { font-size: 12px; }"
CSS = """
b { font-size: 13px; }
p { margin: 2px 0; line-height: 1.4; }
pre { margin: 3px 0; font-size: 11px; }
"""


class AuditBar(pn.viewable.Viewer):
    """Seen while an allocation is on screen, or a model whose runtime plans by itself."""

    def __init__(self, session: Session, **params: Any) -> None:
        super().__init__(**params)
        self.session = session
        auditing = session.auditing
        self.text = pn.pane.HTML(
            "",
            css_classes=["verdict"],
            stylesheets=[TEXT, CSS],
            sizing_mode="stretch_width",
            margin=(2, 8),
        )
        self.judge = button("Audit the runtime's own plan", "judge", auditing.judge, visible=False)
        self.beside = button(
            "Show the better allocation beside it",
            "beside",
            auditing.beside,
            color="primary",
            visible=False,
        )
        self.overlap = pn.widgets.Checkbox(
            label=OVERLAP,
            css_classes=["over-inputs"],
            stylesheets=[SMALL_WORDS],
            margin=(4, 8),
            visible=False,
        )
        self.file = button("", "better-file", self._write)
        self.said = pn.pane.HTML(
            "", css_classes=["applied"], stylesheets=[TEXT, CSS], margin=(2, 8), visible=False
        )
        wide: dict[str, Any] = {"margin": 0, "sizing_mode": "stretch_width"}
        self.box = seen(
            pn.Column,
            self.text,
            seen(pn.Row, self.judge, self.beside, self.file, **wide),
            self.overlap,
            self.said,
            css_classes=["box", "audit"],
            stylesheets=[BOX],
            sizing_mode="stretch_width",
            visible=False,
        )
        names = ["shown", "shown_for", "audit", "auditing", "applied", "planning"]
        follow(session.work, names, lambda: self._show())
        self._show()

    def _write(self) -> None:
        self.session.auditing.write(over_inputs=bool(self.overlap.value))

    def _show(self) -> None:
        work, auditing = self.session.work, self.session.auditing
        kind, verdict = auditing.kind, auditing.verdict
        self.box.visible = bool(kind)
        if not kind:
            return
        self.text.object = verdict_html(verdict, kind) if verdict else f"<p>{RUNTIME_PLANS}</p>"
        show_in_row(self.judge, not verdict)
        show_in_row(self.beside, bool(verdict) and verdict["worse"])
        show_in_row(self.overlap, kind == ".tflite")
        self.file.label = FILES.get(kind, TABLE)
        for widget in (self.judge, self.beside, self.file):
            widget.disabled = work.auditing or work.planning
        self.said.object = f"<p>Saved: {escape(work.applied)}</p>"
        self.said.visible = bool(work.applied)

    def __panel__(self) -> pn.Column:
        return self.box


def verdict_html(verdict: Mapping[str, Any], kind: str) -> str:
    """The verdict, what binds, which tensors end too high, and what can be done with the file."""
    tool, _, rest = verdict["sentence"].partition(": ")
    lines = [f"<b>{escape(tool)}: {escape(rest)}</b>", _binds(verdict)]
    if verdict["blame"]:
        high = [
            f"{escape(name)} ({format_bytes(size)}, to {stop:,})"
            for name, size, stop in verdict["blame"]
        ]
        lines.append(
            f"These end above the least: {', '.join(high)}{_more(verdict['blamed'], high)}."
        )
    if verdict["memories"] > 1:
        lines.append(
            f"{verdict['memories']} memories in all; the one with the most bytes is shown."
        )
    text = "".join(f"<p>{line}</p>" for line in lines)
    return text + (f"<p>{NOT_WRITTEN}</p><pre>{EXPORTER}</pre>" if kind == ".pte" else "")


def _binds(verdict: Mapping[str, Any]) -> str:
    named = [escape(name) for name in verdict["binding"]]
    what = ", ".join(named) + _more(verdict["bind"], named)
    if verdict["packing"]:
        return f"What binds: these do not fit together in less: {what}."
    live = f"{verdict['floor_bytes']:,} bytes live at once in step {escape(verdict['step'])}"
    return f"What binds: {live}: {what}."


def _more(count: int, named: list[str]) -> str:
    return f" and {count - len(named)} more" if count > len(named) else ""
