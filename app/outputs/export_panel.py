"""What can be saved: a page, files and tables of the plan, and the figures as pictures."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from typing import Any

import panel as pn

from app.display.file_names import file_stem
from app.kinds.registry import kind_of
from app.outputs.export import FILES, written
from app.outputs.sharing import PAGE
from app.outputs.tables import differences_csv, live_csv
from app.session.session import Session
from app.widgets.buttons import button
from app.widgets.changing_select import ChangingSelect
from app.widgets.deferred import seen
from app.widgets.following import follow
from app.widgets.palette import Theme
from app.widgets.rows import Browser
from app.widgets.style import COMPACT, TEXT

ROOMY = (3, 4)
WIDTH, HALF = 640, 316
LONG = ("steps",)
"""Files that may take seconds: a worker writes them, so that other pages go on."""

FIGURES = {
    "all that is on screen": "",
    "graph": "dag",
    "address map": "address-map",
    "occupancy": "occupancy",
    "timeline": "timeline",
    "Pareto": "pareto",
}


class ExportPanel(pn.viewable.Viewer):
    """Buttons that save; pictures are drawn by the browser, files are written by the server."""

    def __init__(self, session: Session, browser: Browser, theme: Theme, **params: Any) -> None:
        super().__init__(**params)
        self.session, self.browser, self.theme = session, browser, theme
        look = "dark" if theme.dark else "light"
        self.page = button(
            "One self-contained HTML page: opens offline, with cursor and selection",
            "export-page",
            lambda: session.sharing.start(PAGE, look),
            margin=(14, 4, 3, 4),
        )
        self.page.param.update(width=WIDTH, color="primary")
        self.stop = button("Stop", "export-stop", session.sharing.cancel, margin=ROOMY)
        self.state = pn.pane.HTML(
            "", css_classes=["export-state"], stylesheets=[TEXT], margin=(2, 6), width=WIDTH
        )
        self.differences = self._file(
            "differences", "-differences.csv", "Differences to the pinned plan as CSV", self._differ
        )
        self.figure = ChangingSelect(
            label="Picture of",
            options=FIGURES,
            css_classes=["export-figure"],
            stylesheets=[COMPACT],
            width=200,
            margin=(3, 4),
        )
        self.box = self._box()
        follow(session.work, ["exporting", "shown", "pinned"], lambda: self._show())
        self._show()

    def _differ(self) -> str:
        work = self.session.work
        return differences_csv(work.shown, work.pinned)

    def _show(self) -> None:
        work, busy = self.session.work, bool(self.session.work.exporting)
        self.state.object = f'<span class="spin"></span>{work.exporting}' if busy else ""
        self.state.visible = self.stop.visible = busy
        self.page.disabled = busy
        self.differences.visible = work.pinned is not None
        shown = work.shown
        pictures = kind_of(shown).pictures if shown else {}
        self.figure.options = {**FIGURES, **pictures}

    def _file(
        self, name: str, ending: str, label: str, text: Callable[[], str]
    ) -> pn.widgets.FileDownload:
        def write() -> StringIO:
            download.filename = file_stem(self.session.work.shown) + ending
            return StringIO(text())

        download = pn.widgets.FileDownload(
            callback=write,
            filename="plan" + ending,
            label=label,
            css_classes=[f"export-{name}"],
            stylesheets=[COMPACT],
            width=HALF,
            margin=ROOMY,
        )
        return download

    def _of_plan(self, name: str) -> Any:
        """A button for one of the files that every plan has."""
        session, (ending, label, _) = self.session, FILES[name]
        if name in LONG:
            return button(
                label,
                f"export-{name}",
                lambda: session.sharing.start(name),
                margin=ROOMY,
                width=HALF,
            )

        def text() -> str:
            return written(name, session.work.shown, serial=session.look.serial)

        return self._file(name, ending, label, text)

    def _picture(self, kind: str) -> pn.widgets.Button:
        def act() -> None:
            which = str(self.figure.value or "")
            name = "-".join(filter(None, [file_stem(self.session.work.shown), which]))
            self.browser.picture(kind, name, which)

        return button(kind.upper(), f"export-{kind}", act, margin=ROOMY, align="end")

    def _box(self) -> pn.Column:
        def live() -> str:
            return live_csv(self.session.work.shown, self.session.look.step)

        def title(text: str) -> pn.pane.HTML:
            words = f'<h2 class="first">{text}</h2>'
            return pn.pane.HTML(words, stylesheets=[TEXT], margin=(6, 4, 0, 4))

        return seen(
            pn.Column,
            title("The plan"),
            self.page,
            self.stop,
            self.state,
            pn.FlexBox(
                *(self._of_plan(name) for name in FILES),
                self._file("live", "-live.csv", "What is on chip at the cursor as CSV", live),
                self.differences,
                width=WIDTH + 8,
                margin=0,
            ),
            title("The figures"),
            pn.Row(self.figure, self._picture("png"), self._picture("svg"), margin=0),
            visible=False,
        )

    def __panel__(self) -> pn.Column:
        return self.box
