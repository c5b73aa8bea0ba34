"""The address map: which bytes of the scratchpad hold which tensor at which step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bokeh.models import (
    AdaptiveTicker,
    ColumnDataSource,
    CustomJS,
    CustomJSTickFormatter,
    HoverTool,
    Range1d,
    Span,
    TapTool,
)
from bokeh.plotting import figure

from app.groups import chosen_groups
from app.shown import Shown
from app.state import selected_tensors
from app.views.group_bands import GroupBands, step_places
from app.views.hatched import hatched
from app.views.outlines import Outlines
from app.views.palette import DARK_INK, STAYS, Theme, cursor_band, dress, stay_of, tooltip
from planners.units import format_bytes

KIB_TICKS = [2**i for i in range(10)]
AXIS_WIDTH = 82
COLUMNS = ("left", "right", "bottom", "top", "colour", "hatch", "tensor", "what", "size", "address")
MORE = ("steps", "story", "label", "label_x", "label_y")

FIT_LABELS = """
const wide = plot.inner_width / (steps.end - steps.start);
const high = plot.inner_height / (range.end - range.start);
const data = source.data;
data.label = data.tensor.map((name, i) => {
  if ((data.top[i] - data.bottom[i]) * high < 13) return '';
  const letters = Math.floor(((data.right[i] - data.left[i]) * wide - 4) / 6);
  return name.length <= letters ? name : letters < 4 ? '' : '…' + name.slice(1 - letters);
});
source.change.emit();
"""
FORMAT_ADDRESS = """
if (unit.tags[0] == 'hex') return '0x' + Math.round(tick).toString(16).toUpperCase();
if (high.end < 16384) return tick.toLocaleString('en') + ' B';
const kib = tick / 1024;
return kib.toLocaleString('en', {maximumFractionDigits: 1}) + ' KiB';
"""


class AddressMap:
    """A figure that is made once; a plan replaces its data, the client moves its cursor."""

    def __init__(
        self,
        theme: Theme,
        x_range: Range1d,
        select: Callable[[str], None],
        select_group: Callable[[int], None],
    ) -> None:
        self.select = select
        self.groups = GroupBands(select_group)
        self.source = ColumnDataSource({name: [] for name in (*COLUMNS, *MORE)})
        self.chosen = ColumnDataSource({name: [] for name in ("left", "right", "bottom", "top")})
        self.marks = ColumnDataSource({name: [] for name in ("x", "y", "angle", "colour")})
        self.y_range = Range1d(0, 1)
        self.limit = Span(location=0, dimension="width", line_dash="dashed", line_width=1.5)
        self.cursor = cursor_band(theme)
        self.figure = self._figure(theme, x_range)
        self.source.selected.on_change("indices", self._tapped)

    def _figure(self, theme: Theme, x_range: Range1d) -> figure:
        plot = figure(
            height=272,
            sizing_mode="stretch_width",
            x_range=x_range,
            y_range=self.y_range,
            tools="xwheel_zoom,xpan,box_zoom,reset,save",
            active_scroll=None,
            output_backend="webgl",
            y_axis_label="address",
            css_classes=["address-map"],
        )
        dress(plot, theme)
        self._glyphs(plot, theme)
        plot.xaxis.visible = False
        plot.min_border_left = AXIS_WIDTH
        plot.yaxis.ticker = AdaptiveTicker(base=1024, mantissas=KIB_TICKS, desired_num_ticks=6)
        self.formatter = CustomJSTickFormatter(code=FORMAT_ADDRESS)
        self.formatter.tags = ["KiB"]
        self.formatter.args = {"unit": self.formatter, "high": self.y_range}
        plot.yaxis.formatter = self.formatter
        self.limit.line_color = theme.text
        self.strip = Range1d(0, 1)
        plot.extra_y_ranges = {"strip": self.strip}
        across = {"bottom": 0.935, "top": 0.995, "y_range_name": "strip"}
        self.groups.draw(plot, theme, x_range, across, 0.965)
        plot.add_layout(self.limit)
        plot.add_layout(self.cursor)
        self._keep_labels_fitting(plot, x_range)
        return plot

    def _keep_labels_fitting(self, plot: figure, x_range: Range1d) -> None:
        """The client knows how wide a rectangle is, so it decides which names fit."""
        args = {"plot": plot, "steps": x_range, "range": self.y_range, "source": self.source}
        fit = CustomJS(args=args, code=FIT_LABELS)
        for around in (x_range, self.y_range):
            around.js_on_change("end", fit)
        plot.js_on_change("inner_width", fit)
        self.source.js_on_change("data", fit)

    def _glyphs(self, plot: figure, theme: Theme) -> None:
        box = {"left": "left", "right": "right", "bottom": "bottom", "top": "top"}
        rects = hatched(
            plot,
            "quad",
            self.source,
            [hatch for _, hatch, _ in STAYS.values()],
            **box,
            fill_color="colour",
            fill_alpha=0.85,
            line_color=theme.outline,
            line_width=1,
            hatch_color=theme.outline,
            hatch_alpha=0.55,
            hatch_scale=9,
            hatch_weight=1.4,
        )
        self.outlines = Outlines(plot, theme)
        plot.quad(**box, source=self.chosen, fill_color=None, line_color=theme.text, line_width=2.5)
        plot.text(
            x="label_x",
            y="label_y",
            text="label",
            source=self.source,
            text_color=DARK_INK,
            text_align="center",
            text_baseline="middle",
            text_font_size="10.5px",
        )
        plot.scatter(
            x="x",
            y="y",
            marker="triangle",
            angle="angle",
            size=11,
            source=self.marks,
            fill_color="colour",
            line_color=theme.outline,
        )
        lines = ("@what, @size", "@address", "@steps", "@story")
        plot.add_tools(
            HoverTool(renderers=rects, tooltips=tooltip("@tensor", *lines)),
            TapTool(renderers=rects),
        )

    def show(self, shown: Shown, memory: str, pinned: Shown | None = None) -> None:
        """Draw a plan's residencies in a memory, on axes that hold those of the pinned one too."""
        rows = map_rows(shown, memory)
        columns = {name: [row[name] for row in rows] for name in (*COLUMNS, *MORE)}
        self.source.data = columns
        self.marks.data = map_marks(rows)
        self.chosen.data = {name: [] for name in ("left", "right", "bottom", "top")}
        budget = shown.plan.budget_bytes
        self.limit.location = budget
        self.outlines.show(shown, pinned, memory)
        tops = [max(s.plan.budget_bytes, s.report.extent_bytes) for s in (shown, pinned) if s]
        self.groups.show(shown, step_places(shown), {})
        self.y_range.update(start=0, end=max(tops) * (1.1 if shown.groups else 1.04))
        self.y_range.update(reset_start=0, reset_end=self.y_range.end)

    def highlight(self, shown: Shown, selection: str) -> None:
        """Outline what is selected, wherever it sits."""
        names = set(selected_tensors(shown.graph, selection))
        data: dict[str, Any] = self.source.data
        self.groups.highlight(chosen_groups(shown, selection))
        hits = [i for i, tensor in enumerate(data["tensor"]) if tensor in names]
        self.chosen.data = {
            side: [data[side][i] for i in hits] for side in ("left", "right", "bottom", "top")
        }

    def set_unit(self, unit: str) -> None:
        """Write addresses in KiB or hexadecimal."""
        self.formatter.tags = [unit]
        self.formatter.code = FORMAT_ADDRESS + f"// {unit}"

    def _tapped(self, _attr: str, _old: list[int], new: list[int]) -> None:
        if new:
            tensor = self.source.data["tensor"][new[0]]
            self.source.selected.indices = []
            self.select(tensor)


