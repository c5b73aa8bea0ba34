"""The served page: a template around the explorer; what happens when a visitor comes and goes."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from functools import cache
from html import escape
from typing import Any

import panel as pn
from bokeh.util.warnings import BokehUserWarning
from panel.io.resources import LOCAL_DIST
from panel.theme.fast import Fast

from app.explorer import Explorer
from app.jobs.pool import shared_pool
from app.links.url import from_query, link, not_in_links, pinned_in
from app.model.glossary import glossary_html
from app.model.paths import ASSETS
from app.outputs.export_panel import ExportPanel
from app.outputs.lecture_window import lecture_window
from app.outputs.scripts import as_python
from app.server.sessions import when_wanted
from app.session.initial_plan import first_fields, first_picture
from app.session.session import Session
from app.views.fronts.pareto_bar import compare_planners
from app.views.panels.controls import Controls
from app.views.panels.drop_anywhere import drop_anywhere
from app.views.panels.presenter import CSS as PRESENTER
from app.views.panels.presenter import presenter
from app.views.panels.tour import tour_view
from app.widgets.accessibility import Accessibility
from app.widgets.connection import Connection
from app.widgets.copy_link import CopyLink
from app.widgets.deferred import seen
from app.widgets.lazy_visible import near
from app.widgets.page_head import head_variables
from app.widgets.palette import DARK, FONT, LIGHT, Theme
from app.widgets.rows import Browser
from app.widgets.style import KEYS, TEXT, page_css
from app.widgets.teardown import END_S, take_apart
from planners.core.gc_pause import no_collection

# Events of a model that was added later say from a browser all that the model is, once.
warnings.filterwarnings("ignore", "reference already known", BokehUserWarning)

MORE = "More …"
POLL_MS = 50
WORKING = ["planning", "sweeping", "asking", "coding", "streaming", "exporting", "pinning"]
WORKING += ["auditing", "blaming", "pricing", "judging", "touring", "infeasible"]
LIVE_MS = 25  # while somebody drags the budget and waits for groups
HELP = """
## Keys
| key | does |
|---|---|
| `←` `→` | previous, next step |
| `Home` `End` | first, last step |
| `[` `]` | previous, next peak of occupancy |
| `n` | next step in which something moves on or off chip |
| `Space` | play: the cursor moves on by itself; again: pause |
| `p` | present: views fill the screen in large letters; again, or `Esc`: back |
| `PageUp` `PageDown` | while presenting, a remote control: previous, next step |
| `1` … `9` `.` | while presenting: another layout; a black screen |
| `/` | search operators and tensors |
| `Esc` | clear the selection |
| `s` `c` | pin this plan to compare with (**⇄ compare** shows the differences); swap both |
| `b` | set or remove a break node at the selected operator (divide and conquer) |
| `k` `o` | wish that the selected tensor stays on chip; that it is off chip between its uses |
| `w` | what if: wishes, their cost, and which of them leave no plan |
| `m` | move rectangles of the address map by hand; `check` replays them at once |
| `Ctrl` `z` | undo: the last move by hand, or back to the plan before |
| `g` | select the fused group or run at the cursor, then the next; or the next kernel that waits |
| `e` | open all blocks, or close them |
| `a` | all planners at this budget, and what more memory gains; again: close |
| `?` | this help |

**Tour**, under *More …*, leads through all views in a dozen stops, and brings back what was there.
Words with a dotted underline have a definition: rest the pointer on one, or go there with Tab.

## Reading the views
* **Graph**: left to right. A hatched box is a block: tap it to open it, tap beside the nodes in its
  dotted frame to close it. The dashed ring is the cursor. ✂ is where divide and conquer cuts.
* **Address map**: a rectangle is a tensor on chip; its width is the time it stays, its height its
  bytes, **its vertical position is its address**. ▲ leaves the chip and comes back at ▼. Tap one to
  select it and to bring the cursor there. **time** puts seconds on the horizontal axis instead of
  steps; it is on where groups of tiles make steps mislead. Under a long plan: drag over the grey
  strip to see a part of it.
