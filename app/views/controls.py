"""The sidebar: what to plan. A change is planned at once; the plan on screen stays till then."""

from __future__ import annotations

import json
from html import escape
from typing import Any

import panel as pn

import planners as sp
from app.session import Session
from app.sizes import format_exact, plain_shape
from app.state import GRANULARITIES, WIDTHS
from app.style import BUDGET, COMPACT, TEXT, TICKS
from app.views.model_field import ModelField
from app.views.planner_options import PlannerOptions
from planners.units import format_bytes, parse_size

TIMM = ("timm:nasnetalarge", "timm:pnasnet5large")  # any other timm model may be typed
UPLOAD_LIMIT = 12 * 2**20  # the web socket takes messages of 20 MB, and base64 adds a third


class Controls(pn.viewable.Viewer):
    """Widgets for the problem, and files."""

    def __init__(self, session: Session, **params: Any) -> None:
        super().__init__(**params)
        self.session = session
        self._mirroring = False
        self._make_problem()
        self._make_budget()
        self.options = PlannerOptions(session)
        self._make_again()
        self._make_files()
        session.problem.param.watch(lambda *_: self._mirror(), list(session.problem.param))
        session.work.param.watch(lambda *_: self._show_budgets(), ["budgets", "shown"])
        self._mirror()
        self._show_budgets()

    def _make_problem(self) -> None:
        wide = {"sizing_mode": "stretch_width", "margin": (2, 8), "stylesheets": [COMPACT]}
        self.model = ModelField(
            options=[*sp.models(), *TIMM],
            css_classes=["model"],
            sizing_mode="stretch_width",
            margin=(2, 8),
            height=46,
        )
        self.model.on_key(lambda name: self.session.change(model=name))
        self.shape = pn.widgets.TextInput(
            label="Input shape or batch",
            placeholder="the model's own",
            css_classes=["shape"],
            **wide,
        )
        self.shape.param.watch(self._shaped, "value")
        self.wrong_shape = pn.pane.HTML(
            "", css_classes=["shape-wrong"], margin=(0, 8), stylesheets=[TEXT]
        )
        self.granularity = pn.widgets.Select(
            label="Granularity", options=list(GRANULARITIES), css_classes=["granularity"], **wide
        )
        self.width = pn.widgets.Select(
            label="Bytes/element", options=list(WIDTHS), css_classes=["width"], **wide
        )
        self.parameters = pn.widgets.Checkbox(
            label="count parameters",
            css_classes=["parameters"],
            **{**wide, "margin": (20, 8, 0, 8)},
        )
        machines = {f"{m.title}": name for name, m in sp.presets().items()}
        self.machine = pn.widgets.Select(
            label="Machine", options=machines, css_classes=["machine"], **wide
        )
        for name, widget in self._widgets().items():
            widget.param.watch(self._changed(name), "value")

    def _widgets(self) -> dict[str, Any]:
        return {
            "granularity": self.granularity,
            "bytes_per_element": self.width,
            "parameters": self.parameters,
            "machine": self.machine,
        }

    def _changed(self, name: str) -> Any:
        def change(event: Any) -> None:
            if not self._mirroring and event.new not in (None, ""):
                self.session.change(**{name: event.new})

        return change

    def _shaped(self, event: Any) -> None:
        """Take a shape that can be read; say what is wrong with any other, and keep it."""
        if self._mirroring:
            return
        try:
            plain_shape(event.new)
        except sp.SpillwayError as error:
            self.wrong_shape.object = wrong_html(error)
            return
        self.wrong_shape.object = ""
        self.session.change(input_shape=event.new.strip())

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
        self.ticks = pn.pane.HTML(
            "",
            css_classes=["budget-ticks"],
            stylesheets=[TEXT, TICKS],
            sizing_mode="stretch_width",
            margin=(-4, 12, 0, 12),
            height=14,
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
            self.wrong.object = wrong_html(error)
            return
        self._set_budget(format_exact(size))

    def _make_again(self) -> None:
        self.again = pn.widgets.Button(
            label="Plan again",
            color="primary",
            on_click=lambda _e: self.session.plan(),
            css_classes=["plan"],
            stylesheets=[COMPACT],
            sizing_mode="stretch_width",
            margin=(2, 8),
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
            self.model.value = problem.model
            self.shape.value = problem.input_shape
            if not self.typed.value or self._differs(self.typed.value, problem.budget):
                self.typed.value = problem.budget
            for name, button in self.named.items():
                button.color = "primary" if problem.budget == name else "default"
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
            self.ticks.object = ticks_html(budgets, self.slider.start, self.slider.end)
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
            pn.Row(self.shape, self.width, sizing_mode="stretch_width", margin=0),
            self.wrong_shape,
            pn.Row(self.granularity, self.parameters, sizing_mode="stretch_width", margin=0),
            self.machine,
            heading("Budget"),
            pn.Row(*self.named.values(), sizing_mode="stretch_width", margin=(0, 5)),
            self.slider,
            self.ticks,
            self.typed,
            self.wrong,
            heading("Planner"),
            self.options,
            self.again,
            heading("Plan or graph file"),
            self.upload,
            self.download,
            css_classes=["controls"],
            sizing_mode="stretch_width",
            margin=0,
        )


def ticks_html(budgets: dict[str, Any], start_kib: int, end_kib: int) -> str:
    """Where the named budgets are on the slider; those too close for two words share a tick."""
    places: list[tuple[float, str]] = []
    for name in ("MR", "MH", "MP"):
        if name not in budgets:
            continue
        share = 100 * (budgets[name] / 1024 - start_kib) / ((end_kib - start_kib) or 1)
        if places and share - places[-1][0] < 9:
            places[-1] = (places[-1][0], places[-1][1] + "·" + name)
        else:
            places.append((share, name))
    marks = "".join(f'<span style="left:{at:.1f}%">{name}</span>' for at, name in places)
    return f'<div class="ticks">{marks}</div>'


def wrong_html(error: Exception) -> str:
    """What is wrong with what was typed."""
    return f'<span class="wrong" role="alert">{escape(str(error))}</span>'
