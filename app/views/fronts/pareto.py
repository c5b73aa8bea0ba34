"""The Pareto plot: what one quantity costs in another, with several planners."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import nan
from typing import Any

from bokeh.events import LegendItemClick
from bokeh.models import (
    AdaptiveTicker,
    ColumnDataSource,
    CustomJS,
    CustomJSFilter,
    CustomJSTickFormatter,
    FixedTicker,
    Legend,
    LegendItem,
    Range1d,
)
from bokeh.plotting import figure

from app.display.displayed_plan import DisplayedPlan
from app.model.options import apart
from app.model.pareto import (
    FLOORS,
    Point,
    bands,
    best,
    by_series,
    floor,
    full_rate_stairs,
    indexed,
    proof_text,
    proven_bounds,
    stairs,
    unit,
    value,
)
from app.model.paths import script
from app.model.staircase import staircase
from app.model.units import joules_text, seconds_text
from app.session.session import Session
from app.widgets.axes import FORMAT_ADDRESS, FORMAT_SECONDS, KIB_TICKS
from app.widgets.glyphs import Layers, put, tappable, tell
from app.widgets.palette import Theme, dress, tooltip
from app.widgets.taps import tapped_rows
from planners.core.colours import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILLION, YELLOW
from planners.core.units import format_bytes

LOOKS = (
    (BLUE, "circle", "●"),
    (ORANGE, "square", "■"),
    (GREEN, "triangle", "▲"),
    (PURPLE, "diamond", "◆"),
    (VERMILLION, "inverted_triangle", "▼"),
    (SKY, "hex", "⬢"),
    (GREY, "star", "★"),
    (YELLOW, "square_pin", "✦"),
    # A sweep beside a stored front has more than eight: the same colours in other shapes.
    (BLUE, "diamond", "◆"),
    (ORANGE, "triangle", "▲"),
    (GREEN, "square", "■"),
    (PURPLE, "circle", "●"),
    (VERMILLION, "star", "★"),
    (SKY, "inverted_triangle", "▼"),
    (GREY, "square_pin", "✦"),
    (YELLOW, "hex", "⬢"),
)
MARKED = ("x", "y", "fill_alpha", "line_alpha", "index", "series")
DRAWN = (*MARKED, "colour", "marker")
COLUMNS = (*DRAWN, "budget", "peak", "traffic", "time", "energy", "proof")
KEYS = ("x", "y", "colour", "marker", "series")
"""What the legend draws of planners: nowhere in the chart, and as strong as any point."""
LINES = ("xs", "ys", "colour", "dash", "alpha", "series")
ENDS = ("x0", "y0", "x1", "y1")
FAINT = 0.3
TITLES = {
    "memory": "memory budget",
    "peak": "peak of memory used",
    "latency": "latency",
    "traffic": "off-chip traffic",
    "energy": "energy",
}
FORMAT_JOULES = FORMAT_SECONDS.replace("s'", "J'")
PROVEN = "proven bound on traffic"
HERE = "plan on screen"
FULL_RATE = "same plans, every operator at full rate"
LIKELY = "likely, by the accuracy of the machine"
LEAST = "least possible"
NOT_HIDDEN = "return source.get_column('series').map((name) => !legend.tags.includes(name));"
HIDE = script("front_hide")
Line = tuple[Sequence[float], Sequence[float], str, Any, float, str]
"""What `LINES` have."""
LONG_NAME = 18
"""Letters of a name beside which there is room for one more than two."""
SOLID, FULL = "solid", 1.0
APART = [6, 4]
"""The dashes of lines of another problem than the others: weights do something else in them."""


class Looks:
    """Which colour and marker each planner has, the same in all charts of a page."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    def of_planner(self, name: str) -> tuple[str, str, str]:
        """Colour, marker and letter; the seventeenth has those of the first."""
        return LOOKS[self._places.setdefault(name, len(self._places)) % len(LOOKS)]


