"""The explorer's figures without the explorer: made and filled once, for a standalone page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bokeh.model import Model
from bokeh.models import Range1d
from bokeh.plotting import figure

from app.display.aligning import Warp
from app.display.displayed_plan import DisplayedPlan
from app.kinds.registry import kind_of
from app.kinds.step_axis import axis_of, end_of
from app.kinds.visible_rows import BUNDLED
from app.model.options import weights_in
from app.model.pareto import indexed
from app.model.state import Look
from app.views.cursor.handles import handles, pool_handles
from app.views.dag.view import DagView
from app.views.fronts.delay_front import DelayFront
from app.views.fronts.pareto import Pareto
from app.views.fronts.ram_front import RamFront
from app.views.memory.address_map import AddressMap
from app.views.memory.occupancy import Occupancy
from app.views.memory.ring import RingView
from app.views.memory.run_bars import RunBars
from app.views.timing.timeline import TimelineView
from app.widgets.glyphs import Layers
from app.widgets.palette import Theme


def _nothing(*_: Any) -> None:
    """A tap that would plan does nothing: there is no server."""


class Figures:
    """All figures of a page in one theme; `show` fills those that the plan has."""

    def __init__(self, theme: Theme) -> None:
        self.steps = Range1d(0, 1)
        self.axis = Warp()
        self.dag = DagView(theme)
        self.overview = self.dag.overview
        self.map = AddressMap(theme, self.steps, most=BUNDLED)
        self.occupancy = Occupancy(theme, self.steps, most=BUNDLED)
        self.timeline = TimelineView(theme)
        self.ring, self.bars = RingView(theme), RunBars(theme)
        self.ram = RamFront(theme, _nothing)
        self.delay = DelayFront(theme, _nothing)
        self.pareto = Pareto(theme, _nothing)
        charts = (self.dag, self.overview, self.map, self.occupancy, self.timeline)
        for view in (*charts, self.ring, self.bars, self.ram, self.delay, self.pareto):
            Layers.on_figure(view.figure).settle(every=True)  # the page's script fills some of them

    def show(
        self,
        shown: DisplayedPlan,
        look: Look,
        points: Sequence[dict[str, Any]] = (),
        fronts: Mapping[str, Any] | None = None,
        why: Mapping[str, Any] | None = None,
    ) -> None:
        """Fill the figures with a plan as it is viewed."""
        self.axis = axis_of(shown, look.axis, serial=look.serial)
        end = end_of(self.axis, shown.steps)
        self.steps.update(start=0, end=end, reset_start=0, reset_end=end)
        self.dag.show(shown, look.expanded, look.colour, refit=True)
        self.show_memory(shown, look.memory)
        self.timeline.show(shown, look.serial)
        for figured in (self.map, self.occupancy):
            figured.set_unit(look.unit)
        if shown.pool is not None:
            self.bars.show(shown)
            self.ram.show(shown)
        if shown.stream is not None:
            self.delay.show(shown, fronts or {})
        if points:
            weights = weights_in(shown.plan)
            axes = (look.across, look.metric)
            self.pareto.show(indexed(points, points[-1]["problem"]), shown, axes, weights)
        if why:
            bands = kind_of(shown).bands(shown, why)
            for view in (self.map.groups, self.timeline.groups):
                view.tell(bands)
            self.dag.tell(shown, bands)

    def show_memory(self, shown: DisplayedPlan, memory: str) -> None:
        """Fill address map and occupancy with a memory, or with a part of one."""
        kind = kind_of(shown)
        name = kind.memory(shown, memory)
        self.map.show(shown, name, None, kind.region(shown, memory), moved=self.axis)
        self.occupancy.show(shown, moved=self.axis, memory=name)
        self.occupancy.set_axis(timed=not self.axis.same)

    def roots(
        self,
        shown: DisplayedPlan,
        points: Sequence[Any] = (),
        fronts: Mapping[str, Any] | None = None,
    ) -> dict[str, figure]:
        """The figures that have something to show, by their place on the page."""
        figures = {
            "dag": self.dag.figure,
            "map": self.map.figure,
            "occupancy": self.occupancy.figure,
            "timeline": self.timeline.figure,
        }
        if self.overview.ever:
            figures["overview"] = self.overview.figure
        if shown.pool is not None:
            figures |= {"ring": self.ring.figure, "bars": self.bars.figure, "ram": self.ram.figure}
        if shown.stream is not None and fronts:
            figures["delay"] = self.delay.figure
        if points:
            figures["pareto"] = self.pareto.figure
        return figures

    def handles(self, shown: DisplayedPlan) -> dict[str, Model]:
        """The models that the page's script moves, fills and listens to, by the names in the
        script."""
        models = handles(self.dag, self.map, self.occupancy, self.timeline)
        if shown.pool is not None:
            models |= pool_handles(self.ring, self.bars)
        return models
