"""The planner and its options; what the others rule out is disabled, with a word why."""

from __future__ import annotations

from html import escape
from typing import Any

import panel as pn

import planners as sp
from app.glossary import term
from app.options import DNC, STREAMING, STREAMING_OPTIONS, USUAL, solver_names, takes, why_not
from app.session import Session
from app.state import COSMA, GOALS
from app.style import COMPACT, TEXT
from app.views.chips import CLEAR, PICK, TAKE, Chips
from app.views.following import follow
from app.views.fusion_options import FusionOptions
from app.views.later import seen
from app.views.overlap_options import OverlapOptions
from app.views.stream_options import StreamOptions
from app.views.whole_number import WholeNumber

LABELS = {
    "schedule": {
        "default": "as the model has it",
        "mpmf": "least peak memory first (MPMF)",
        "joint": "best order (joint)",
        DNC: "divide and conquer (DnC)",
    },
    "objective": {
        "traffic": "least traffic",
        "peak": "least peak memory",
        "traffic_then_latency": "least traffic, then latency",
    },
    "replacement": {
        "optimal": "optimal",
        "belady": "Belady",
        "greedy": "greedy",
        "size_ordered": "by size (offline)",
        "hill_climb": "hill climbing (offline)",
    },
    "method": {"search": "our search", "ilp": "the paper's ILP"},
}
MORE = ("method", "replacement", "solver", "paper_strict")
MORE_FUSED = ("bands", "channel_tile", "double_buffer", "free_local_layers")
WIDE: dict[str, Any] = {
    "sizing_mode": "stretch_width",
    "margin": (2, 8),
    "stylesheets": [COMPACT],
}