* **Occupancy**: bytes held in each step; the dashed line is the budget.
  Drag over steps to see traffic, stalls and peaks in them.
* **Timeline**: what each engine does; hatched is waiting: hover for the cause.
* **Pareto**: each point is a plan; faint ones are beaten by another. Tap one to see it.

MR is the largest need of one operator: no plan exists below it. MP is the least peak of all orders:
in such an order (*mpmf*, *joint*) nothing is spilled from then on. MH is halfway. KiB = 1024 B.

Overlap plans (vMCU) let outputs lie over dying inputs in a circular pool, row by row. The ring is
that pool at the cursor: address 0 is at the top; d, the distance, is how many bytes before the
input the output begins; bold is written in this step, dashed was freed. The address map has the
same over time: the output's front chases the input's. Tap a bar to select what runs together, a
point of the front to plan with that much RAM.

Streamed parameters (Demand Layering) are read layer by layer while earlier layers run; a step is
a layer. The address map shows them roll through their rings: choose on chip, a ring or the
activations above it; grey is lost at the ring's end. The timeline hatches in red what kernels wait
for, in orange reads and copies that wait for a full ring. Tap a point of delay against memory to
plan with it, or drag the budget: plans follow at once.

Fused groups (Optimus) run tile by tile, so they need less than MR. Each group has a colour and a
name in the graph and along the steps; tap its name for its tile, its bytes, and why its neighbours
are other groups. Drag the budget: the groups follow at once, the program when you let go.
"""


# It would fetch Open Sans, but nothing may leave the machine; and 889 KB of script, which compute
# other colours than `tokens.css` has, from no accent of ours.
Fast._resources["font"], Fast._resources["js_modules"] = {}, {}


class Shell(pn.template.FastListTemplate):
    """Panel's template, without what the page does not need."""

    _template = ASSETS / "page.html"

    @staticmethod
    def _get_theme_from_query_args() -> str | None:
        """The theme in the address, where there is one of that name."""
        return str(pn.config.theme)


def template(begin: Callable[[Session], None] | None = None) -> Shell:
    """A page of its own for one visitor, with a plan on it.

    `begin` opens its session; without it, the page's address says with what. The page goes out
    empty: while the browser loads its scripts, the server makes what is on it.
    """
    theme = replace(DARK if pn.config.theme == "dark" else LIGHT)
    wide: dict[str, Any] = {"margin": 0, "sizing_mode": "stretch_width"}
    page = Shell(
        title="Spillway",
        header=[pn.Row(css_classes=["header-row"], **wide)],
        sidebar=[pn.Column(**wide)],
        main=[pn.Column(**wide)],
        modal=[pn.Column(margin=0)],
        main_layout=None,
        sidebar_width=270,
        font=FONT,
        font_url="",
        accent_base_color="#0072B2",
        header_background="#0b2f4a",
        raw_css=[page_css(), PRESENTER],
        theme_toggle=False,
        busy_indicator=None,
    )
    page._render_variables.update(head_variables())
    if begin is None and not (pn.state.session_args or {}).keys() - {"theme"}:
        page._render_variables["first_picture"] = first_picture()
    if document := pn.state.curdoc:
        # Panel says so when it answers a request: a web socket may come without one, or so late
        # that the session of its request is over.
        document.template_variables.setdefault(
            "dist_url", f"{pn.state.rel_path or '.'}/{LOCAL_DIST}"
        )
    whole: list[Any] = [page]
    pn.state.on_session_destroyed(lambda _context: _end(whole))
    when_wanted(lambda: whole.extend(_fill(page, theme, begin or _open_link)))
    return page


def _end(whole: list[Any]) -> None:
    """Take a page apart whose visitor has left, once all that was under way is over."""
    asyncio.get_running_loop().call_later(END_S, lambda: take_apart(whole))


