"""A range of steps, dragged over in a view of steps or of time, and marked in all of them."""

from __future__ import annotations

from collections.abc import Callable

from bokeh.events import SelectionGeometry
from bokeh.models import BoxAnnotation, BoxSelectTool
from bokeh.plotting import figure

from app.display.aligning import Warp
from app.display.displayed_plan import DisplayedPlan
from app.display.step_ranges import StepRange, between, range_of
from app.widgets.palette import Theme

Take = Callable[[StepRange], object]


class RangeMarks:
    """The tool of each view, and the band that marks the selected range in it.

    `ask` gives the plan on screen, and whether its times are one after the other; `axis` is where
    steps are in the views of steps. In the last of these a plain drag selects, in those of time
    the tool does.
    """

    def __init__(
        self,
        theme: Theme,
        by_step: list[figure],
        by_time: list[figure],
        ask: tuple[Callable[[], DisplayedPlan | None], Callable[[], bool]],
        axis: Callable[[], Warp],
        take: Take,
    ) -> None:
        self.theme = theme
        self.shown, self.serial = ask
        self.axis, self.take = axis, take
        self.by_step = [_band() for _ in by_step]
        self.by_time = [_band() for _ in by_time]
        self._views = dict(zip(map(id, self.by_step + self.by_time), [*by_step, *by_time]))
        for plot in by_time:
            self._listen(plot, timed=True)
        # Others are panned by a drag.
        by_step[-1].toolbar.active_drag = self._listen(by_step[-1], timed=False)

    def _listen(self, plot: figure, *, timed: bool) -> BoxSelectTool:
        tool = BoxSelectTool(
            dimensions="width",
            renderers=[],
            persistent=False,
            description="drag over steps to see traffic, stalls and peaks in them",
        )
        plot.add_tools(tool)
        plot.on_event(SelectionGeometry, lambda event: self._dragged(event, timed=timed))
        return tool

    def _dragged(self, event: SelectionGeometry, *, timed: bool) -> None:
        shown, where = self.shown(), event.geometry
        if shown is None or where.get("type") != "rect" or not event.final:
            return
        start, stop = float(where["x0"]), float(where["x1"])
        if timed:
            start, stop = steps_at(shown, start, stop, serial=self.serial())
        else:
            start, stop = self.axis().back(start), self.axis().back(stop)
        if (span := between(start, stop, shown.steps)) is not None:
            self.take(span)

    def mark(self, selection: str) -> None:
        """Show the range that is selected, or none."""
        shown = self.shown()
        span = range_of(selection, shown.steps) if shown else None
        for band in [*self.by_step, *self.by_time]:
            band.visible = span is not None
            plot = self._views[id(band)]
            if band.visible and band not in plot.center:  # from the first range on
                band.update(fill_color=self.theme.accent, line_color=self.theme.accent)
                plot.add_layout(band)
        if shown is None or span is None:
            return
        seconds = shown.serial_step_seconds if self.serial() else shown.step_seconds
        inside = seconds[span.start : span.stop]
        for band in self.by_step:
            band.update(left=self.axis()(span.start), right=self.axis()(span.stop))
        for band in self.by_time:
            band.update(left=min(a for a, _ in inside), right=max(b for _, b in inside))


def _band() -> BoxAnnotation:
    return BoxAnnotation(
        left=0,
        right=0,
        visible=False,
        fill_alpha=0.12,
        line_width=1.5,
        level="overlay",
        propagate_hover=True,
    )


def steps_at(
    shown: DisplayedPlan, start: float, stop: float, *, serial: bool
) -> tuple[float, float]:
    """The first and the last step that run between two times, as places on the axis of steps."""
    seconds = shown.serial_step_seconds if serial else shown.step_seconds
    low, high = sorted((start, stop))
    inside = [step for step, (a, b) in enumerate(seconds) if b > low and a < high]
    return (min(inside), max(inside) + 1) if inside else (0.0, 0.0)
