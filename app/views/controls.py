"""The sidebar: what to plan. A change is planned at once; the plan on screen stays till then."""

from __future__ import annotations

import json
from html import escape
from typing import Any

import panel as pn

import planners as sp
from app.session import Session
from app.sizes import format_exact
from app.state import GRANULARITIES, WIDTHS
from app.style import BUDGET, COMPACT, TEXT
from app.url import options
from planners.units import format_bytes, parse_size

UPLOAD_LIMIT = 12 * 2**20  # the web socket takes messages of 20 MB, and base64 adds a third


class Controls(pn.viewable.Viewer):
    """Widgets for the problem, progress of the planner, files."""

    def __init__(self, session: Session, **params: Any) -> None:
        super().__init__(**params)
        self.session = session
        self._mirroring = False
        self._make_problem()
        self._make_budget()
        self._make_progress()
        self._make_files()
        session.problem.param.watch(lambda *_: self._mirror(), list(session.problem.param))
        session.work.param.watch(lambda *_: self._show_budgets(), ["budgets", "shown"])
        session.work.param.watch(lambda *_: self._show_progress(), ["planning", "progress"])
        self._mirror()
        self._show_budgets()
        self._show_progress()

    def _make_problem(self) -> None:
        wide = {"sizing_mode": "stretch_width", "margin": (2, 8), "stylesheets": [COMPACT]}
        self.model = pn.widgets.AutocompleteInput(
            label="Model",
            options=list(sp.models()),
            placeholder="type to search, e.g. resnet",
            search_strategy="includes",
            case_sensitive=False,
            min_characters=1,
            restrict=True,
            css_classes=["model"],
            **wide,
        )
        self.granularity = pn.widgets.Select(
            label="Granularity", options=list(GRANULARITIES), css_classes=["granularity"], **wide
        )
        self.width = pn.widgets.Select(
            label="Bytes/element", options=list(WIDTHS), css_classes=["width"], **wide
        )
        self.parameters = pn.widgets.Checkbox(
            label="count parameters against the budget", css_classes=["parameters"], **wide
        )
        machines = {f"{m.title}": name for name, m in sp.presets().items()}
        self.machine = pn.widgets.Select(
            label="Machine", options=machines, css_classes=["machine"], **wide
        )
        planners = {info.title: name for name, info in sp.planners().items()}
        self.planner = pn.widgets.Select(
            label="Planner", options=planners, css_classes=["planner"], **wide
        )
        schedules = {"model's own order": "default", "minimum peak first": "mpmf"}
        self.schedule = pn.widgets.Select(
            label="Order", options=schedules, css_classes=["schedule"], **wide
        )
        choices = {"optimal (proven)": "optimal", "Belady": "belady", "greedy": "greedy"}
        self.replacement = pn.widgets.Select(
            label="Replacement", options=choices, css_classes=["replacement"], **wide
        )
        self.time_limit = pn.widgets.IntInput(
            label="Limit (s)", start=1, end=3600, css_classes=["limit"], **wide
        )
        for name, widget in self._widgets().items():
            widget.param.watch(self._changed(name), "value")

    def _widgets(self) -> dict[str, Any]:
        return {
            "model": self.model,
            "granularity": self.granularity,
            "bytes_per_element": self.width,
            "parameters": self.parameters,
            "machine": self.machine,
            "planner": self.planner,
            "schedule": self.schedule,
            "replacement": self.replacement,
            "time_limit": self.time_limit,
        }

    def _changed(self, name: str) -> Any:
        def change(event: Any) -> None:
            if not self._mirroring and event.new not in (None, ""):
                self.session.change(**{name: event.new})

        return change

    def _make_budget(self) -> None:
        self.named = {
            name: pn.widgets.Button(
                label=name,
                on_click=lambda _e, n=name: self._set_budget(n),
                css_classes=[f"budget-{name}"],
                stylesheets=[COMPACT, BUDGET],
                sizing_mode="stretch_width",
                margin=(2, 3),
                description=text,
            )
            for name, text in (
                ("MR", "the largest operator: no plan exists below"),
                ("MH", "halfway between MR and MP"),
                ("MP", "the least peak of all orders: nothing needs to be spilled"),
            )
        }
        self.slider = pn.widgets.IntSlider(
            start=1,
            end=2,
            step=1,
            show_value=False,
            css_classes=["budget-slider"],
            sizing_mode="stretch_width",
            margin=(0, 12),
        )
        self.slider.param.watch(self._slid, "value_throttled")
        self.typed = pn.widgets.TextInput(
            placeholder="e.g. 256 KiB, 1.5MB",
            css_classes=["budget-typed"],
            stylesheets=[COMPACT],
            sizing_mode="stretch_width",
            margin=(2, 8),
        )
        self.typed.param.watch(self._typed, "value")
        self.wrong = pn.pane.HTML(
            "", css_classes=["budget-wrong"], margin=(0, 8), stylesheets=[TEXT]
        )

    def _set_budget(self, text: str) -> None:
        self.wrong.object = ""
        self.session.change(budget=text)
        self._mirror()

    def _slid(self, event: Any) -> None:
        if not self._mirroring and event.new:
            self._set_budget(f"{event.new} KiB")

    def _typed(self, event: Any) -> None:
        if self._mirroring or not event.new:
            return
        text = event.new.strip()
        if text.upper() in self.named:
            self._set_budget(text.upper())
            return
        try:
            size = parse_size(text)
        except sp.SpillwayError as error:
            self.wrong.object = f'<span class="wrong" role="alert">{escape(str(error))}</span>'
            return
        self._set_budget(format_exact(size))

    def _make_progress(self) -> None:
        self.progress = pn.pane.HTML(
            "", css_classes=["progress"], margin=(2, 8), stylesheets=[TEXT]
        )
        self.again = pn.widgets.Button(
            label="Plan again",
            color="primary",
            on_click=lambda _e: self.session.plan(),
            css_classes=["plan"],
            stylesheets=[COMPACT],
            sizing_mode="stretch_width",
            margin=(2, 8),
        )
        self.stop = pn.widgets.Button(
            label="Cancel",
            color="danger",
            on_click=lambda _e: self.session.cancel(),
            css_classes=["cancel"],
            stylesheets=[COMPACT],
            sizing_mode="stretch_width",
            margin=(2, 8),
            visible=False,
        )

    def _make_files(self) -> None:
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

    def _plan_file(self) -> Any:
        from io import StringIO

        shown = self.session.work.shown
        self.download.filename = f"{shown.graph.name}-{shown.plan.budget_bytes}.plan.json"
        return StringIO(json.dumps(shown.plan.to_json()))

    def _uploaded(self, event: Any) -> None:
        if event.new and len(event.new) > UPLOAD_LIMIT:
            limit = format_bytes(UPLOAD_LIMIT)
            self.session.work.notice = f"The file is larger than {limit}; load it in a notebook."
        elif event.new:
            self.session.upload(event.new)

    def _mirror(self) -> None:
        """Show in the widgets what the problem is, without planning it again."""
        problem = self.session.problem
        self._mirroring = True
        try:
            for name, widget in self._widgets().items():
                widget.value = getattr(problem, name)
            if not self.typed.value or self._differs(self.typed.value, problem.budget):
                self.typed.value = problem.budget
            for name, button in self.named.items():
                button.color = "primary" if problem.budget == name else "default"
            takes = options(problem)
            self.schedule.visible = "schedule" in takes
            self.replacement.visible = "replacement" in takes
            self._place_slider()
        finally:
            self._mirroring = False

    def _differs(self, typed: str, budget: str) -> bool:
        return typed.strip().upper() != budget.upper()

    def _show_budgets(self) -> None:
        budgets = self.session.work.budgets
        for name, button in self.named.items():
            size = f"\n{format_bytes(budgets[name])}" if budgets else "\n…"
            unproven = name == "MP" and budgets and not budgets["MP_proven"]
            button.label = name + (" ≤" if unproven else "") + size
        self.slider.disabled = not budgets
        self._mirroring = True
        try:
            if budgets:
                low, high = budgets["MR"] * 0.8, max(budgets["default_peak"], budgets["MR"]) * 1.1
                self.slider.param.update(start=max(1, int(low / 1024)), end=int(high / 1024) + 1)
            self._place_slider()
        finally:
            self._mirroring = False

    def _place_slider(self) -> None:
        shown = self.session.work.shown
        budget = self.session.problem.budget
        named = self.session.work.budgets.get(budget)
        size = named or (parse_size(budget) if budget not in self.named else None)
        size = size or (shown.plan.budget_bytes if shown else None)
        if size:
            kib = min(max(size // 1024, self.slider.start), self.slider.end)
            self.slider.value = kib

    def _show_progress(self) -> None:
        work = self.session.work
        self.stop.visible = work.planning
        self.again.visible = not work.planning
        self.progress.object = progress_html(work.progress) if work.planning else ""

    def __panel__(self) -> pn.Column:
        def heading(text: str) -> pn.pane.HTML:
            return pn.pane.HTML(
                f"<h4>{text}</h4>",
                stylesheets=[TEXT],
                margin=(8, 8, 2, 8),
                sizing_mode="stretch_width",
            )

        return pn.Column(
            self.model,
            pn.Row(self.granularity, self.width, sizing_mode="stretch_width", margin=0),
            self.parameters,
            self.machine,
            heading("Budget"),
            pn.Row(*self.named.values(), sizing_mode="stretch_width", margin=(0, 5)),
            self.slider,
            self.typed,
            self.wrong,
            heading("Planner"),
            self.planner,
            pn.Row(self.schedule, self.replacement, sizing_mode="stretch_width", margin=0),
            pn.Row(self.time_limit, self.again, self.stop, sizing_mode="stretch_width", margin=0),
            self.progress,
            heading("Plan file"),
            pn.Row(self.download, sizing_mode="stretch_width", margin=0),
            self.upload,
            css_classes=["controls"],
            sizing_mode="stretch_width",
            margin=0,
        )


def progress_html(progress: dict[str, Any]) -> str:
    """Stage, seconds, best so far, bound and the gap between them."""
    stage = escape(str(progress.get("stage", "")))
    seconds = progress.get("elapsed_s") or 0.0
    best, bound = progress.get("incumbent_bytes"), progress.get("bound_bytes")
    parts = [f"<b>{stage}</b> · {seconds:.1f} s"]
    if best is not None:
        parts.append(f"best {format_bytes(best)}")
    if bound is not None:
        parts.append(f"bound {format_bytes(bound)}")
    if best and bound is not None:
        parts.append(f"gap {(best - bound) / best:.1%}")
    return f'<div class="working"><span class="spin"></span>{" · ".join(parts)}</div>'
