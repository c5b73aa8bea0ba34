"""A still picture of a view in SVG, for where no script runs: a notebook that is only read."""

from __future__ import annotations

import re
import sys
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import holoviews as hv
import numpy as np
from bokeh.models import (
    Axis,
    FixedTicker,
    GraphRenderer,
    GridPlot,
    Line,
    Model,
    Plot,
    Quad,
    Range1d,
    Scatter,
    Span,
    Text,
)
from holoviews.plotting import Plot as HoloViewsPlot
from holoviews.plotting.bokeh import BokehRenderer
from panel.io.resources import CDN_DIST, DIST_DIR

from planners.core.svg import LEFT, RIGHT, Scale, box, drawing, even_step, line, text
from planners.core.units import format_bytes, format_quantity
from planners.plots.style import BACKEND, FORMAT_BYTES, FORMAT_SECONDS, largest

ABOVE, BELOW, TICK = 26, 40, 60
"""Pixels over a frame and under it, and those that a tick has at least."""
DOT, LETTER = 3.5, 6
MOST = 2000
"""Rectangles of a picture, which the notebook keeps."""
CSS = (
    "svg{font:11px sans-serif;background:#fff}.axis{fill:#444}.title{font-weight:bold}"
    ".grid{stroke:#e5e5e5}.limit{stroke:#888;stroke-dasharray:6 3}.edge{stroke:#999}"
)
WHEN_LIVE = ".spillway-view:has([data-root-id]:not(:empty))>img{display:none}"
WORDS: dict[str, Callable[[float], str]] = {
    FORMAT_BYTES.code: format_bytes,
    FORMAT_SECONDS.code: lambda seconds: format_quantity(seconds, "s"),
}
"""What a tick says, by what has a browser say it."""


STYLES = re.compile(re.escape(CDN_DIST) + r"([\w./-]+\.css)(?:\?v=[\w.]+)?")
"""What Panel's outputs fetch from its makers' server, though their scripts are inline."""


def _as_data(style: re.Match[str]) -> str:
    """The style sheet itself, from the installed package, in the place of its address."""
    css = (DIST_DIR / style[1]).read_bytes()
    return f"data:text/css;base64,{b64encode(css).decode()}"


class StillRenderer(BokehRenderer):
    """HoloViews' renderer; each output has a picture too, which hides once the view is there."""

    def components(self, obj: Any, *given: Any, **more: Any) -> tuple[dict[str, Any], Any]:
        data, about = super().components(obj, *given, **more)
        if "text/html" in data:
            data["text/html"] = STYLES.sub(_as_data, data["text/html"])
        figure = obj.state if isinstance(obj, HoloViewsPlot) else hv.render(obj, backend=BACKEND)
        if "text/html" in data and (svg := still_svg(figure)):
            url = f"data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}"
            picture = f'<style>{WHEN_LIVE}</style><img alt="a still picture of it" src="{url}">'
            data["text/html"] = f'<div class="spillway-view">{data["text/html"]}{picture}</div>'
        return data, about


def show_in_notebooks() -> None:
    """Load HoloViews' extension, without which a notebook shows a view's name instead of the view,
    and keep a picture in each output.

    The extension's scripts come with it, from nowhere else; it is not loaded twice. Outside a
    notebook nothing is done.
    """
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if not hasattr(shell, "kernel"):
        return
    if not hv.extension._loaded:
        hv.extension("bokeh", inline=True, logo=False)
    renderer = hv.Store.renderers[BACKEND]
    if not isinstance(renderer, StillRenderer):
        hv.Store.renderers[BACKEND] = StillRenderer.instance(**renderer.param.values())


def still_svg(view: Model) -> str:
    """A picture of a figure, or of several one under the other; empty where something in one is
    not known here."""
    plots = [child[0] for child in view.children] if isinstance(view, GridPlot) else [view]
    parts, high, wide = [f"<style>{CSS}</style>"], 0, 0
    for plot in plots:
        if not isinstance(plot, Plot) or not (drawn := _figure(plot)):
            return ""
        parts.append(f'<g transform="translate(0,{high})">{drawn}</g>')
        high, wide = high + plot.height, max(wide, plot.width)
    kind = "http://www.w3.org/2000/svg"
    return drawing((wide, high), "a still picture", *parts, xmlns=kind, width=wide, height=high)


@dataclass(frozen=True, slots=True)
class FigureFrame:
    """Where a figure's values are in its picture."""

    x: Scale
    y: Scale


def _figure(plot: Plot) -> str:
    x, y = plot.x_range, plot.y_range
    if not isinstance(x, Range1d) or not isinstance(y, Range1d) or not plot.width:
        return ""
    frame = FigureFrame(
        Scale(x.start, x.end, LEFT, plot.width - RIGHT),
        Scale(y.start, y.end, plot.height - BELOW, ABOVE),
    )
    drawn: list[str] = []
    for renderer in plot.renderers:
        if (parts := _drawn(renderer, frame)) is None:
            return ""
        drawn += parts
    named = [text(LEFT, 16, plot.title.text, "title"), *_legend(plot)]
    return "".join([*_axes(plot, frame), *drawn, *named])


