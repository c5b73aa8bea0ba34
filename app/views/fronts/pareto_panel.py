"""All planners together: a large chart, what more memory gains, and every point as a row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from html import escape
from io import StringIO
from typing import Any

import panel as pn

import planners as sp
from app.display.file_names import file_word
from app.model.options import apart, series
from app.model.pareto import Buy, Point, best_within, buys, indexed, points_csv, unit, value
from app.model.sizes import format_exact
from app.model.units import finely
from app.session.session import Session
from app.session.sweep_lines import SWEPT, lines_of
from app.views.fronts.pareto import TITLES, Looks, Pareto, draw
from app.views.fronts.pareto_bar import HARDLY, axis_select, progress_text
from app.widgets.button_bar import alone
from app.widgets.buttons import button
from app.widgets.deferred import show_in_row
from app.widgets.following import follow
from app.widgets.legends import switch
from app.widgets.palette import Theme
from app.widgets.picture import Picture
from app.widgets.reveal import Reveal
from app.widgets.rows import BarRows
from app.widgets.style import BOX, COMPACT, TEXT, wrong_html
from planners.core.colours import ink_on
from planners.core.units import format_bytes, parse_size
from planners.core.weights import WORDS

WIDE: dict[str, Any] = {"sizing_mode": "stretch_width", "margin": 0}
LISTED = 120
LOAD = "point:"
CSS = """
progress { width: 100%; height: 7px; accent-color: #0072B2; }
.told { font-size: 13px; line-height: 1.5; }
"""


class ParetoPanel(pn.viewable.Viewer):
    """Made when it is first opened, so that other pages appear sooner."""

    def __init__(self, session: Session, theme: Theme, looks: Looks, **params: Any) -> None:
        super().__init__(**params)
        self.session, self.theme, self.looks = session, theme, looks
        self.chart: Pareto | None = None
        self.reveal = Reveal()
        self.box = pn.Column(
            css_classes=["box", "planners"],
            stylesheets=[BOX],
            visible=False,
            sizing_mode="stretch_width",
        )
        follow(session.look, "wide", lambda: self._open())
        work, look = session.work, session.look
        follow(
            work,
            ["points", "sweep", "sweeping", "shown", "shown_for", "infeasible"],
            lambda: self._show(),
        )
        follow(session.problem, "budget", lambda: self._show())
        follow(look, ["metric", "across", "more_bytes", "swept"], lambda: self._show())
        follow(work, ["sweeping", "sweep_progress", "sweep", "infeasible"], lambda: self._tell())
        self._open()

    def _open(self) -> None:
        if self.session.look.wide and self.chart is None:
            self.chart = Pareto(self.theme, self.session.sweeps.tap, self.looks, large=True)
            self._widgets()
            self.box[:] = [self.reveal, self._layout(self.chart)]
        self.box.visible = self.session.look.wide
        if self.box.visible:
            self.reveal.bring()
        self._show()
        self._tell()

    def _widgets(self) -> None:
        session = self.session
        self.chosen = pn.widgets.CheckBoxGroup(
            options=list(SWEPT),
            value=[name for name in session.look.swept if name in SWEPT],
            inline=True,
            css_classes=["swept"],
            stylesheets=[COMPACT, CHECKS],
            sizing_mode="stretch_width",
            margin=(0, 4),
        )
        self.chosen.param.watch(lambda e: session.look.param.update(swept=e.new), "value")
        self.more = pn.widgets.TextInput(
            label="how much more",
            value=format_exact(session.look.more_bytes),
            css_classes=["more-memory"],
            stylesheets=[COMPACT],
            width=92,
            margin=(0, 4),
        )
        self.more.param.watch(lambda event: self._typed(event.new), "value")
        self.wrong = pn.pane.HTML("", stylesheets=[TEXT], margin=(0, 4))
        self.ask = button("What does it buy?", "ask-more", lambda: self._start(wide=False))
        self.ask.description = "plan at the chosen budget, and with that much more"
        self.sweep = button("Sweep all budgets", "sweep-all", lambda: self._start(wide=True))
        self.sweep.param.update(color="primary")
        self.sweep.description = (
            "from each planner's least budget to where more memory gains nothing"
        )
        self.stop = button("Stop", "stop-all", session.sweeps.cancel)
        self.stop.param.update(color="danger", visible=False)
        self.state = pn.pane.HTML(
            "",
            css_classes=["planners-state"],
            stylesheets=[TEXT, CSS],
            **{**WIDE, "margin": (2, 4)},
        )
        self.answer = pn.pane.HTML(
            "", css_classes=["answer"], stylesheets=[TEXT, CSS], **{**WIDE, "margin": (2, 4)}
        )
        self.table = BarRows(css_classes=["buys"], sizing_mode="stretch_width", max_height=170)
        self.table.empty = "Choose planners, then ask: they are planned at both budgets."
        self.list = BarRows(
            css_classes=["points"], sizing_mode="stretch_width", height=150, margin=(10, 0, 0, 0)
        )
        self.list.empty = "Each point of the chart will be a row here: Enter loads its plan."
        for rows in (self.table, self.list):
            rows.on_key(lambda key: session.sweeps.tap(int(key.removeprefix(LOAD))))
        self.picture = Picture(width=0, height=0, margin=0)

    def _start(self, *, wide: bool) -> None:
        self.session.sweeps.start(self.session.look.swept, wide=wide)

    def _typed(self, text: str) -> None:
        try:
            size = parse_size(text)
            self.session.look.more_bytes = size
            self.wrong.object = ""
        except (sp.SpillwayError, ValueError) as error:
            self.wrong.object = wrong_html(error)

    def _layout(self, chart: Pareto) -> pn.Column:
        session = self.session

        def close() -> None:
            session.look.wide = False

        csv = pn.widgets.FileDownload(
            callback=lambda: StringIO(points_csv(self._points())),
            filename="points.csv",
            label="CSV",
            css_classes=["points-csv"],
            stylesheets=[COMPACT],
            width=70,
            margin=(0, 3),
        )
        title = pn.pane.HTML(
            '<div class="title"><b>What more memory buys</b>'
            "<span>each point is a plan; filled: proven; faint: beaten by another</span></div>",
            stylesheets=[TEXT],
            **{**WIDE, "margin": (4, 6)},
        )
        kinds = [
            button(k.upper(), f"points-{k}", partial(self._picture, k)) for k in ("png", "svg")
        ]
        ways = alone("planners"), button("Close  ×", "close-planners", close)
        head = pn.Row(title, csv, *kinds, *ways, css_classes=["bar"], **WIDE)
        taps = {"a tap shows it": False, "a tap pins it": True}
        pick = switch(session, "taps_pin", taps, ["taps-pin"])
        pick.margin = (14, 6, 0, 6)
        axes = pn.Row(axis_select(session, "metric"), axis_select(session, "across"), pick)
        axes.param.update(css_classes=["bar"], **WIDE)
        left = pn.Column(axes, pn.pane.Bokeh(chart.figure, **WIDE), css_classes=["left"], **WIDE)
        buttons = pn.Row(
            self.more, self.ask, self.sweep, self.stop, self.picture, align="end", **WIDE
        )
        buttons.css_classes = ["bar"]
        right = pn.Column(
            self.chosen, buttons, self.wrong, self.state, self.answer, self.table, self.list,
            css_classes=["right"], width=470, margin=(0, 4),
        )  # fmt: skip
        return pn.Column(head, pn.Row(left, right, css_classes=["sides"], **WIDE), **WIDE)

    def _picture(self, kind: str) -> None:
        name = file_word(str(self.session.charted.get("model", "network")))
        self.picture.save_figure("pareto-large", kind, f"{name}-planners")

    def _points(self) -> list[dict[str, Any]]:
        return indexed(self.session.work.points, self.session.charted)

    def _show(self) -> None:
        work, look = self.session.work, self.session.look
        if self.chart is None or not look.wide or work.shown is None:
            return
        draw(self.chart, self.session)
        points, budget = self._points(), self.session.sweeps.budget_bytes
        axis = look.metric if look.metric not in ("memory", "peak") else "latency"
        self.more.value = format_exact(look.more_bytes)
        rows = buys(
            points, budget, look.more_bytes, axis, work.sweep.get("needs", {}), self._names()
        )
        sizes = [format_bytes(b) for b in (budget, budget + look.more_bytes)]
        self.table.head = [TITLES[axis], *sizes, "gain", ""]
        self.table.rows = [self._buy_row(row, points, budget, axis) for row in rows]
        machine = work.shown.plan.machine
        self.answer.object = answer_html(
            points, budget, look.more_bytes, axis, machine, so_far=work.sweeping
        )
        self.list.head = ["point", TITLES[look.across], TITLES[look.metric]]
        self.list.rows = [self._point_row(p) for p in listed(points, look.across)]

    def _names(self) -> list[str]:
        """The planners that are ticked, by the names of their series."""
        session = self.session
        lines = lines_of(session.problem, session.request(), session.look.swept, [], False)
        return [line.name for line in lines]

    def _chip(self, name: str) -> dict[str, str]:
        colour, _, mark = self.looks.of_planner(name)
        return {"chip": colour, "mark": mark, "ink": ink_on(colour)}

    def _buy_row(
        self, row: Buy, points: Sequence[Mapping[str, Any]], budget: int, axis: str
    ) -> dict[str, Any]:
        cells = buy_cells(row, budget, self.session.look.more_bytes, unit(axis))
        row_data = {"text": row.name, "cells": cells, **self._chip(row.name)}
        note = self.session.work.sweep.get("notes", {}).get(row.name)
        if note:
            row_data["cells"] = ["no plan", "", "", ""]
            row_data["text"] = f"{row.name}: {note}"
        size = budget + self.session.look.more_bytes
        same = [p for p in points if p["series"] == row.name and p["budget_bytes"] == size]
        if same:
            row_data["key"] = f"{LOAD}{same[0]['index']}"
        return row_data

    def _point_row(self, point: Mapping[str, Any]) -> dict[str, Any]:
        look = self.session.look
        cells = [finely(value(point, axis), unit(axis)) for axis in (look.across, look.metric)]
        proof = "" if point["status"] == "optimal" else ", not proven"
        text = f"{point['series']} in {format_bytes(point['budget_bytes'])}{proof}"
        key = f"{LOAD}{point['index']}"
        return {"text": text, "cells": cells, "key": key, **self._chip(point["series"])}

    def _tell(self) -> None:
        work = self.session.work
        if self.chart is None or not self.session.look.wide:
            return
        show_in_row(self.stop, work.sweeping)
        self.ask.disabled = self.sweep.disabled = work.sweeping
        is_current = work.shown_for and self.session.charted == work.shown_for
        self.state.object = state_html(work, work.shown_for["weights"] if is_current else "")

    def __panel__(self) -> pn.Column:
        return self.box


CHECKS = """
.bk-input-group { display: flex; flex-wrap: wrap; }
label { display: inline-flex !important; align-items: center; margin: 0 10px 2px 0 !important;
  color: var(--sw-text) !important; white-space: nowrap; }
"""


def buy_cells(row: Buy, budget: int, more: int, of: str) -> list[str]:
    """Now, with more, the gain and its share; or the budget that is needed where there is no
    plan."""
    cells: list[str] = []
    for size, amount in ((budget, row.now), (budget + more, row.more)):
        lacks = row.need is not None and size < row.need
        cells.append(
            finely(amount, of) if amount is not None else
            f"needs {format_bytes(row.need)}" if lacks and row.need else "…"
        )  # fmt: skip
    if row.gain is None:
        return [*cells, "a plan" if row.more is not None and "needs" in cells[0] else "", ""]
    if abs(row.gain) <= 1e-9 * abs(row.now or 1):
        return [*cells, "=", ""]
    return [*cells, finely(-row.gain, of, sign=True), f"{-(row.share or 0):+.1%}".replace("-", "−")]


def answer_html(
    points: Sequence[Point],
    budget: int,
    more: int,
    axis: str,
    machine: sp.Machine,
    *,
    so_far: bool = False,
) -> str:
    """The answer in a sentence: what that much more memory gains, the best plans that are known for
    each budget compared, whichever planners and whichever less memory these are for.

    `so_far`: more are being planned.
    """
    what, of = TITLES[axis], unit(axis)
    size, sizes = format_bytes(more), [format_bytes(each) for each in (budget, budget + more)]
    now, then = (best_within(points, each, axis) for each in (budget, budget + more))
    if then is None:
        return ""
    so_far_text = "So far: " if so_far else ""
    best = f"<b>{escape(series(then['problem']))}</b>, {finely(value(then, axis), of)}"
    if now is None:
        answer = f"no plan was found in {sizes[0]}; in {sizes[1]} the best is {best}."
        return _told(so_far_text, answer)
    kept = f"{escape(series(now['problem']))}, {finely(value(now, axis), of)}"
    share = 1 - value(then, axis) / (value(now, axis) or 1.0)
    if share <= 1e-9:
        if so_far and not any(budget < p["budget_bytes"] <= budget + more for p in points):
            return _told("", f"what {size} more buys is being planned.")
        return _told(so_far_text, f"{size} more buys no {what}: the best stays {kept}.")
    worth = ": hardly worth it" if share < HARDLY else ""
    close = axis == "latency" and not machine.tells_apart(value(now, axis), value(then, axis))
    doubt = f" The two are too close to call: {band_text(machine)}." if close else ""
    answer = f"{size} more buys {share:.1%} of {what}{worth}. The best in {sizes[0]}: {kept};"
    return _told(so_far_text, f"{answer} in {sizes[1]}: {best}.{doubt}")


def _told(known: str, words: str) -> str:
    text = known + words if known else words[0].upper() + words[1:]
    return f'<div class="told">{text}</div>'


def band_text(machine: sp.Machine) -> str:
    """How far a machine's seconds were from those of their judge."""
    least, most = machine.seconds_band
    times = f"{least:g} to {most:g} times"
    return f"seconds of this machine's model were {times} those of {escape(machine.judge)}"


def state_html(work: Any, weights: str) -> str:
    """The sweep's progress; below which budgets there is no plan; what weights do.

    `weights`: what they are to do in the plan on screen; empty where that is of another graph.
    """
    lines = []
    sweep = work.sweep
    if work.sweeping:
        share = sweep.get("done", 0) / (sweep.get("total") or 1)
        lines.append(f'<progress value="{share:.3f}" aria-label="sweep"></progress>')
        lines.append(progress_text(work))
    needs = [
        f"{escape(name)}: nothing below {format_bytes(need)}"
        for name, need in sweep.get("needs", {}).items()
    ]
    if needs:
        lines.append(" · ".join(needs))
    if work.points and (problems := {series(p["problem"]): p["problem"] for p in work.points}):
        lines += weights_lines(problems, work.points[-1]["problem"]["weights"], weights)
    return f'<div class="faint">{"<br>".join(lines)}</div>' if lines else ""


def weights_lines(
    problems: Mapping[str, Mapping[str, Any]], weights: str, here: str
) -> Iterator[str]:
    """What weights do in the plans of a chart, and which lines are of another problem."""
    others = [escape(name) for name, problem in problems.items() if apart(problem)]
    if len(problems) < 2 and not others:
        return
    other = f"; {WORDS[here]} in the plan on screen: it is not on the chart"
    yield f"Weights are {WORDS[weights]}{other if here not in ('', weights) else ''}."
    if others:
        yield f"Dashed, another problem: {', '.join(others)}; compare them with one another only."


def listed(points: Sequence[dict[str, Any]], across: str) -> list[dict[str, Any]]:
    """Points in the order of the list: by planner, then from left to right in the chart."""
    order = list(dict.fromkeys(p["series"] for p in points))
    ordered = sorted(points, key=lambda p: (order.index(p["series"]), value(p, across)))
    return ordered[:LISTED]
