"""The window of the lecture: its items with their notes, to make, save, print and give one."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, ClassVar

import panel as pn
import param

from app.display.file_names import file_word
from app.links.lecture import Lecture
from app.model.paths import script
from app.model.presenter import USUAL
from app.outputs.handout import handout_html
from app.session.session import Session
from app.widgets.buttons import button
from app.widgets.component import Component
from app.widgets.following import follow
from app.widgets.style import COMPACT, TEXT

WIDTH = 640
ABOUT = (
    "<h4 class='first'>A lecture</h4>Views to show one after the other, with titles and notes."
    " While presenting, PageDown and PageUp, or a remote control, lead through it."
)


class LectureRows(Component):
    """The items as rows with fields; every change is a message."""

    items = param.List(default=[], doc="Dicts: title, link, note, steps.")
    at = param.Integer(-1, doc="Which of them is on screen.")

    _esm = script("lecture")
    _stylesheets: ClassVar[list[str]] = [
        """
:host { font: 13px var(--sw-font); color: var(--sw-text); overflow-y: auto; }
section { border-top: 1px solid var(--sw-grid); padding: 5px 0; }
section.on { box-shadow: inset 3px 0 var(--sw-accent); padding-left: 8px; }
.row { display: flex; gap: 5px; align-items: center; }
input { flex: 1; min-width: 0; } textarea { width: 100%; height: 38px; margin-top: 4px; }
input, textarea { font: inherit; color: inherit; background: var(--sw-page); padding: 3px 6px;
  border: 1px solid var(--sw-faint); border-radius: 4px; box-sizing: border-box; }
button { font: inherit; font-size: 12px; color: inherit; background: var(--sw-page);
  border: 1px solid var(--sw-faint); border-radius: 4px; padding: 2px 8px; cursor: pointer; }
button:focus-visible, input:focus-visible { outline: 2px solid var(--sw-accent); }
"""
    ]


def lecture_window(session: Session, close: Callable[[], object]) -> pn.Column:
    """The window; `close` closes it once something is to be shown."""
    lecturing, work = session.lecturing, session.work
    rows = LectureRows(css_classes=["lecture-items"], width=WIDTH, max_height=380)
    title = pn.widgets.TextInput(
        label="Title",
        css_classes=["lecture-title"],
        stylesheets=[COMPACT],
        width=WIDTH,
        margin=(4, 0),
    )
    title.param.watch(lambda event: lecturing.call(event.new), "value")

    def save(name: str, text: str) -> None:
        data = base64.b64encode(gzip.compress(text.encode(), 6)).decode()
        work.exported = {"name": name, "gzip": data}

    def stem() -> str:
        return file_word(lecturing.lecture.title or "lecture")

    def act(message: dict[str, Any]) -> None:
        place = int(message.get("place", -1))
        match message.get("act"):
            case "edit":
                texts = {n: str(message[n]) for n in ("title", "note") if n in message}
                lecturing.edit(place, **texts)
            case "move":
                lecturing.move(place, 1 if message.get("by") == 1 else -1)
            case "drop":
                lecturing.drop(place)
            case "go":
                close()
                lecturing.go(place)

    def give() -> None:
        close()
        session.teaching.present(session.look.presenting or USUAL)
        lecturing.go(max(0, lecturing.at))

    def show() -> None:
        lecture: Lecture = lecturing.lecture
        rows.param.update(items=[asdict(item) for item in lecture.items], at=lecturing.at)
        title.value = lecture.title
        for one in (keep, handout, present):
            one.disabled = not lecture.items

    def handed(_event: Any) -> None:
        plans = {link: shown for link, shown in lecturing.plans.items() if link}
        save(f"{stem()}.html", handout_html(lecturing.lecture, plans))

    rows.on_msg(lambda event: act(event.data))
    add = button("Add what is on screen", "lecture-add", lambda: lecturing.add(), color="primary")
    keep = button(
        "Save",
        "lecture-save",
        lambda: save(f"{stem()}.lecture.json", lecturing.lecture.to_text()),
        description="a file that can be dropped anywhere on this page again",
    )
    about = "a page to print: items, notes, maps"
    handout = button("Handout", "lecture-handout", lecturing.hand_out, description=about)
    present = button(
        "Present it", "lecture-present", give, description="from the item on screen on"
    )
    lecturing.param.watch(handed, "plans")
    follow(lecturing, ["lecture", "at"], show)
    show()
    return pn.Column(
        pn.pane.HTML(ABOUT, stylesheets=[TEXT], width=WIDTH, margin=0),
        title,
        rows,
        pn.Row(add, keep, handout, present, margin=(8, 0)),
        css_classes=["lecture"],
        margin=0,
    )