def map_rows(shown: Shown, memory: str) -> list[dict[str, Any]]:
    """One row for each span of each residency in a memory."""
    outputs = set(shown.graph.outputs)
    rows = []
    for residency in shown.report.residencies:
        if residency.memory != memory:
            continue
        left, right = shown.columns(residency)
        stay = stay_of(residency.origin, residency.ending, residency.tensor in outputs)
        colour, hatch, story = STAYS[stay]
        for span in residency.spans:
            rows.append(
                {
                    "left": left,
                    "right": right,
                    "bottom": span.start,
                    "top": span.stop,
                    "colour": colour,
                    "hatch": hatch,
                    "tensor": residency.tensor,
                    "what": describe(shown, residency.tensor),
                    "size": format_bytes(residency.size_bytes),
                    "address": f"{span.start:#x} – {span.stop:#x} ({format_bytes(span.start)})",
                    "steps": f"steps {left + 1} – {right}",
                    "story": story,
                    "label": "",
                    "label_x": (left + right) / 2,
                    "label_y": (span.start + span.stop) / 2,
                    "stay": stay,
                    "ending": residency.ending,
                    "origin": residency.origin,
                }
            )
    return rows


def map_marks(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """A triangle up where something leaves the chip, one down where it comes back."""
    marks: dict[str, list[Any]] = {"x": [], "y": [], "angle": [], "colour": []}

    def add(x: float, row: dict[str, Any], angle: float, stay: str) -> None:
        marks["x"].append(x)
        marks["y"].append(row["label_y"])
        marks["angle"].append(angle)
        marks["colour"].append(STAYS[stay][0])

    for row in rows:
        if row["origin"] == "retrieve":
            add(row["left"], row, 3.141592653589793, "came back")
        if row["ending"] in ("spill", "drop"):
            add(row["right"], row, 0.0, "leaves")
    return marks


def describe(shown: Shown, tensor: str) -> str:
    """Kind and shape of a tensor."""
    found = shown.graph.tensors[tensor]
    return f"{found.kind} {'×'.join(map(str, found.shape)) or 'scalar'}"
