"""The right side of the what-if panel: cards, what changed, the drawings; progress and errors."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

import ipywidgets as w

from app.display.compare import KINDS, comparable, differences, totals
from app.display.displayed_plan import DisplayedPlan
from app.model.units import joules_text, seconds_text
from app.outputs.notebook.pages import shown_html, styled
from app.session.session import Session
from app.views.dag.bars import infeasible_html, nearest
from app.views.panels.solver import progress_text
from planners.core.svg import rows_table
from planners.core.units import format_bytes

Act = Callable[[Callable[[], object]], None]
UNITS: dict[str, Callable[[float], str]] = {
    "B": format_bytes,
    "s": seconds_text,
    "J": joules_text,
}
AGAIN = "Plan again"
KEEP, DROP = "Compare with this one", "Compare with the last"


class ResultWidgets:
    """Widgets that follow what a session has on screen and what it works on."""

    def __init__(self, session: Session, act: Act) -> None:
        self.session, self.act = session, act
        self.now: tuple[str, DisplayedPlan] | None = None
        self.before: tuple[str, DisplayedPlan] | None = None
        self.kept: tuple[str, DisplayedPlan] | None = None
        self._fields_now: dict[str, Any] = {}
        self._fields_before: dict[str, Any] = {}
        self._make()
        work = session.work
        work.param.watch(lambda *_: self._show_plan(), "shown")
        work.param.watch(lambda *_: self._show_state(), ["planning", "progress"])
        work.param.watch(lambda *_: self._show_message(), ["infeasible", "notice"])
        self._show_state()
        self._show_message()

    def _make(self) -> None:
        self.state = w.HTML(layout={"flex": "1 1 auto"})
        self.button = w.Button(tooltip="Plan again, or stop and keep the best plan so far")
        self.button.on_click(lambda _b: self.act(self._press))
        self.back = w.Button(
            description="Back", tooltip="To the plan before this one", disabled=True
        )
        self.back.on_click(lambda _b: self.act(self._go_back))
        self.keep = w.Button(
            description=KEEP,
            disabled=True,
            layout={"width": "190px"},
            tooltip="Compare the next plans with this one, or each with the previous one",
        )
        self.keep.on_click(lambda _b: self.act(self._hold))
        self.message = w.HTML()
        self.remedy = w.Button(
            button_style="primary", layout={"width": "auto", "align_self": "flex-start"}
        )
        self.remedy.on_click(lambda _b: self.act(self._remedy))
        self.without = w.Button(
            button_style="primary",
            description="Plan without these wishes",
            layout={"width": "auto", "align_self": "flex-start"},
        )
        self.without.on_click(lambda _b: self.act(self._drop_wishes))
        self.change = w.HTML()
        self.drawings = w.Output(layout={"min_height": "690px"})

    def _press(self) -> None:
        session = self.session
        (session.cancel if session.work.planning else session.plan)()

    def _remedy(self) -> None:
        self.session.change(budget=nearest(self.session.work.infeasible)[1])

    def _drop_wishes(self) -> None:
        """Drop the wishes that are in the way."""
        problem, dropped = self.session.problem, self.session.work.infeasible["wishes"]
        self.session.change(wishes=[wish for wish in problem.wishes if wish not in dropped])

    def _go_back(self) -> None:
        """Show the plan before this one, with the problem that it answers."""
        if self.before is None:
            return
        session, (_, shown), fields = self.session, self.before, self._fields_before
        session.problem.param.update(**fields)
        session.work.shown_for = fields
        session.show(shown)

    def _hold(self) -> None:
        self.kept = None if self.kept else self.now
        self._show_change()

    def _show_plan(self) -> None:
        shown = self.session.work.shown
        if shown is None:
            return
        self._remember(shown)
        html = shown_html(shown)
        data = {"text/html": html, "text/plain": called(shown)}
        self.drawings.outputs = ({"output_type": "display_data", "data": data, "metadata": {}},)
        self._show_change()

    def _remember(self, shown: DisplayedPlan) -> None:
        fields = dict(self.session.work.shown_for)
        if self.now is not None and self.now[1] is not shown:
            self.before, self._fields_before = self.now, self._fields_now
        self.now, self._fields_now = (called(shown), shown), fields
        self.back.disabled = self.before is None
        self.keep.disabled = False

    def _show_change(self) -> None:
        """What the plan costs more or less than the one it is compared with."""
        other = self.kept or self.before
        self.keep.description = DROP if self.kept else KEEP
        if self.now is None or other is None or other[1] is self.now[1]:
            self.change.value = ""
            return
        self.change.value = styled(change_html(self.now[1], other[1], other[0]))

    def _show_state(self) -> None:
        work = self.session.work
        self.button.description = "Stop" if work.planning else AGAIN
        self.button.button_style = "danger" if work.planning else ""
        doing = f"Planning: {progress_text(work.progress)}" if work.planning else ""
        self.state.value = styled(f'<div class="sw-state" role="status">{doing}</div>')

    def _show_message(self) -> None:
        work = self.session.work
        why = work.infeasible
        short = bool(why) and why["need_bytes"] > why["have_bytes"]
        self.remedy.layout.display = "" if short else "none"
        self.without.layout.display = "" if why.get("wishes") else "none"
        if why:
            planner = self.session.problem.planner
            self.message.value = styled(infeasible_html(why, planner, work.shown))
            self.remedy.description = nearest(why)[0]
        else:
            notice = f'<div class="sw-notice" role="alert">{escape(work.notice)}</div>'
            self.message.value = styled(notice) if work.notice else ""

    @property
    def box(self) -> w.VBox:
        """All of them, one below the other."""
        row = w.HBox([self.button, self.back, self.keep, self.state])
        children = [row, self.message, self.remedy, self.without, self.change, self.drawings]
        return w.VBox(children, layout={"flex": "1 1 600px", "min_width": "0"})


def called(shown: DisplayedPlan) -> str:
    """A plan in a few words."""
    return f"{shown.plan.planner}, {format_bytes(shown.plan.budget_bytes)}"


def change_html(here: DisplayedPlan, there: DisplayedPlan, name: str) -> str:
    """What two plans add up to, side by side, and how many tensors are treated differently."""
    rows = []
    for what, mine, other, unit in totals(here, there):
        text = UNITS[unit]
        more = mine - other
        sign = "+" if more > 0 else "−"
        delta = f"{sign}{text(abs(more))}" if more else "same"
        share = f" ({more / other:+.1%})" if more and other else ""
        rows.append((what, text(mine), text(other), delta + share))
    table = rows_table(["compared", "this plan", name, "difference"], rows)
    if not comparable(here, there):
        return table
    differing = differences(here, there)
    counts = [(kind, sum(d.kind == kind for d in differing)) for kind in KINDS]
    words = ", ".join(f"{count} {kind}" for kind, count in counts if count)
    change = words.replace("the pinned plan", escape(name)) or "none differs"
    return f'{table}<p class="sw-rest">Tensors: {change}.</p>'