def _fill(page: Any, theme: Theme, begin: Callable[[Session], None]) -> list[Any]:
    """Make what is on the page, before its browser asks for it; what of it holds all the rest."""
    document = pn.state.curdoc
    frozen = document.models.freeze() if document else nullcontext()
    # The page's design is laid over what has none of its own.
    with ExitStack() as whole, pn.config.set(design=None):
        whole.enter_context(no_collection())
        whole.enter_context(frozen)
        session = Session(shared_pool(), pn.io.unlocked)
        browser = Browser(width=0, height=0, margin=0)
        parts = Explorer(session, theme), Controls(session)
        explorer = pn.panel(parts[0])
        people = Accessibility(dark=theme.dark, width=0, height=0, margin=0)
        people.on_key(lambda name: parts[0].turn(DARK if name == "dark" else LIGHT))
        copy = CopyLink(css_classes=["copy-link"], margin=(0, 4))
        header, modal = _header(
            page, session, browser, copy, lambda: ExportPanel(session, browser, theme)
        )
        _connect(session, browser, copy, begin)
        for area, things in (
            (page.main, [parts[1].line, explorer]),
            (page.sidebar, [near(pn.Column, 600, lambda: [parts[1]], "sidebar", margin=0)]),
            (page.header, [*header, people]),
            (page.modal, modal),
        ):
            area[0].objects = things
        # Panel makes the models in turns of their own: Bokeh looks for them once, after the last.
        pn.state.execute(whole.pop_all().close, schedule=True)
    return [session, *parts, *header, people, *modal]


def _header(
    page: Any,
    session: Session,
    browser: Browser,
    copy: CopyLink,
    exporting: Callable[[], ExportPanel],
) -> tuple[list[Any], list[Any]]:
    """What is in the header, and the window that it opens; what is in that is made when opened."""
    window = pn.Column(margin=0)
    code, text = cache(code_pane), cache(help_pane)
    export = cache(lambda: exporting().box)
    lecture = cache(lambda: lecture_window(session, page.close_modal))

    def show(what: Callable[[], Any]) -> None:
        widget = what()
        if widget not in window:
            window.append(widget)
        for item in window:
            item.visible = item is widget
        page.open_modal()

    def python(_event: Any = None) -> None:
        named = session.uploads.names.get(session.problem.model, "")
        lines = as_python(session.problem, named)
        code().object = (
            f"<h2 class='first'>Copied: the same plan in Python</h2><pre>{escape(lines)}</pre>"
        )
        browser.copy(lines)
        show(code)

    def button(label: str, name: str, act: Any, **more: Any) -> pn.widgets.Button:
        return pn.widgets.Button(
            label=label, css_classes=["header-button", name], on_click=act, margin=(0, 4), **more
        )

    tagline = pn.pane.HTML(
        "<em>How a neural network runs in a memory that is too small for it</em>",
        styles={"color": "#b9cbd9", "font-size": "13px"},
        css_classes=["tagline"],
        stylesheets=["div { visibility: inherit !important; }"],  # Panel's own shows it always
    )
    browser.on_key(lambda key: press(session, key, lambda: show(text)))
    folded = [
        button("Tour", "tour", lambda _e: session.tour.start(), visible=False),
        button("Lecture", "lecture", lambda _e: show(lecture), visible=False),
        button("Export", "export", lambda _e: show(export), visible=False),
        button("Copy as Python", "python", python, visible=False),
    ]
    header = [
        tagline,
        pn.HSpacer(),
        seen(pn.Row, *folded, css_classes=["header-row"], margin=0),
        more_button(page.header[0], folded),
        copy,
        button("Help  ?", "help", lambda _e: show(text)),
        browser,
        seen(pn.Row, tour_view(session), margin=0),
        presenter(session),
        drop_anywhere(session),
        Connection(width=0, height=0, margin=0),
    ]
    return header, [window]


def more_button(row: pn.Row, folded: list[pn.widgets.Button]) -> pn.widgets.Button:
    """A button that shows others in its row, which are hidden until then, and hides them again; in
    a narrow window a style hides more of them (`accessibility.css`)."""

    def turn(_event: Any) -> None:
        for each in folded:
            each.visible = not each.visible
        opened = folded[0].visible
        more.label = "Less" if opened else MORE
        row.css_classes = ["header-row", *(["opened"] if opened else [])]

    more = pn.widgets.Button(
        label=MORE, css_classes=["header-button", "more"], on_click=turn, margin=(0, 4)
    )
    return more