class PlannerOptions(pn.viewable.Viewer):
    """Widgets that follow the problem and change it."""

    def __init__(self, session: Session, **params: Any) -> None:
        super().__init__(**params)
        self.session = session
        self._mirroring = False
        self.widgets: dict[str, Any] = {
            "planner": pn.widgets.Select(
                label="",
                options={info.title: name for name, info in sp.planners().items()},
                css_classes=["planner"],
                **WIDE,
            ),
            "objective": choice("objective", "Objective"),
            "goal": pn.widgets.Select(
                label="Best for", options=list(GOALS), css_classes=["goal"], **WIDE
            ),
            "schedule": choice("schedule", "Order"),
            "method": choice("method", "Method"),
            "replacement": choice("replacement", "Replacement"),
            "solver": pn.widgets.Select(
                label="Solver of the ILP",
                options=list(solver_names()),
                css_classes=["solver-name"],
                **WIDE,
            ),
            "paper_strict": pn.widgets.Checkbox(
                label="paper to the letter",
                css_classes=["paper-strict"],
                **{**WIDE, "margin": (20, 8, 0, 8)},
            ),
        }
        for name, widget in self.widgets.items():
            widget.param.watch(self._changed(name), "value")
        look = {"width": 70, "margin": (2, 8, 2, 0), "stylesheets": [COMPACT]}
        self.limit = WholeNumber(session, "time_limit", "Limit (s)", "limit", **look)
        self.fused, self.pool = FusionOptions(session), OverlapOptions(session)
        self.streamed = StreamOptions(session)
        self._make_breaks()
        self._make_more()
        follow(session.problem, list(session.problem.param), lambda: self._mirror())
        follow(session.work, ["shown", "shown_for"], lambda: self._show_breaks())
        self._mirror()
        self._open(bool(self._unusual()))

    def _changed(self, name: str) -> Any:
        def change(event: Any) -> None:
            if not self._mirroring and event.new not in (None, ""):
                self.session.change(**{name: event.new})

        return change

    def _make_breaks(self) -> None:
        self.by_hand = pn.widgets.RadioButtonGroup(
            options={"automatic": False, "by hand": True},
            css_classes=["switch", "by-hand"],
            variant="outline",
            stylesheets=[COMPACT],
            margin=(0, 4),
        )
        self.by_hand.param.watch(self._switched, "value")
        self.chips = Chips(css_classes=["breaks"], sizing_mode="stretch_width", margin=(3, 8, 0, 8))
        self.chips.on_key(lambda key: self._tapped(key))
        self.about_breaks = pn.pane.HTML(
            "", css_classes=["about-breaks"], margin=(0, 8), stylesheets=[TEXT]
        )
        title = pn.pane.HTML(
            f"<label>{term('Break nodes', 'break node')} ✂</label>",
            margin=(4, 8),
            stylesheets=[TEXT],
        )
        head = pn.Row(title, self.by_hand, sizing_mode="stretch_width", margin=(3, 0))
        self.breaks = seen(
            pn.Column, head, self.chips, self.about_breaks, sizing_mode="stretch_width", margin=0
        )

    def _make_more(self) -> None:
        self.more = pn.widgets.Button(
            css_classes=["more-options"],
            stylesheets=[COMPACT, LINK],
            on_click=lambda _e: self._open(not self.rest.visible),
            sizing_mode="stretch_width",
            margin=(2, 8),
        )
        self.why = pn.pane.HTML("", css_classes=["why-not"], margin=(0, 8), stylesheets=[TEXT])
        w = self.widgets
        row = {"sizing_mode": "stretch_width", "margin": 0}
        self.rest = seen(
            pn.Column,
            seen(pn.Row, w["method"], w["replacement"], **row),
            self.why,
            seen(pn.Row, w["solver"], w["paper_strict"], **row),
            self.fused.rest,
            self.streamed.rest,
            visible=False,
            **row,
        )

    def _open(self, opened: bool) -> None:
        self.rest.visible = opened
        self._name_more()

    def _name_more(self) -> None:
        """The head of the folded part tells what in it is not the usual."""
        unusual = self._unusual()
        words = f": {', '.join(unusual)}" if unusual else ""
        self.more.label = ("▾" if self.rest.visible else "▸") + f" More options{words}"

    def _unusual(self) -> list[str]:
        problem, ruled_out = self.session.problem, why_not(self.session.problem)
        found = []
        for name in (*MORE, *MORE_FUSED):
            value = getattr(problem, name)
            if name in takes(problem.planner) and name not in ruled_out and value != USUAL[name]:
                found.append(SHORT.get(name, "{}").format(value))
        return [*found, *self.streamed.unusual]

    def _mirror(self) -> None:
        """Show in the widgets what the problem is, without planning it again."""
        problem, ruled_out = self.session.problem, why_not(self.session.problem)
        offered = takes(problem.planner)
        self._mirroring = True
        try:
            for name, widget in self.widgets.items():
                optional = name in USUAL
                free = name not in ruled_out
                widget.value = getattr(problem, name) if free or not optional else USUAL[name]
                widget.visible = not optional or name in offered
                widget.disabled = not free
            for name in ("solver", "paper_strict"):
                self.widgets[name].visible = name in offered and name not in ruled_out
            self.by_hand.value = problem.break_nodes is not None
        finally:
            self._mirroring = False
        left = 8 if problem.planner == STREAMING else 0
        self.limit.field.margin = (2, 8, 2, left)
        self.why.object = why_html({n: why for n, why in ruled_out.items() if n in WHY_NAMES})
        self.more.visible = bool(offered.intersection((*MORE, *MORE_FUSED, *STREAMING_OPTIONS)))
        self.why.visible = bool(offered.intersection(MORE))
        self.breaks.visible = "break_nodes" in offered and "break_nodes" not in ruled_out
        self._show_breaks()
        self._name_more()

    def _show_breaks(self) -> None:
        by_hand = self.session.problem.break_nodes is not None
        names = list(self.session.breaks.nodes)
        self.chips.param.update(names=names, removable=by_hand)
        self.chips.visible = bool(names)
        self.about_breaks.object = (
            f'<span class="faint">{escape(breaks_text(by_hand, names))}</span>'
        )

    def _switched(self, event: Any) -> None:
        if not self._mirroring:
            self.session.breaks.by_hand(event.new)

    def _tapped(self, key: str) -> None:
        if key.startswith(TAKE):
            self.session.breaks.toggle(key.removeprefix(TAKE))
        elif key == CLEAR:
            self.session.change(break_nodes=[])
        elif key.startswith(PICK):
            self.session.cursor.to_operator(key.removeprefix(PICK))

    def __panel__(self) -> pn.Column:
        w, row = self.widgets, {"sizing_mode": "stretch_width", "margin": 0}
        return seen(
            pn.Column,
            w["planner"],
            seen(
                pn.Row,
                w["objective"],
                w["goal"],
                self.fused.search,
                self.pool.objective,
                self.limit.field,
                **row,
            ),
            self.limit.wrong,
            self.fused.joint,
            self.pool.fuse,
            self.streamed.front,
            w["schedule"],
            self.breaks,
            self.more,
            self.rest,
            css_classes=["planner-options"],
            **row,
        )


SHORT = {
    "paper_strict": "strict",
    "bands": "{} bands",
    "channel_tile": "{} channels",
    "double_buffer": "no loading ahead",
    "free_local_layers": "local for free",
}
WHY_NAMES = {"method": "Method", "replacement": "Replacement"}
LINK = """
.bk-btn { background: none !important; border: none !important; text-align: left;
  padding: 1px 0; min-height: 22px; color: var(--sw-faint) !important;
  overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.bk-btn:hover { color: var(--sw-text) !important; }
"""


def choice(option: str, label: str) -> pn.widgets.Select:
    """A list of an option's values."""
    return pn.widgets.Select(label=label, options=labelled(option), css_classes=[option], **WIDE)


def labelled(option: str) -> dict[str, str]:
    """The values of a planner's option by what they are called on the page."""
    words = LABELS[option]
    return {words.get(value, value): value for value in COSMA[option]}


def why_html(ruled_out: dict[str, str]) -> str:
    """A line for each option that cannot be chosen."""
    lines = [f"{WHY_NAMES[name]}: {escape(why)}." for name, why in ruled_out.items()]
    return faint("<br>".join(lines))


def faint(html: str) -> str:
    """A word beside a widget."""
    return f'<span class="faint">{html}</span>'


def breaks_text(by_hand: bool, names: list[str]) -> str:
    """What can be done about the break nodes."""
    if by_hand:
        return "Select an operator in the graph and press b to cut there, or no more."
    return "" if names else "They are found when the network is planned."