class Pareto:
    """A figure that fills in while a sweep runs; a tap on a point loads its plan."""

    def __init__(
        self,
        theme: Theme,
        load: Callable[[int], None],
        looks: Looks | None = None,
        *,
        large: bool = False,
    ) -> None:
        self.load, self.looks, self.large = load, looks or Looks(), large
        self.points = ColumnDataSource({name: [] for name in COLUMNS})
        self.lines = ColumnDataSource({name: [] for name in LINES})
        self.keys = ColumnDataSource({name: [] for name in KEYS})
        self.here = ColumnDataSource({"x": [], "y": []})
        self.likely = ColumnDataSource({name: [] for name in (*ENDS, "colour")})
        self.x_range, self.y_range = Range1d(0, 1), Range1d(0, 1)
        self.axes: tuple[str, str] = ("", "")
        self._told: list[Any] = []
        self.figure = self._figure(theme)
        self.points.selected.on_change("indices", self._tapped)

    def _figure(self, theme: Theme) -> figure:
        plot = figure(
            height=372 if self.large else 300,
            sizing_mode="stretch_width",
            x_range=self.x_range,
            y_range=self.y_range,
            tools="xpan,ypan,box_zoom,reset,save" if self.large else "reset,save",
            active_drag=None,
            css_classes=["pareto-large" if self.large else "pareto"],
        )
        dress(plot, theme)
        self._glyphs(plot, theme)
        plot.min_border_left = 78
        self.ticks = {
            "x": Ticks(self.x_range, 4 if self.large else 2),
            "y": Ticks(self.y_range, 6 if self.large else 4),
        }
        return plot

    def _glyphs(self, plot: figure, theme: Theme) -> None:
        ends = dict(zip(ENDS, ENDS, strict=True))
        look: dict[str, Any] = {"line_color": "colour", "line_width": 5, "line_alpha": 0.3}
        likely = put(plot, "segment", source=self.likely, **ends, **look)
        legend = legend_of(theme, 3 if self.large else 2)
        seen = CustomJSFilter(args={"legend": legend}, code=NOT_HIDDEN)
        lines = put(
            plot,
            "multi_line",
            "xs",
            "ys",
            source=self.lines,
            only=seen,
            line_color="colour",
            line_dash="dash",
            line_alpha="alpha",
            line_width=1.6,
        )
        here = put(
            plot,
            "scatter",
            "x",
            "y",
            source=self.here,
            marker="circle",
            size=19,
            fill_color=None,
            line_color=theme.text,
            line_width=2,
        )
        self.dots = put(
            plot,
            "scatter",
            "x",
            "y",
            source=self.points,
            only=seen,
            marker="marker",
            size=11 if self.large else 9,
            fill_color="colour",
            fill_alpha="fill_alpha",
            line_color="colour",
            line_alpha="line_alpha",
            line_width=1.7,
        )
        look = {"marker": "marker", "size": 9, "line_color": "colour", "line_width": 1.7}
        keys = put(plot, "scatter", "x", "y", source=self.keys, fill_color=None, **look)
        self.marks = {"keys": keys, "here": here, "likely": likely, "lines": lines}
        hover = ("latency @time", "traffic @traffic", "energy @energy", "peak @peak", "@proof")
        tell(plot, [self.dots], tooltip("@budget, @series", *hover, "<i>tap to see its plan</i>"))
        tappable(plot, [self.dots])
        legend.js_on_event(LegendItemClick, CustomJS(args={"seen": seen}, code=HIDE))
        plot.add_layout(legend, "below")

    def show(
        self,
        points: Sequence[dict[str, Any]],
        shown: DisplayedPlan | None,
        axes: tuple[str, str],
        weights: str = "",
    ) -> None:
        """Draw all points (`app.model.pareto.indexed`), each planner's front, bounds, the plan on
        screen.

        `axes` are those of `app.model.pareto.AXES` across and up. `weights` is what the problem
        of the plan on screen says of them: it is not ringed among points of another. The line of a
        planner that cannot have that is dashed.
        """
        across, metric = axes
        self._turn(across, metric)
        self.points.data = point_columns(points, across, metric, self.looks)
        same = not points or weights in ("", points[-1]["problem"]["weights"])
        names = list(by_series(points))
        looks = [(nan, nan, *self.looks.of_planner(name)[:2], name) for name in names]
        self.keys.data = {name: [look[k] for look in looks] for k, name in enumerate(KEYS)}
        self.here.data = here_columns(shown if same else None, across, metric)
        lines = [*self._bounds(points, shown), *self._fronts(points)]
        self.lines.data = {name: [line[k] for line in lines] for k, name in enumerate(LINES)}
        self._doubt(points, shown)
        self._say_budgets(points, shown if same else None)
        self._name(same and shown is not None)
        self._fit()

    def _fronts(self, points: Sequence[Point]) -> Iterator[Line]:
        """A planner's front as stairs; dashed where its problem is another one."""
        for name, series_points in by_series(points).items():
            xs, ys = stairs([points[i] for i in series_points], *self.axes)
            dash = APART if apart(points[series_points[0]]["problem"]) else SOLID
            yield xs, ys, self.looks.of_planner(name)[0], dash, FULL, name

    def _turn(self, across: str, metric: str) -> None:
        if (across, metric) == self.axes:
            return
        self.axes = across, metric
        plot = self.figure
        plot.title.text = f"{TITLES[metric].capitalize()} by {TITLES[across]}"
        for side, axis, name in (("x", plot.xaxis[0], across), ("y", plot.yaxis[0], metric)):
            axis.axis_label = TITLES[name]
            axis.ticker, axis.formatter = self.ticks[side].for_unit(unit(name))

    def _say_budgets(self, points: Sequence[Point], shown: DisplayedPlan | None) -> None:
        """Write budgets where there are points, that of the plan on screen first."""
        axis = self.figure.xaxis[0]
        if self.axes[0] != "memory" or not points:
            axis.major_label_overrides = {}
            axis.ticker = self.ticks["x"].for_unit(unit(self.axes[0]))[0]
            return
        budgets = sorted({p["budget_bytes"] for p in points}, reverse=True)
        first = [shown.plan.budget_bytes] if shown else []
        ends = budgets[0], budgets[-1]
        ticks = spread([*first, *ends, *budgets], 0.12 if self.large else 0.3)
        axis.major_label_overrides = {budget: format_bytes(budget) for budget in ticks}
        axis.ticker = FixedTicker(ticks=ticks)

    def _bounds(self, points: Sequence[Point], shown: DisplayedPlan | None) -> Iterator[Line]:
        """What no plan is better than, and, in large, the same plans without what the machine's
        array costs."""
        if points and shown is not None:
            spans = [[value(p, name) for p in points] for name in self.axes]
            if self.axes == ("memory", "traffic"):
                proven = staircase(sorted(proven_bounds(points).items()), max(spans[0]))
                yield proven["x"], proven["y"], GREY, "dotted", FULL, PROVEN
            across, metric = self.axes
            for name, other, along in ((metric, 0, False), (across, 1, True)):
                least = floor(points, name, shown.graph, shown.plan.machine)
                if least is None:
                    continue
                reach, level = [min(spans[other]), max(spans[other])], [least, least]
                ends = (level, reach) if along else (reach, level)
                label = FLOORS[name] if self.large else LEAST
                yield *ends, GREY, [8, 4], FULL, label
        xs, ys = full_rate_stairs(points if self.large else (), *self.axes)
        if xs:
            yield xs, ys, GREY, SOLID, 0.5, FULL_RATE

    def _doubt(self, points: Sequence[Point], shown: DisplayedPlan | None) -> None:
        """Between what each time is likely."""
        doubts = bands(points, shown.plan.machine, *self.axes) if shown else dict[str, list[Any]]()
        colours = [self.looks.of_planner(name)[0] for name in doubts.get("of", ())]
        self.likely.data = {name: doubts.get(name, []) for name in ENDS} | {"colour": colours}

    def _name(self, ringed: bool) -> None:
        """Name in the legend what is drawn; a click on a planner hides it."""
        dots: dict[str, Any] = self.points.data
        lines: dict[str, Any] = self.lines.data
        named: dict[str, tuple[str, int | None]]
        named = {name: ("keys", k) for k, name in enumerate(dict.fromkeys(dots["series"]))}
        if ringed:
            named[HERE] = "here", None
        of_lines = {name: ("lines", k) for k, name in enumerate(lines["series"])}
        named |= {name: where for name, where in of_lines.items() if name not in named}
        if self.large and any(self.likely.data.values()):
            named[LIKELY] = "likely", None
        if self._told == list(named.items()):
            return
        self._told = list(named.items())
        Layers.on_figure(self.figure).settle()  # an entry needs a drawn layer
        short = {name: name if self.large else name.replace("(weights ", "(") for name in named}
        roomy = all(len(name) <= LONG_NAME for name in short.values())
        legend = self.figure.legend[0]
        legend.update(ncols=3 if self.large and roomy else 2, tags=[])
        legend.items = [
            LegendItem(label=short[name], name=name, index=index, renderers=drawn)
            for name, (layer, index) in named.items()
            if (drawn := [r for r in [self.marks[layer].renderer] if r])
        ]

    def _fit(self) -> None:
        """Set axes that hold everything; in small charts a bound far below is left out."""
        for axis, name, low in ((self.x_range, "x", 0.06), (self.y_range, "y", 0.12)):
            values = [v for source in (self.points, self.here) for v in source.data[name]]
            values += [v for end in "01" for v in self.likely.data[name + end]]
            lines: dict[str, Any] = self.lines.data
            values += [v for line in lines[name + "s"] for v in line]
            if values:
                margin = (max(values) - min(values)) * low or max(values) * 0.1 or 1.0
                start, end = max(0, min(values) - margin), max(values) + margin * 1.6
                axis.update(start=start, end=end, reset_start=start, reset_end=end)

    def _tapped(self, _attr: str, _old: list[int], new: list[int]) -> None:
        for row in tapped_rows(self.points, new):
            self.load(self.points.data["index"][row])


