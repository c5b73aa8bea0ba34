"""What can be taken away: files of the plan, and the figures as pictures or as one page."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape
from io import StringIO

import panel as pn
from bokeh.embed import file_html
from bokeh.layouts import column
from bokeh.models import Div
from bokeh.resources import INLINE
from param.parameterized import discard_events

from app.explorer import Explorer
from app.export import file_stem, lifetimes_csv, trace_json
from app.session import Session
from app.shown import Shown
from app.story import assumptions
from app.style import COMPACT, TEXT
from app.views.cards import CSS, cards_html
from app.views.palette import Theme
from app.views.rows import Browser

ASKED_FOR = re.compile(r'<script src="[^"]*"[^>]*>\s*</script>')
"""What Panel adds to every page of Bokeh's for components that these figures do not have."""

KEPT = ("step", "selection", "expanded", "colour", "unit", "serial", "metric", "across", "memory")
FILES: tuple[tuple[str, str, str], ...] = (
    ("lifetimes", ".csv", "Residencies as CSV: spillway pack reads it"),
    ("trace", ".trace.json", "Timeline for Perfetto or chrome://tracing"),
    ("page", ".html", "The figures as one HTML page, complete in itself"),
)


def export_panel(session: Session, browser: Browser, theme: Theme) -> pn.Column:
    """Buttons that save; pictures are drawn by the browser, files are written by the server."""

    def save(name: str, ending: str, label: str) -> pn.widgets.FileDownload:
        def write() -> StringIO:
            button.filename = file_stem(session.work.shown) + ending
            return StringIO(WRITERS[name](session, theme))

        button = pn.widgets.FileDownload(
            callback=write,
            filename="plan" + ending,
            label=label,
            css_classes=[f"export-{name}"],
            stylesheets=[COMPACT],
            width=420,
            margin=(3, 4),
        )
        return button

    def picture(kind: str) -> pn.widgets.Button:
        return pn.widgets.Button(
            label=f"The figures on screen as {kind.upper()}",
            css_classes=[f"export-{kind}"],
            stylesheets=[COMPACT],
            on_click=lambda _e: browser.picture(kind, file_stem(session.work.shown)),
            width=420,
            margin=(3, 4),
        )

    title = pn.pane.HTML("<h4>Export what is on screen</h4>", stylesheets=[TEXT])
    files = [save(*file) for file in FILES]
    return pn.Column(title, *files, picture("svg"), picture("png"), visible=False)


def page_html(session: Session, theme: Theme) -> str:
    """The cards and figures as one page that needs no server and no network."""
    shown: Shown = session.work.shown
    copy = Session(None)  # type: ignore[arg-type]  # it plans nothing
    explorer = Explorer(copy, theme)
    with discard_events(copy.look):  # views draw once, when there is a plan
        copy.look.param.update(**{name: getattr(session.look, name) for name in KEPT})
    copy.work.param.update(points=session.work.points, shown=shown)
    explorer.map.set_unit(copy.look.unit)
    explorer.occupancy.set_unit(copy.look.unit)
    figures = [view.figure for view in (explorer.dag, explorer.map, explorer.occupancy)]
    figures += [explorer.timeline.figure, explorer.pareto.figure]
    if shown.stream is not None:
        copy.work.fronts = session.work.fronts
        figures.append(explorer.stream.front.figure)
    text = f'{cards_html(shown)}<div class="cards">{escape(assumptions(shown))}</div>'
    colours = {"--sw-text": theme.text, "--sw-faint": theme.faint, "--sw-grid": theme.grid}
    colours |= {"--sw-panel": theme.panel}
    sheets = [CSS, TEXT]
    head = Div(text=text, styles=colours, stylesheets=sheets, sizing_mode="stretch_width")
    key = Div(text=explorer.legend.object, styles=colours, stylesheets=sheets)
    made = column(head, figures[0], key, *figures[1:], sizing_mode="stretch_width")
    made.styles = {"background": theme.page, "padding": "10px"}
    title = f"Spillway: {shown.graph.name}"
    text = str(file_html(made, INLINE, title=title, suppress_callback_warning=True))
    return ASKED_FOR.sub("", text)


WRITERS: dict[str, Callable[[Session, Theme], str]] = {
    "lifetimes": lambda session, _: lifetimes_csv(session.work.shown),
    "trace": lambda session, _: trace_json(session.work.shown, session.look.serial),
    "page": page_html,
}
