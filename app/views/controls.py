"""The sidebar: what to plan. A change is planned at once; the plan on screen stays till then."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import panel as pn

import planners as sp
from app.options import OVERLAP, STREAMING, always_counts
from app.session import Session
from app.sizes import even_ratios, even_sizes, format_exact, plain_shape
from app.state import GRANULARITIES, WIDTHS
from app.style import BUDGET, COMPACT, TEXT, TICKS
from app.views.model_field import ModelField
from app.views.planner_options import PlannerOptions
from planners.units import format_bytes, parse_size

TIMM = ("timm:nasnetalarge", "timm:pnasnet5large")  # any other timm model may be typed
TICKS_OF = ("least", "MR", "MH", "MP")
ABOUT = {
    "MR": "the largest operator: no plan exists below",
    "MH": "halfway between MR and MP",
    "MP": "the least peak of all orders: nothing needs to be spilled",
}
FUSED_ABOUT = {
    **ABOUT,
    "MR": "the largest operator with all of its parameters: fused plans need less",
    "MP": "the least peak of all orders where operators are not split",
}
POOL_ABOUT = {
    **ABOUT,
    "MR": "the largest operator with its tensors apart: overlapping them needs less",
    "MP": "the least peak of all orders where tensors lie apart",
}
STREAM_ABOUT = {
    **ABOUT,
    "MR": "the largest operator alone, without rings: streaming needs them beside activations",
    "MP": "the least peak of activations, without rings: streaming needs them beside these",
}
ENDS = {
    "least memory": "the least rings that any layer fits: no plan exists below",
    "least delay": "the least rings with the least delay: more memory is of no use",
}
NAMES_OF_SIZES = ["budgets", "shown", "reach", "fronts"]
COUNTED, ALWAYS = "count parameters", "parameters count"
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
        session.work.param.watch(lambda *_: self._show_budgets(), NAMES_OF_SIZES)
        session.work.param.watch(lambda *_: self._show_download(), ["written"])
        self._mirror()
        self._show_budgets()
        self._show_download()

    def _show_download(self) -> None:
        """A long plan is on screen before it is written down."""
        self.download.disabled = not self.session.work.written

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
            label=COUNTED,
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
            for name, text in ABOUT.items()
        }
        self.slider = pn.widgets.IntSlider(
            start=0,
            end=1,
            step=1,
            show_value=False,
            tooltips=False,
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
        self._make_ends()
        self.sizes: list[int] = [1, 2]  # what the slider's places mean, in KiB
        self.slider.param.watch(self._slid, "value_throttled")
        self.slider.param.watch(self._slides, "value")
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

    def _make_ends(self) -> None:
        """Of streamed parameters: the least memory, and the least that has the least delay."""
        self.ends = {
            name: pn.widgets.Button(
                label=name,
                on_click=lambda _e, n=name: self._set_end(n),
                css_classes=[f"budget-{name.replace(' ', '-')}"],
                stylesheets=[COMPACT, BUDGET],
                sizing_mode="stretch_width",
                margin=(2, 3),
                description=text,
                visible=False,
            )
            for name, text in ENDS.items()
        }

    def _set_end(self, name: str) -> None:
        if (found := self.session.streams.ends) is not None:
            self._set_budget(format_exact(found[list(ENDS).index(name)]))

    def _set_budget(self, text: str) -> None:
        self.wrong.object = ""
        self.session.live.release()
        self.session.streams.release()
        self.session.change(budget=text)
        self._mirror()

    def _slid(self, event: Any) -> None:
        if not self._mirroring and event.new is not None:
            self._set_budget(f"{self.sizes[event.new]} KiB")

    def _slides(self, event: Any) -> None:
        """While the slider moves: some planners say at once what they would do."""
        if self._mirroring:
            return
        size = self.sizes[event.new]
        self._mirroring = True
        try:
            self.typed.value = f"{size} KiB"
        finally:
            self._mirroring = False
        self.session.live.preview(size * 1024)
        self.session.streams.slide(size * 1024)

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
        return StringIO(shown.text)

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
            forced = always_counts(problem.planner)
            self.parameters.param.update(
                value=forced or problem.parameters,
                disabled=forced,
                label=ALWAYS if forced else COUNTED,
            )
            self.model.value = problem.model
            self.shape.value = problem.input_shape
            if not self.typed.value or self._differs(self.typed.value, problem.budget):
                self.typed.value = problem.budget
            for name, button in self.named.items():
                about = {OVERLAP: POOL_ABOUT, STREAMING: STREAM_ABOUT}.get(problem.planner)
                button.description = (about or (FUSED_ABOUT if forced else ABOUT))[name]
                button.color = "primary" if problem.budget == name else "default"
            self._show_ends()
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
        self._show_ends()
        self.slider.disabled = not budgets
        self._mirroring = True
        try:
            if budgets and not self.session.streams.dragging:
                most = self.session.streams.most_bytes
                self.sizes = slider_sizes(budgets, self.session.live.least_bytes, most)
                self.slider.param.update(start=0, end=len(self.sizes) - 1)
            least = self.session.live.least_bytes
            named = {} if self.session.streams.offered else {**budgets}
            named |= {"least": least} if least else {}
            self.ticks.object = ticks_html(named, self.sizes)
            self._place_slider()
        finally:
            self._mirroring = False

    def _show_ends(self) -> None:
        """Budgets by name say nothing of rings."""
        streams = self.session.streams
        for button in self.named.values():
            button.visible = not streams.offered
        for place, (name, button) in enumerate(self.ends.items()):
            found = streams.ends
            button.visible, button.disabled = streams.offered, found is None
            button.label = f"{name}\n{format_bytes(found[place]) if found else '…'}"

    def _place_slider(self) -> None:
        if self.session.live.dragging or self.session.streams.dragging:
            return  # the handle is in somebody's hand
        shown = self.session.work.shown
        budget = self.session.problem.budget
        named = self.session.work.budgets.get(budget)
        size = named or (parse_size(budget) if budget not in self.named else None)
        size = size or (shown.plan.budget_bytes if shown else None)
        if size:
            self.slider.value = place_of(size, self.sizes)

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
            pn.Row(*self.ends.values(), sizing_mode="stretch_width", margin=(0, 5)),
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


def slider_sizes(
    budgets: Mapping[str, Any], least: int | None, most: int | None = None
) -> list[int]:
    """What the slider offers, in KiB: from below the least plan to above what is ever of use.

    Where the planner's own `least` is known it begins there, and goes on in equal ratios; up to
    `most` where more is of no use to the planner.
    """
    if least and most:
        return even_ratios(least, max(most, least + 1024))
    high = round(max(budgets["default_peak"], budgets["MR"]) * 1.1)
    return even_ratios(least, high) if least else even_sizes(round(budgets["MR"] * 0.8), high)


def place_of(size: int, sizes: Sequence[int]) -> int:
    """The place of the slider that means a size in bytes, or the nearest below it."""
    return max(0, bisect_right(sizes, size // 1024) - 1)


def ticks_html(budgets: Mapping[str, Any], sizes: Sequence[int]) -> str:
    """Where the named budgets are on the slider; those too close for two words share a tick."""
    places: list[tuple[float, str]] = []
    named = [(budgets[name], name) for name in TICKS_OF if name in budgets]
    for size, name in sorted(named, key=lambda found: found[0]):
        share = 100 * place_of(size, sizes) / max(1, len(sizes) - 1)
        if places and share - places[-1][0] < 9:
            places[-1] = (places[-1][0], places[-1][1] + "·" + name)
        else:
            places.append((share, name))
    marks = "".join(
        f'<span class="{_edge(at)}" style="left:{at:.1f}%">{name}</span>' for at, name in places
    )
    return f'<div class="ticks">{marks}</div>'


def _edge(at: float) -> str:
    """Words at an end of the slider stay within it."""
    return "first" if at < 5 else "last" if at > 85 else ""


def wrong_html(error: Exception) -> str:
    """What is wrong with what was typed."""
    return f'<span class="wrong" role="alert">{escape(str(error))}</span>'