class Ticks:
    """Tickers and formatters of one axis, by unit; made once."""

    def __init__(self, around: Range1d, ticks: int) -> None:
        kib = AdaptiveTicker(base=1024, mantissas=KIB_TICKS, desired_num_ticks=ticks)
        size = CustomJSTickFormatter(code=FORMAT_ADDRESS, tags=["KiB"])
        size.args = {"unit": size}
        self._made: dict[str, tuple[Any, Any]] = {"B": (kib, size)}
        for name, code in (("s", FORMAT_SECONDS), ("J", FORMAT_JOULES)):
            ticker = AdaptiveTicker(desired_num_ticks=ticks)
            self._made[name] = ticker, CustomJSTickFormatter(code=code, args={"range": around})

    def for_unit(self, unit: str) -> tuple[Any, Any]:
        """Ticker and formatter of a unit."""
        return self._made[unit]


def spread(values: Sequence[int], apart: float) -> list[int]:
    """Those of the values that are at least so far, as a share of all, from each one before."""
    least, kept = apart * (max(values) - min(values)), list[int]()
    for each in values:
        if all(abs(each - other) >= max(least, 1) for other in kept):
            kept.append(each)
    return sorted(kept)


def draw(view: Pareto, session: Session) -> None:
    """Draw the session's points, of the graph and machine that its charts are about."""
    look, of = session.look, session.charted
    is_current = of == session.work.shown_for
    weights = of["weights"] if of and is_current else ""
    shown = session.work.shown if is_current else None
    view.show(indexed(session.work.points, of), shown, (look.across, look.metric), weights)


