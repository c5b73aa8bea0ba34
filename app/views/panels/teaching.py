"""The lecturer's part of the step bar: play, the next step that moves something, presenting."""

from __future__ import annotations

import panel as pn
import param

from app.model.paths import script
from app.session.session import Session
from app.widgets.button_bar import ButtonBar
from app.widgets.component import Component
from app.widgets.deferred import seen
from app.widgets.following import follow
from app.widgets.style import FIELD

NEAR = (2, 2)
CURSOR = "cursor-slider"
PLAY, PAUSE = "▶ play", "❚❚ pause"
PACES = {"fast": 0.5, "1.5 s": 1.5, "3 s": 3.0, "6 s": 6.0}
LARGE = """
td { padding: 1px 4px; line-height: 1.3; }
:host(.large) { font-size: var(--sw-say, 20px); height: var(--sw-story, 20vh) !important;
  flex: none !important; }  /* of one height, so that nothing moves from step to step */
:host(.large) .bar-rows { height: auto !important; }
:host(.large) td { padding: 2px 6px; line-height: 1.25; }
:host(.large) .chip { min-width: 1.1em; height: 1.1em; line-height: 1.1em; font-size: .8em; }
"""
HEIGHT = 57


class Player(Component):
    """Moves the cursor's slider, a Bokeh model of the name `CURSOR`, step by step, and stops."""

    playing = param.Boolean(default=False, doc="Whether it moves; false again at the end.")
    pace = param.Number(default=1.5, doc="Seconds for each step.")
    slider = param.String(default=CURSOR, doc="The slider's name.")

    _esm = script("player")


class TeachingBar(pn.viewable.Viewer):
    """Buttons right of the cursor's slider; the client moves the cursor while it plays."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session = session
        self.player = Player(width=0, height=0, margin=0)
        self.player.param.watch(lambda event: self._played(event.new), "playing")
        self.pace = pn.widgets.Select(
            options=PACES,
            value=1.5,
            css_classes=["pace"],
            stylesheets=[FIELD],
            width=66,
            margin=(2, 2),
        )
        self.pace.param.watch(lambda event: self.player.param.update(pace=event.new), "value")
        self.bar = ButtonBar(margin=NEAR)
        about = "next step in which something moves on or off chip: n"
        self.bar.add("next-event", "⇥ next move", about, None)
        self.bar.add("play", PLAY, "play the steps: space", session.teaching.play)
        about = "pin this plan, and compare another one with it"
        self.bar.add("open-compare", "⇄ compare", about, session.pins.compare, down=False)
        about = "present the views full screen, in large letters: p"
        self.bar.add("present-usual", "⤢ present", about, None, down=False)
        follow(session.look, ["playing", "presenting", "comparing"], lambda: self._show())
        self._show()

    def _played(self, playing: bool) -> None:
        self.session.look.playing = playing

    def _show(self) -> None:
        look = self.session.look
        self.player.playing = look.playing
        self.pace.visible = bool(look.presenting)
        self.bar.look("play", label=PAUSE if look.playing else PLAY)
        self.bar.look("open-compare", down=look.comparing)
        self.bar.look("present-usual", down=bool(look.presenting))

    def __panel__(self) -> pn.Row:
        return seen(pn.Row, self.pace, self.bar, self.player, margin=0)
