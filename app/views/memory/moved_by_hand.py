"""Rectangles moved by hand: dragged or typed, judged by `check`, hatched red where it refuses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html import escape
from typing import Any

import panel as pn
from bokeh.events import Pan, PanEnd, PanStart
from bokeh.models import ColumnDataSource, CustomJS
from bokeh.plotting import figure

import planners as sp
from app.display.banks import room_in
from app.display.displayed_plan import DisplayedPlan
from app.display.moved_by_hand import alignment_of, at_text, fixed_stays, last_of, why_fixed
from app.model.paths import script
from app.session.session import Session
from app.widgets.address_field import Address
from app.widgets.button_bar import ButtonBar
from app.widgets.buttons import button
from app.widgets.following import follow
from app.widgets.glyphs import put
from app.widgets.palette import Theme
from app.widgets.style import TEXT

NARROW = (0, 2)
RED = "#D0021B"  # for what is invalid, and nothing else
STAYS = ("left", "right", "bottom", "top", "first", "last", "fixed", "tensor", "number")
SIDES = ("left", "right", "bottom", "top")
HELD = (*SIDES, "number", "grab", "alpha", "text")
EXACT = 2**53 - 1  # the largest integer that JavaScript represents exactly
START = script("hand_start")
MOVE = script("hand_move")
END = script("hand_end")
TOOLS = script("hand_tools")


class HandLayer:
    """What is dragged and what it would overwrite, drawn by the client while the pointer is down.

    Stays are in the source only while rectangles can be moved; a drag then moves one instead of
    panning.
    """

    def __init__(self, plot: figure, theme: Theme, drop: Callable[[int, int], None]) -> None:
        self.stays = ColumnDataSource({name: [] for name in STAYS})
        self.held = ColumnDataSource({name: [] for name in HELD})
        self.clash = ColumnDataSource({name: [] for name in SIDES})
        self.met = ColumnDataSource({name: [] for name in SIDES})
        self.dropped = ColumnDataSource({"number": [], "offset": [], "at": []})
        self.rules = ColumnDataSource({})
        self._draw(plot, theme)
        self.plot, self.drop, self.listens = plot, drop, False

    def _listen(self) -> None:
        """Follow the pointer: not before it may move anything, since most pages never do."""
        self.listens, plot, drop = True, self.plot, self.drop
        args = {"plot": plot, "range": plot.y_range}
        args |= {name: getattr(self, name) for name in ("stays", "held", "clash", "rules")}
        args["dropped"] = self.dropped
        for event, code in ((PanStart, START), (Pan, MOVE), (PanEnd, END)):
            plot.js_on_event(event, CustomJS(args=args, code=code))
        self.stays.js_on_change("data", CustomJS(args=args, code=TOOLS))

        def let_go(_attr: str, _old: Any, new: Mapping[str, list[Any]]) -> None:
            if new["number"]:
                drop(int(new["number"][0]), int(new["offset"][0]))

        self.dropped.on_change("data", let_go)

    def _draw(self, plot: figure, theme: Theme) -> None:
        box = {side: side for side in SIDES}
        put(
            plot,
            "quad",
            **box,
            source=self.held,
            beside=self.stays,
            fill_color=theme.text,
            fill_alpha="alpha",
            line_color=theme.text,
            line_width=2,
        )
        put(plot, "quad", **box, source=self.met, fill_color=None, line_color=RED, line_width=3)
        put(
            plot,
            "quad",
            **box,
            source=self.clash,
            beside=self.stays,
            fill_color=RED,
            fill_alpha=0.35,
            line_color=RED,
            line_width=2,
            hatch_pattern="diagonal_cross",
            hatch_color=RED,
            hatch_alpha=0.9,
            hatch_scale=8,
        )
        put(
            plot,
            "text",
            x="left",
            y="top",
            text="text",
            source=self.held,
            beside=self.stays,
            text_font_size="11px",
            text_color=theme.text,
            text_font_style="bold",
            text_baseline="bottom",
            background_fill_color=theme.panel,
            background_fill_alpha=0.9,
            padding=2,
            y_offset=-2,
        )

    def show(self, shown: DisplayedPlan | None, memory: str) -> None:
        """Let the stays of a memory be moved; without a plan, none."""
        if shown and not self.listens:
            self._listen()
        rows = stay_rows(shown, memory) if shown else []
        if shown:
            room = room_in(shown, memory) or shown.plan.budget_bytes
            self.rules.tags = [alignment_of(shown.plan), room]
        self.stays.data = {name: [row[name] for row in rows] for name in STAYS}

    def tell(self, shown: DisplayedPlan, attempt: Mapping[str, Any]) -> None:
        """Keep the refused move on screen, and what it would overwrite."""
        refused, clash, met = refused_columns(shown, attempt)
        self.held.data, self.clash.data, self.met.data = refused, clash, met


def stay_rows(shown: DisplayedPlan, memory: str) -> list[dict[str, Any]]:
    """A row for each span of each stay: its place in the drawing, and the instructions it spans."""
    rows = []
    residencies = shown.report.residencies
    firm = fixed_stays(shown.plan, residencies)
    for number, (residency, fixed) in enumerate(zip(residencies, firm, strict=True)):
        if residency.memory != memory:
            continue
        left, right = shown.columns(residency)
        for span in residency.spans:
            place = (left, right, span.start, span.stop)
            when = (residency.start_instruction, min(last_of(residency), EXACT))
            values = (*place, *when, fixed, residency.tensor, number)
            rows.append(dict(zip(STAYS, values, strict=True)))
    return rows


def refused_columns(
    shown: DisplayedPlan, attempt: Mapping[str, Any]
) -> tuple[dict[str, list[Any]], dict[str, list[Any]], dict[str, list[Any]]]:
    """The refused rectangle, hatched red where it overlaps others, and these others."""
    columns: dict[str, list[Any]] = {name: [] for name in HELD}
    clash: dict[str, list[Any]] = {name: [] for name in SIDES}
    met: dict[str, list[Any]] = {name: [] for name in SIDES}
    if not attempt:
        return columns, clash, met
    residencies = shown.report.residencies
    residency = residencies[attempt["number"]]
    left, right = shown.columns(residency)
    low, high = attempt["offset"], attempt["offset"] + residency.size_bytes
    values = (left, right, low, high, attempt["number"], 0, 0.0, f"✕ {attempt['place']}")
    for name, value in zip(HELD, values, strict=True):
        columns[name].append(value)
    for name, value in zip(SIDES, (left, right, low, high), strict=True):
        clash[name].append(value)
    for number in attempt["others"]:
        first, last = shown.columns(residencies[number])
        for span in residencies[number].spans:
            for name, value in zip(SIDES, (first, last, span.start, span.stop), strict=True):
                met[name].append(value)
    return columns, clash, met


class HandBar(pn.viewable.Viewer):
    """Above the map while rectangles can be moved: which one, its address, and what `check`
    says."""

    def __init__(self, session: Session, **params: Any) -> None:
        super().__init__(**params)
        self.session = session
        moving = session.moving
        self.text = pn.pane.HTML(
            "",
            css_classes=["hand-text"],
            stylesheets=[TEXT, CSS],
            sizing_mode="stretch_width",
            height=34,
            margin=(2, 6),
        )
        self.address = Address(css_classes=["hand-address"], margin=(1, 4))
        self.address.on_key(lambda key: self._typed(key))
        about = "the next free place that holds it"
        self.down = button(
            "▼ free",
            "hand-down",
            lambda: moving.to_next(-1),
            description=f"down: {about}",
            margin=NARROW,
        )
        self.up = button(
            "▲ free",
            "hand-up",
            lambda: moving.to_next(1),
            description=f"up: {about}",
            margin=NARROW,
        )
        self.undo = button(
            "Undo", "hand-undo", moving.undo, description="the last move: Ctrl+Z", margin=NARROW
        )
        self.back = button(
            "Planner's",
            "hand-back",
            moving.back,
            description="back to the plan without any move by hand",
            margin=NARROW,
        )
        wide: dict[str, Any] = {"sizing_mode": "stretch_width", "margin": 0}
        controls = pn.Row(
            self.address,
            self.down,
            self.up,
            self.undo,
            self.back,
            **wide,
        )
        self.row = pn.Column(controls, self.text, css_classes=["hand-bar"], visible=False, **wide)
        work, look = session.work, session.look
        follow(work, ["shown", "attempt", "judging"], lambda: self._show())
        follow(look, ["by_hand", "selection", "step"], lambda: self._show())

    def _typed(self, key: str) -> None:
        kind, _, text = key.partition(" ")
        if kind == "to":
            self.session.moving.to(text)
        else:
            self.session.moving.by(int(text))

    def _show(self) -> None:
        session, shown = self.session, self.session.work.shown
        moved = bool(shown and shown.moved)
        self.row.visible = bool(shown) and (session.look.by_hand or moved)
        if not self.row.visible:
            return
        residency, attempt = session.moving.chosen, session.work.attempt
        free = residency is not None and not why_fixed(shown.plan, residency)
        for widget in (self.down, self.up):
            widget.visible = session.look.by_hand
            widget.disabled = not free
        self.address.visible = session.look.by_hand
        self.address.param.update(
            text=f"{session.moving.place_of(residency):#x}" if residency else "",
            name_of=residency.tensor if residency else "",
            nudge=alignment_of(shown.plan),
            locked=not free,
        )
        self.undo.disabled = not (attempt or session.moving.can_undo)
        self.back.disabled = not (attempt or moved)
        self.text.object = hand_html(session, shown, residency)

    def __panel__(self) -> pn.Column:
        return self.row


CSS = """
.hand { line-height: 1.35; height: 34px; overflow-y: auto; overflow-wrap: anywhere; }
.refused { color: var(--sw-alarm); font-weight: 600; }
.holds { color: #009E73; font-weight: 600; }
"""


def hand_html(session: Session, shown: DisplayedPlan, residency: sp.Residency | None) -> str:
    """One line: what was refused and why, what was moved, or what can be done."""
    attempt, moves = session.work.attempt, shown.plan.details.moves
    if attempt:
        words = f'<span class="refused">✕ check refuses {escape(attempt["place"])}:</span> '
        return (
            f'<div class="hand" role="status">{words}{escape(refusal_text(shown, attempt))}</div>'
        )
    if session.work.judging:
        return '<div class="hand" role="status">check looks at every byte…</div>'
    if (
        residency is not None
        and session.look.by_hand
        and (reason := why_fixed(shown.plan, residency))
    ):
        return f'<div class="hand">{escape(reason)}</div>'
    parts = []
    if moves:
        many = f"{len(moves)} moves" if len(moves) > 1 else f"{moves[-1].tensor} moved"
        parts.append(f'<span class="holds">✓ check agrees</span>: {escape(many)} by hand')
        parts.append("save the plan to keep the moves: links hold the planner's plan")
    if not session.look.by_hand:
        return f'<div class="hand" role="status">{" · ".join(parts)}</div>'
    if residency is None:
        parts.append("drag a rectangle up or down, or select one and type its address")
    else:
        place = at_text(residency.spans[0].start)
        parts.append(f"<b>{escape(residency.tensor)}</b> at {place}: drag it, or type an address")
    return f'<div class="hand" role="status">{" · ".join(parts)}</div>'


def refusal_text(shown: DisplayedPlan, attempt: Mapping[str, Any]) -> str:
    """The reason that `check` gives, and what else is in the way."""
    others = dict.fromkeys(shown.report.residencies[i].tensor for i in attempt["others"])
    more = [name for name in others if name not in attempt["text"]]
    also = f"; also in the way: {', '.join(more[:3])}" if more else ""
    return f"{attempt['text']}{also}{' and more' if len(more) > 3 else ''}"


def add_hand(bar: ButtonBar, session: Session) -> None:
    """The switch that allows rectangles to be moved."""
    look = session.look

    def turn() -> None:
        look.by_hand = not look.by_hand

    about = "drag rectangles to other addresses; check replays them at once: m"
    bar.add("hand-switch", "by hand", about, turn, down=look.by_hand)
    follow(look, "by_hand", lambda: bar.look("hand-switch", down=look.by_hand))
