"""Legend and switches above the address map and the timeline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import panel as pn

from app.display.compare import CUT, MOVED, ONLY_HERE, ONLY_THERE, RETIMED
from app.kinds.kind import Looks
from app.kinds.step_axis import is_timed
from app.model.glossary import marked, term
from app.model.state import AXES, UNITS
from app.session.session import Session
from app.widgets.button_bar import ButtonBar
from app.widgets.following import follow
from app.widgets.style import CHOICES, LEGEND, PLAIN, TIP
from planners.core.colours import BLUE, GREY, ORANGE, PURPLE, ROLES, STAYS, VERMILLION

OUTLINES: dict[str, tuple[float, str | list[int], str]] = {
    ONLY_HERE: (3.0, "solid", "solid"),
    CUT: (1.2, [10, 2, 2, 2], "dashed"),
    RETIMED: (2.0, [6, 3], "dashed"),
    MOVED: (2.0, [2, 2], "dotted"),
    ONLY_THERE: (1.5, [2, 3], "dotted"),
}
STAY_TERMS = {"leaves": "spill", "came back": "retrieval"}
ROLE_TERMS = {
    "workspace": "workspace",
    "read ahead": "ring",
    "Address map": "address map",
    "Circular pool": "circular pool",
    "kept free": "distance",
}
LANE_TERMS = {
    "compute waits": "stall",
    "kernel waits": "stall",
    "transfer waits": "DMA",
    "ring full": "ring",
}
FREE = "the distance between tensors: free, but a write there would overwrite unread bytes"
HATCHES = {
    " ": "none",
    "dot": "radial-gradient(rgba(255,255,255,.75) 1.2px, transparent 1.6px) 0 0/5px 5px",
    "right_diagonal_line": "repeating-linear-gradient(45deg, rgba(255,255,255,.6) 0 1.5px,"
    " transparent 1.5px 5px)",
    "left_diagonal_line": "repeating-linear-gradient(-45deg, rgba(255,255,255,.6) 0 1.5px,"
    " transparent 1.5px 5px)",
    "horizontal_line": "repeating-linear-gradient(0deg, rgba(255,255,255,.6) 0 1.5px,"
    " transparent 1.5px 5px)",
    "vertical_line": "repeating-linear-gradient(90deg, rgba(255,255,255,.6) 0 1.5px,"
    " transparent 1.5px 5px)",
    "diagonal_cross": "repeating-linear-gradient(45deg, rgba(255,255,255,.6) 0 1px,"
    " transparent 1px 5px), repeating-linear-gradient(-45deg, rgba(255,255,255,.6) 0 1px,"
    " transparent 1px 5px)",
}


def map_legend() -> pn.pane.HTML:
    """What colours, hatches and outlines of the address map mean."""
    return pn.pane.HTML(
        legend_html(),
        css_classes=["map-legend"],
        stylesheets=[TIP, PLAIN, LEGEND],
        sizing_mode="stretch_width",
        margin=(2, 6),
    )


def legend_html(differs: str = "") -> str:
    """The legend of the address map, with the outlines where a plan is pinned."""
    items = []
    for name, (colour, hatch, about) in STAYS.items():
        style = _filled(colour, hatch)
        mark = {"leaves": " ▲", "came back": " ▼"}.get(name, "")
        items.append(_item(style, f"{name}{mark}", about, STAY_TERMS))
    title = term("Address map", "address map")
    return f'<div class="legend"><b>{title}</b>{"".join(items)}{differs}</div>'


def _item(style: str, name: str, about: str, terms: Mapping[str, str]) -> str:
    """A mark and its word; the hover is on the mark where the word has a meaning of its own."""
    words = marked(name, terms)
    whole, mark = ("", f' title="{about}"') if "data-tip" in words else (f' title="{about}"', "")
    return f'<span{whole}><i style="{style}"{mark}></i>{words}</span>'


def differs_html() -> str:
    """The outlines that distinguish two plans."""
    return f"<b>differs</b>{outline_legend()}"


def pool_legend_html() -> str:
    """The legend of the pool's views: roles in the ring, parts of the bars beside it."""
    bars = (
        (f"background: {BLUE}", "tensors", "the most that whole tensors take during a run"),
        ("border: 1px dashed var(--sw-faint); box-sizing: border-box", "kept free", FREE),
    )
    marks = "".join(_item(style, name, about, ROLE_TERMS) for style, name, about in bars)
    return roles_legend_html("Circular pool", f"<b>Bars</b>{marks}")


def map_legend_html(looks: Looks, more: str = "") -> str:
    """The legend of the address map of a kind of plan."""
    if looks is STAYS:
        return legend_html(more)
    return roles_legend_html("Address map", more, looks)


