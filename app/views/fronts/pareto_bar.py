"""The bar of the small Pareto chart: the sweep of the chosen planner, the large chart."""

from __future__ import annotations

from html import escape
from typing import Any

import panel as pn

from app.model.glossary import term
from app.model.options import apart
from app.model.pareto import Point, best_within, indexed, unit, value
from app.model.state import METRICS
from app.model.units import finely
from app.session.session import Session
from app.views.fronts.pareto import on_axes
from app.widgets.button_bar import ButtonBar, add_alone
from app.widgets.following import follow
from app.widgets.style import FIELD, PLAIN, TIP
from planners.core.units import format_bytes

SWEEP = "A sweep plans a dozen budgets: what does more memory buy?"
FRONT_HTML = f"{term('Pareto front')}; faint points are {term('dominated')}."
HARDLY = 0.02
"""A smaller share than this is hardly worth more memory, or another planner."""
AXIS_NAMES = {
    "memory budget": "memory",
    "peak used": "peak",
    "latency": "latency",
    "traffic": "traffic",
    "energy": "energy",
}


class ParetoBar(pn.viewable.Viewer):
    """Start and stop of the sweep, its progress, and the button for all planners."""

    def __init__(self, session: Session, **params: Any) -> None:
        super().__init__(**params)
        self.session = session
        self.bar, sweeps = ButtonBar(sizing_mode="stretch_width"), session.sweeps
        about = "sweep the budgets of the chosen planner, from its least"
        self.bar.add("sweep", "Sweep budgets", about, lambda: sweeps.start())
        about = "stop the sweep; finished plans stay"
        self.bar.add("sweep-stop", "Stop", about, sweeps.cancel, danger=True, shown=False)
        about = "all planners in this memory and in more, on a larger chart with other axes too"
        label = "⤢ What more memory buys"
        self.bar.add("all-planners", label, about, lambda: compare_planners(session))
        add_alone(self.bar, "front")
        self.offer, self._offered = ButtonBar(sizing_mode="stretch_width", margin=(2, 2)), 0
        self.offer.add("better", "", "", lambda: sweeps.load(self._offered), shown=False)
        self.state = pn.pane.HTML(
            "", css_classes=["sweep-state"], margin=(2, 4), stylesheets=[TIP, PLAIN]
        )
        names = ["points", "sweeping", "sweep_progress", "sweep", "budgets"]
        follow(session.work, names, lambda: self._show())
        follow(session.work, ["points", "shown_for", "planning"], lambda: self._offer())
        follow(session.look, "metric", lambda: self._offer())
        self._show()
        self._offer()

    def _show(self) -> None:
        work = self.session.work
        self.bar.look("sweep", shown=not work.sweeping, off=not work.budgets)
        self.bar.look("sweep-stop", shown=work.sweeping)
        text = progress_text(work) if work.sweeping else FRONT_HTML if work.points else SWEEP
        if self.state.object != text:
            self.state.object = text

    def _offer(self) -> None:
        """Offer the best plan that is known for this memory, where it is another one."""
        point = better_point(self.session)
        if point is None:
            self.offer.look("better", shown=False)
            return
        self._offered = point["index"]
        label = better_text(self.session, point)
        self.offer.look("better", label=label, about="show that plan", shown=True)

    def __panel__(self) -> pn.Column:
        wide: dict[str, Any] = {"margin": 0, "sizing_mode": "stretch_width"}
        return pn.Column(self.bar, self.offer, self.state, **wide)


def better_point(session: Session) -> dict[str, Any] | None:
    """The best known plan for the memory of that on screen, where it is worth another planner.

    None while something is being planned, or where the chart is of another problem.
    """
    work, axis = session.work, session.look.metric
    if work.shown is None or work.planning or session.stale or axis in ("memory", "peak"):
        return None
    points = [p for p in indexed(work.points, session.charted) if not apart(p["problem"])]
    if not points or points[-1]["problem"]["weights"] != work.shown_for.get("weights"):
        return None
    best = best_within(points, work.shown.plan.budget_bytes, axis)
    here = on_axes(work.shown)[axis]
    worth = best is not None and value(best, axis) < (1 - HARDLY) * here
    return dict(best) if best is not None and worth else None


def better_text(session: Session, point: Point) -> str:
    """What the plan of a point saves, and what it is."""
    axis = session.look.metric
    here = on_axes(session.work.shown)[axis]
    share, size = 1 - value(point, axis) / here, format_bytes(point["budget_bytes"])
    amount = finely(value(point, axis), unit(axis))
    return f"{share:.0%} less {axis}: {point['series']}, {amount} in {size}"


def compare_planners(session: Session) -> None:
    """Open the large chart, and plan what more memory gains with each planner."""
    session.look.wide = True
    work, budget = session.work, session.sweeps.budget_bytes
    is_swept = work.sweep.get("budget") == budget and len(work.sweep["names"]) > 1
    is_swept = is_swept and bool(indexed(work.points, session.fields()))
    if not work.sweeping and not is_swept:
        session.sweeps.start(session.look.swept, wide=False)


def progress_text(work: Any) -> str:
    """How many points there are, how many are still to come, and how long that may take."""
    sweep = work.sweep
    count = f"{sweep.get('done', 0)} of {sweep.get('total', '…')}"
    left = sweep.get("left_s")
    rest = f", about {left} s left" if left else ""
    return f"{count}{rest} · {escape(work.sweep_progress)}"


def axis_select(session: Session, name: str) -> pn.widgets.Select:
    """What an axis of the chart shows."""
    label = {"metric": "vertical axis", "across": "horizontal axis"}[name]
    select = pn.widgets.Select(
        label=label,
        options={words: axis for words, axis in AXIS_NAMES.items() if axis in METRICS},
        value=getattr(session.look, name),
        css_classes=[f"axis-{name}"],
        stylesheets=[FIELD],
        sizing_mode="stretch_width",
        margin=(0, 3),
    )
    select.param.watch(lambda event: session.look.param.update(**{name: event.new}), "value")
    follow(session.look, name, lambda: select.param.update(value=getattr(session.look, name)))
    return select