def _legend(plot: Plot) -> Iterator[str]:
    """The names of what is drawn, each beside its colour, from the right of the title's line."""
    names = [
        (str(item.label.value), item.renderers[0].glyph.line_color)
        for legend in plot.legend
        if legend.visible
        for item in legend.items
    ]
    right = plot.width - RIGHT
    for words, colour in reversed(names):
        right -= LETTER * len(words) + 6 * DOT
        yield _dot(right, 12, colour) + text(right + 2 * DOT, 16, words, "axis")


def _drawn(renderer: Any, frame: FigureFrame) -> list[str] | None:
    """What a renderer draws; None where that is not known here."""
    if isinstance(renderer, Span):
        at = frame.y(renderer.location)
        inside = frame.y.stop <= at <= frame.y.start
        return [line(frame.x.start, at, frame.x.stop, at, "limit")] if inside else []
    if isinstance(renderer, GraphRenderer):
        return list(_graph(renderer, frame))
    glyph, source = getattr(renderer, "glyph", None), getattr(renderer, "data_source", None)
    if isinstance(glyph, Quad):
        return list(_boxes(glyph, source, frame))
    if isinstance(glyph, Line | Scatter | Text):
        return list(_points(glyph, source, frame))
    return None


def _boxes(glyph: Quad, source: Any, frame: FigureFrame) -> Iterator[str]:
    left, right, bottom, top = (
        np.asarray(_column(getattr(glyph, side), source), dtype=float)
        for side in ("left", "right", "bottom", "top")
    )
    colours = _column(glyph.fill_color, source)
    for k in largest(np.abs((right - left) * (top - bottom)), MOST).tolist():
        first, last = sorted((frame.x(left[k]), frame.x(right[k])))
        upper, lower = sorted((frame.y(bottom[k]), frame.y(top[k])))
        yield box(first, upper, last - first, lower - upper, fill=colours[k])


def _points(glyph: Line | Scatter | Text, source: Any, frame: FigureFrame) -> Iterator[str]:
    places = [
        (frame.x(x), frame.y(y))
        for x, y in zip(_column(glyph.x, source), _column(glyph.y, source), strict=True)
    ]
    if isinstance(glyph, Text):
        for (x, y), words in zip(places, _column(glyph.text, source), strict=True):
            yield text(x, y + 9, str(words), "axis")
    elif isinstance(glyph, Scatter):
        colours = _column(glyph.fill_color, source)
        for (x, y), colour in zip(places, colours, strict=True):
            yield _dot(x, y, colour)
    else:
        at = " ".join(f"{x:.4g},{y:.4g}" for x, y in places)
        yield f'<polyline points="{at}" fill="none" stroke="{glyph.line_color}" stroke-width="2"/>'


def _graph(renderer: GraphRenderer, frame: FigureFrame) -> Iterator[str]:
    nodes, edges = renderer.node_renderer, renderer.edge_renderer.data_source.data
    places = {
        int(node): (frame.x(x), frame.y(y))
        for node, (x, y) in renderer.layout_provider.graph_layout.items()
    }
    for start, end in zip(edges["start"], edges["end"], strict=True):
        yield line(*places[int(start)], *places[int(end)], "edge")
    colours = _column(nodes.glyph.fill_color, nodes.data_source)
    for node, colour in zip(nodes.data_source.data["index"], colours, strict=True):
        yield _dot(*places[int(node)], colour)


def _dot(x: float, y: float, colour: object) -> str:
    return f'<circle cx="{x:.4g}" cy="{y:.4g}" r="{DOT}" fill="{colour}"/>'


def _column(spec: Any, source: Any) -> Sequence[Any]:
    """A glyph's property for each row: a column of its source, or the same for all."""
    name = getattr(spec, "field", spec)
    if isinstance(name, str) and name in source.data:
        return list(source.data[name])
    rows = len(next(iter(source.data.values())))
    return [getattr(spec, "value", spec)] * rows


def _axes(plot: Plot, frame: FigureFrame) -> Iterator[str]:
    for axis in plot.xaxis:
        if axis.visible:
            for value, words in _ticks(axis, frame.x):
                yield text(frame.x(value), frame.y.start + 14, words, "axis", "middle")
            middle = (frame.x.start + frame.x.stop) / 2
            yield text(middle, frame.y.start + 30, axis.axis_label or "", "axis", "middle")
    for axis in plot.yaxis:
        if axis.visible:
            for value, words in _ticks(axis, frame.y):
                at = frame.y(value)
                yield line(frame.x.start, at, frame.x.stop, at, "grid")
                yield text(LEFT - 6, at + 4, words, "axis", "end")
            yield text(LEFT - 6, 16, (axis.axis_label or "").split(" (")[0], "axis", "end")


def _ticks(axis: Axis, scale: Scale) -> list[tuple[float, str]]:
    """Values within an axis, and what is written there."""
    if isinstance(axis.ticker, FixedTicker):
        return [(tick, axis.major_label_overrides.get(tick, "")) for tick in axis.ticker.ticks]
    low, high = sorted((scale.low, scale.high))
    most = max(1, int(abs(scale.stop - scale.start) / TICK))
    code = getattr(axis.formatter, "code", "")
    step = even_step(high - low, most)
    if code == FORMAT_BYTES.code:
        step = 2.0 ** np.ceil(np.log2(max(1.0, (high - low) / most)))
    first = int(np.ceil(low / step))
    values = [k * step for k in range(first, int(high // step) + 1)]
    return [(value, WORDS.get(code, "{:g}".format)(value)) for value in values]
