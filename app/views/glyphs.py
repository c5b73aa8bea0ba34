"""Glyphs with one look: `figure.quad` and the like make two more of each, for what is not selected
and for what is muted, and a page three times as many glyphs, made, sent and drawn by nobody."""

from __future__ import annotations

from typing import Any

from bokeh.models import AllIndices, CDSView, ColumnDataSource, GlyphRenderer, glyphs
from bokeh.plotting import figure

KINDS: dict[str, Any] = {
    "annular_wedge": glyphs.AnnularWedge,
    "bezier": glyphs.Bezier,
    "hbar": glyphs.HBar,
    "line": glyphs.Line,
    "multi_line": glyphs.MultiLine,
    "quad": glyphs.Quad,
    "rect": glyphs.Rect,
    "scatter": glyphs.Scatter,
    "segment": glyphs.Segment,
    "step": glyphs.Step,
    "text": glyphs.Text,
}
OF_RENDERER = ("x_range_name", "y_range_name", "level", "name", "visible")


def put(
    plot: figure,
    kind: str,
    *where: Any,
    source: ColumnDataSource,
    view: CDSView | None = None,
    **style: Any,
) -> GlyphRenderer:
    """Draw a source's rows as glyphs of a kind of `KINDS`; `where` are as `figure`'s method's."""
    about = {name: style.pop(name) for name in OF_RENDERER if name in style}
    glyph = KINDS[kind](**dict(zip(KINDS[kind]._args, where, strict=False)), **style)
    others = [other for other in plot.renderers if isinstance(other, GlyphRenderer)]
    if view is None:
        every = next((v.view.filter for v in others if isinstance(v.view.filter, AllIndices)), None)
        view = CDSView(filter=every or AllIndices())
    if others:
        source.selection_policy = others[0].data_source.selection_policy
    drawn = GlyphRenderer(
        data_source=source,
        glyph=glyph,
        view=view,
        selection_glyph=None,
        nonselection_glyph=None,
        hover_glyph=None,
        muted_glyph=None,
        **about,
    )
    plot.renderers.append(drawn)
    return drawn