def code_pane() -> pn.pane.HTML:
    """A plan in Python."""
    return pn.pane.HTML("", width=640, stylesheets=[TEXT])


def help_pane() -> pn.Column:
    """Keys, how to read the views, and the glossary."""
    words = pn.pane.HTML(glossary_html(), width=640, stylesheets=[TEXT])
    return pn.Column(pn.pane.Markdown(HELP, width=640, stylesheets=[KEYS]), words)


def press(session: Session, key: str, show_help: Any) -> None:
    """Perform the action of a key."""
    look, shown = session.look, session.work.shown
    match key:
        case "ArrowLeft":
            session.cursor.step_by(-1)
        case "ArrowRight":
            session.cursor.step_by(1)
        case "Home":
            session.cursor.step_by(-shown.steps)
        case "End":
            session.cursor.step_by(shown.steps)
        case "[":
            session.cursor.to_peak(-1)
        case "]":
            session.cursor.to_peak(1)
        case "Escape":
            if not (session.what_if.give_up() or session.moving.discard()):
                look.selection = ""
        case "e":
            comfortable = sorted(shown.opened)
            opened = look.expanded != comfortable
            look.expanded = comfortable if opened else sorted(shown.tree.everything())
        case "b":
            session.breaks.toggle(session.breaks.selected)
        case "k":
            session.what_if.toggle("keep")
        case "o":
            session.what_if.toggle("spill")
        case "w":
            look.panel = "details" if look.panel == "what if" else "what if"
        case "m":
            look.by_hand = not look.by_hand
        case "a" if look.wide:
            look.wide = False
        case "a":
            compare_planners(session)
        case "undo":
            session.what_if.undo()
        case "s":
            session.pins.pin()
        case "c":
            session.pins.swap()
        case " ":
            session.teaching.play()
        case "n":
            session.teaching.to_event(1)
        case "?":
            show_help()


def _open_link(session: Session) -> None:
    """Open a session with the problem in the page's address."""
    given = pn.state.session_args.items()
    arguments = {name: values[0].decode("utf-8", "replace") for name, values in given}
    problem, look, wrong = from_query(arguments, first_fields())
    pinned, more = pinned_in(arguments, problem)
    session.open(problem, look, [*wrong, *more])
    session.repins.start(pinned)
    if arguments.get("tour") == "1":
        session.tour.start()


def _connect(
    session: Session, browser: Browser, copy: CopyLink, begin: Callable[[Session], None]
) -> None:
    """Take workers' messages, keep the address up to date, and stop the jobs of a closed page."""

    def listen() -> None:
        session.poll()
        period = LIVE_MS if session.live.waiting or session.streams.dragging else POLL_MS
        if poll.period != period:
            poll.period = period
        if not session.busy:
            poll.stop()

    poll = pn.state.add_periodic_callback(listen, period=POLL_MS, start=False)

    def watch_workers(*_: Any) -> None:
        if session.live.waiting:
            poll.period = LIVE_MS
        if session.busy and not poll.running:
            poll.start()

    def hold_link(*_: Any) -> str:
        pinned = session.repins.pinned_for
        query, left_out = link(session.problem, session.look, pinned)
        copy.param.update(query=query, left_out=", ".join(not_in_links(session.work, left_out)))
        return query

    def write_address(*_: Any) -> None:
        browser.address(hold_link())

    def visit(query: str) -> None:
        session.go_to(query)
        write_address()

    def listen_to_workers() -> None:
        """Changes while the browser still builds the page would find views without elements."""
        session.work.param.watch(watch_workers, WORKING)
        watch_workers()

    session.work.param.watch(lambda event: browser.file(**event.new), ["code", "exported"])
    browser.on_visit(visit)
    begin(session)
    browser.first = hold_link()
    pn.state.onload(listen_to_workers)
    session.problem.param.watch(write_address, list(session.problem.param))
    session.look.param.watch(write_address, list(session.look.param))
    session.work.param.watch(write_address, "pinned_for")
    session.work.param.watch(lambda *_: hold_link(), ["shown", "shelf"])
    pn.state.on_session_destroyed(lambda _context: session.close())
