"""The step bar: one cursor for all views. The client moves it and tells the server where it is."""

from __future__ import annotations

from typing import Any

import panel as pn
from bokeh.models import CustomJS, Slider

from app.model.glossary import term
from app.session.session import Session
from app.views.panels.tables import story_rows
from app.views.panels.teaching import CURSOR, HEIGHTS, LARGE, TeachingBar
from app.widgets.buttons import button
from app.widgets.following import follow
from app.widgets.rows import BarRows
from app.widgets.style import BOX, TEXT

MOVE = """
const s = Math.round(cb_obj.value);
map_band.left = s; map_band.right = s + 1;
held_band.left = s; held_band.right = s + 1;
if (s < times.data.start.length) {
  time_band.left = times.data.start[s]; time_band.right = times.data.stop[s];
}
if (s < where.data.x.length) {
  ring.data = Object.fromEntries(['x', 'y', 'w', 'h'].map((n) => [n, [where.data[n][s]]]));
  const x = where.data.x[s], width = dag_range.end - dag_range.start;
  if (x < dag_range.start + 0.3 || x > dag_range.end - 0.3) {
    const low = Math.max(dag_range.reset_start, Math.min(x - width / 2,
      dag_range.reset_end - width));
    dag_range.setv({start: low, end: low + width});
  }
}
"""


class Stepper(pn.viewable.Viewer):
    """Previous and next, a slider, and sentences on what happened in the step."""

    def __init__(self, session: Session, models: dict[str, Any], **params: Any) -> None:
        super().__init__(**params)
        self.session = session
        # Bokeh's own slider: Panel's jscallback would keep a closed page alive in its registry.
        self.slider = Slider(
            name=CURSOR,
            start=0,
            end=1,
            value=0,
            step=1,
            show_value=False,
            sizing_mode="stretch_width",
        )
        self.slider.js_on_change("value", CustomJS(args=models, code=MOVE))
        self.slider.on_change("value", lambda _attr, _old, new: self._slid(new))
        self.title = pn.pane.HTML(
            "", css_classes=["step-title"], margin=(7, 4), width=105, stylesheets=[TEXT]
        )
        self.story = BarRows(
            css_classes=["story"], sizing_mode="stretch_width", margin=(0, 4), height=54
        )
        self.story.stylesheets = [LARGE]
        self.teaching = TeachingBar(session)
        self.story.on_key(lambda key: session.look.param.update(selection=key))
        work, look = session.work, session.look
        follow(work, "shown", lambda: self._fit())
        follow(look, ["step", "selection"], lambda: self._move())
        follow(look, "teaching", lambda: self._enlarge())
        self._enlarge()

    def _enlarge(self) -> None:
        """Enlarge the text for the last row of a lecture hall."""
        large = self.session.look.teaching
        classes = ["story", "teach"] if large else ["story"]
        self.story.param.update(css_classes=classes, height=HEIGHTS[large])

    def _slid(self, value: float) -> None:
        self.session.look.step = int(value)

    def _fit(self) -> None:
        shown = self.session.work.shown
        self.slider.update(end=max(1, shown.steps - 1), value=self.session.look.step)
        self._move()

    def _move(self) -> None:
        shown, step = self.session.work.shown, self.session.look.step
        if shown is None or step >= shown.steps:
            return
        self.slider.value = step
        self.title.object = (
            f'<span class="now">{term("Step", "step")} <b>{step + 1}</b> of {shown.steps}</span>'
        )
        self.story.rows = story_rows(shown, step, self.session.look.selection)

    def __panel__(self) -> pn.Column:
        session = self.session
        return pn.Column(
            pn.Row(
                step_button(
                    "⇤", "peak-before", "previous peak: [", lambda: session.cursor.to_peak(-1)
                ),
                step_button(
                    "◀", "step-before", "previous step: ←", lambda: session.cursor.step_by(-1)
                ),
                step_button("▶", "step-after", "next step: →", lambda: session.cursor.step_by(1)),
                step_button("⇥", "peak-after", "next peak: ]", lambda: session.cursor.to_peak(1)),
                self.title,
                pn.pane.Bokeh(
                    self.slider,
                    css_classes=["cursor"],
                    sizing_mode="stretch_width",
                    margin=(6, 20, 6, 8),
                ),
                self.teaching,
                sizing_mode="stretch_width",
                margin=0,
            ),
            self.story,
            sizing_mode="stretch_width",
            css_classes=["stepper", "box"],
            stylesheets=[BOX],
            margin=0,
        )


def step_button(sign: str, name: str, about: str, act: Any) -> pn.widgets.Button:
    """A button with one sign, and its action and key on hover."""
    return button(sign, name, act, description=about, width=38, margin=(2, 2))