def roles_legend_html(
    title: str, more: str = "", roles: Mapping[str, tuple[str, str, str]] = ROLES
) -> str:
    """The legend of a circular pool or of rings: what each part is at the time."""
    items = []
    for name, (colour, hatch, about) in roles.items():
        items.append(_item(_filled(colour, hatch), name, about, ROLE_TERMS))
    head = marked(title, ROLE_TERMS)
    return f'<div class="legend"><b>{head}</b>{"".join(items)}{more}</div>'


def lanes_legend_html(
    streams: bool = False, bound: Sequence[tuple[str, str, str, str]] = ()
) -> str:
    """Colours of the lanes: busy, waiting, whether waiting costs time, and what binds operators.

    `bound`: the colour, hatch, name and meaning of each part of the machine that does.
    """
    stall = f"background: {HATCHES['right_diagonal_line']}, {VERMILLION}"
    line = f"height: 2px; vertical-align: 3px; background: {GREY}"
    full = f"background: {HATCHES['left_diagonal_line']}, {ORANGE}"
    ready = "ready early; waits for data or room, without delaying anything"
    items = [
        (f"background: {BLUE}", "busy", "an engine works"),
        (stall, "compute waits", "compute stalls: hover for the cause"),
        (line, "transfer waits" if not streams else "waits", ready),
    ]
    if streams:
        items[1:2] = [
            (stall, "kernel waits", "no kernel runs: hover for the cause"),
            (full, "ring full", "an earlier layer must run first: hover for which"),
        ]
    marks = "".join(_item(style, name, about, LANE_TERMS) for style, name, about in items)
    parts = [
        _item(_filled(colour, hatch), name, about, LANE_TERMS)
        for colour, hatch, name, about in bound
    ]
    binds = f"<b>bound by</b>{''.join(parts)}" if parts else ""
    return f'<div class="legend">{marks}{binds}</div>'


def _filled(colour: str, hatch: str) -> str:
    """The style of a mark in a colour with a hatch."""
    return f"background: {colour}" if hatch == " " else f"background: {HATCHES[hatch]}, {colour}"


def timeline_legend() -> pn.pane.HTML:
    """The legend beside the timeline's title."""
    return pn.pane.HTML(
        lanes_legend_html(),
        css_classes=["lanes-legend"],
        stylesheets=[TIP, PLAIN, LEGEND],
        sizing_mode="stretch_width",
        margin=(4, 6),
    )


def add_hex(bar: ButtonBar, session: Session) -> None:
    """Addresses in hexadecimal, or in KiB."""
    look, about = session.look, "addresses in hexadecimal, or in KiB"

    def is_hex() -> bool:
        return look.unit == UNITS[1]

    def turn() -> None:
        look.unit = UNITS[not is_hex()]

    bar.add("hex-switch", "hex", about, turn, down=is_hex())
    follow(look, "unit", lambda: bar.look("hex-switch", down=is_hex()))


def add_time(bar: ButtonBar, session: Session) -> None:
    """Time across the address map, or steps."""
    look, work = session.look, session.work

    def is_time() -> bool:
        return work.shown is not None and is_timed(work.shown, look.axis)

    def turn() -> None:
        look.axis = AXES[1] if is_time() else AXES[2]

    about = "horizontal axis: time, as in the timeline, or steps of equal width"
    bar.add("time-switch", "time", about, turn, down=is_time())
    follow(look, "axis", lambda: bar.look("time-switch", down=is_time()))
    follow(work, "shown", lambda: bar.look("time-switch", down=is_time()))


def serial_switch(session: Session) -> pn.widgets.RadioButtonGroup:
    """Engines overlapped or one after the other."""
    return switch(session, "serial", {"overlapped": False, "serial": True}, ["serial"])


def heading(title: str, about: str = "") -> str:
    """A view's title and its explanation, in one line."""
    return f'<div class="title"><b>{title}</b> <span>{about}</span></div>'


def switch(
    session: Session, name: str, choices: dict[str, Any], classes: list[str]
) -> pn.widgets.RadioButtonGroup:
    group = pn.widgets.RadioButtonGroup(
        options=choices,
        value=getattr(session.look, name),
        css_classes=["switch", *classes],
        variant="outline",
        stylesheets=[CHOICES],
        margin=(0, 6),
    )
    group.param.watch(lambda event: session.look.param.update(**{name: event.new}), "value")
    session.look.param.watch(lambda event: group.param.update(value=event.new), name)
    return group


def outline_legend() -> str:
    """What outlines on the address map mean."""
    items = []
    for kind, (width, _, style) in OUTLINES.items():
        gone = f"; background: {PURPLE}44; border-color: {PURPLE}" if kind == ONLY_THERE else ""
        line = f"border: {min(width, 2.0)}px {style} var(--sw-text){gone}; box-sizing: border-box"
        items.append(f'<span><i style="{line}"></i>{kind}</span>')
    return "".join(items)