def legend_of(theme: Theme, columns: int) -> Legend:
    """A legend under the chart; its tags are the names of what is hidden."""
    return Legend(
        items=[],
        label_text_font_size="10.5px",
        label_text_color=theme.text,
        background_fill_color=None,  # white would be Bokeh's default, which its theme changes
        border_line_color=None,
        spacing=10,
        padding=2,
        glyph_height=14,
        glyph_width=18,
        orientation="horizontal",
        ncols=columns,
        margin=0,
    )


def point_columns(
    points: Sequence[dict[str, Any]], across: str, metric: str, looks: Looks
) -> dict[str, list[Any]]:
    """A row for each point, planner by planner; points that another one beats are faint.

    What is not proven is an open marker.
    """
    winners = best(points, across, metric)
    columns: dict[str, list[Any]] = {column: [] for column in COLUMNS}
    for name, series_points in by_series(points).items():
        colour, marker, _ = looks.of_planner(name)
        for i in series_points:
            p, strong = points[i], 1.0 if i in winners else FAINT
            sizes = (p["budget_bytes"], p["peak_bytes"], p["traffic_bytes"])
            filled = strong if p["status"] == "optimal" else 0.0
            row = (value(p, across), value(p, metric), filled, strong, p["index"], name)
            words = [*map(format_bytes, sizes), seconds_text(p["makespan_s"])]
            words += [joules_text(p["energy_j"]), proof_text(p)]
            for column, item in zip(COLUMNS, (*row, colour, marker, *words), strict=True):
                columns[column].append(item)
    return columns


def here_columns(shown: DisplayedPlan | None, across: str, metric: str) -> dict[str, list[Any]]:
    """The place of the plan on screen."""
    if shown is None:
        return {"x": [], "y": []}
    has = on_axes(shown)
    return {"x": [has[across]], "y": [has[metric]]}


def on_axes(shown: DisplayedPlan) -> dict[str, float]:
    """What a plan has on each axis."""
    return {
        "memory": shown.plan.budget_bytes,
        "peak": shown.report.peak_bytes,
        "latency": shown.trace.makespan_s,
        "traffic": shown.report.traffic_bytes,
        "energy": shown.trace.energy_j,
    }
