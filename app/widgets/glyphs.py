"""Layers of a figure: one glyph each, which the browser gets when its source first has rows.

Of some eighty layers of a page a plan fills twenty: the others are for fused groups, pinned plans,
wishes, other planners. A layer is five models, made, sent and visited with each frame, so a page
without the empty ones has half as many models, and is on screen in half the time.

A layer has one look: `figure.quad` and the like make two more of each, for unselected and for muted
rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Self
from weakref import WeakSet

from bokeh.document import Document
from bokeh.models import (
    AllIndices,
    CDSView,
    ColumnDataSource,
    Filter,
    GlyphRenderer,
    GroupFilter,
    HoverTool,
    Plot,
    TapTool,
    glyphs,
)
from bokeh.plotting import figure

KINDS: dict[str, Any] = {
    "annular_wedge": glyphs.AnnularWedge,
    "annulus": glyphs.Annulus,
    "arc": glyphs.Arc,
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
Only = tuple[str, Any]
"""A column, and the value that rows have in it."""
OF_RENDERER = ("x_range_name", "y_range_name", "level", "name", "visible")


class GlyphLayer:
    """What `put` has added to a figure: a glyph for the rows of a source, or for some of them."""

    def __init__(
        self,
        kind: str,
        source: ColumnDataSource,
        beside: ColumnDataSource,
        only: Only | Filter | None,
        look: dict[str, Any],
    ) -> None:
        self.source, self.beside, self.only = source, beside, only
        self.renderer: GlyphRenderer | None = None
        self._kind, self._look = kind, look

    @property
    def has_rows(self) -> bool:
        """Whether there are rows to draw."""
        both: tuple[dict[str, Any], ...] = self.source.data, self.beside.data
        if isinstance(self.only, tuple):
            column, value = self.only
            return value in both[0].get(column, ())  # Not filled yet: it has no such column.
        return any(len(column) for data in both for column in data.values())

    def look(self, **look: Any) -> None:
        """Change how it is drawn."""
        if self.renderer is None:
            self._look |= look
        else:
            self.renderer.glyph.update(**look)

    def make(self, others: Sequence[GlyphRenderer]) -> GlyphRenderer:
        """Make its renderer; `others` are those of the figure."""
        look = dict(self._look)
        about = {name: look.pop(name) for name in OF_RENDERER if name in look}
        every = next((v.view.filter for v in others if isinstance(v.view.filter, AllIndices)), None)
        chosen = self.only
        if isinstance(chosen, tuple):
            chosen = GroupFilter(column_name=chosen[0], group=chosen[1])
        if others:
            self.source.selection_policy = others[0].data_source.selection_policy
        self.renderer = GlyphRenderer(
            data_source=self.source,
            glyph=KINDS[self._kind](**look),
            view=CDSView(filter=chosen or every or AllIndices()),
            selection_glyph=None,
            nonselection_glyph=None,
            hover_glyph=None,
            muted_glyph=None,
            **about,
        )
        return self.renderer


_figures: WeakSet[Layers] = WeakSet()


class Layers:
    """The layers of a figure from back to front, and the tools that use them."""

    def __init__(self, plot: figure) -> None:
        self.plot, self.all = plot, list[GlyphLayer]()
        _figures.add(self)
        self._tools: list[tuple[Any, list[GlyphLayer]]] = []
        self._sources: set[ColumnDataSource] = set()

    @classmethod
    def on_figure(cls, plot: figure) -> Self:
        """The layers of a figure."""
        if "_layers" not in plot.__dict__:
            plot._layers = cls(plot)
        layers: Self = plot._layers
        return layers

    def add(self, layer: GlyphLayer) -> None:
        """Add a layer in front of the others."""
        self.all.append(layer)
        for source in {layer.source, layer.beside} - self._sources:
            self._sources.add(source)
            source.on_change("data", self._filled)
        if layer.has_rows:
            self.settle()

    def show_to(self, tool: Any, layers: Iterable[GlyphLayer]) -> None:
        """Have a tool use layers, once they are drawn."""
        self._tools.append((tool, list(layers)))
        self._aim()

    def settle(self, *, every: bool = False) -> None:
        """Draw layers that have rows by now; `every`: the empty ones too, for a page that fills
        them itself."""
        wanted = [layer.renderer is None and (every or layer.has_rows) for layer in self.all]
        if not any(wanted):
            return
        drawn = list(self.plot.renderers)
        for k, layer in enumerate(self.all):
            if wanted[k]:
                above = next((o.renderer for o in self.all[k + 1 :] if o.renderer), None)
                at = drawn.index(above) if above else len(drawn)
                drawn.insert(at, layer.make([r for r in drawn if isinstance(r, GlyphRenderer)]))
        with looked_for_once(self.plot.document):
            self.plot.renderers = drawn
            self._aim()

    def is_of(self, document: Document | None) -> bool:
        """Whether its figure is in a document; of a page that has been taken apart nothing is."""
        plot: figure | None = vars(self).get("plot")
        return plot is not None and bool(vars(plot)) and plot.document is document

    @property
    def waits(self) -> bool:
        """Whether a layer has rows and is not drawn."""
        return any(layer.renderer is None and layer.has_rows for layer in self.all)

    def _filled(self, _attr: str, _old: Any, _new: Any) -> None:
        if self.waits:
            self.settle()

    def _aim(self) -> None:
        for tool, layers in self._tools:
            drawn = [layer.renderer for layer in layers if layer.renderer]
            if tool.renderers != drawn:
                tool.renderers = drawn


def settle(document: Document | None) -> None:
    """Draw what has rows by now, in all figures of a document.

    While changes are collected, a source already in the document announces its rows to nobody.
    """
    waiting = [each for each in _figures if each.is_of(document) and each.waits]
    if waiting:
        with looked_for_once(document):
            for layers in waiting:
                layers.settle()


def looked_for_once(document: Document | None) -> AbstractContextManager[object]:
    """Bokeh looks for the models of a document once, at the end: it walks all of them, some 40 ms,
    each time that a renderer is put in the place of others."""
    return document.models.freeze() if document else nullcontext()


def recolour_layers(
    place: Document | Plot, change: Callable[[Mapping[str, Any]], Mapping[str, Any]]
) -> None:
    """Change the look of the layers that are not drawn yet, in all figures of a document, or in
    one."""
    for layers in list(_figures):
        for layer in layers.all if place in (layers.plot, layers.plot.document) else ():
            if layer.renderer is None:
                layer.look(**change(layer._look))


def describe(plot: figure, words: str) -> None:
    """Have a figure read out as a picture with this description."""
    plot.html_attributes = {"role": "img", "aria-label": words}


def put(
    plot: figure,
    kind: str,
    *where: Any,
    source: ColumnDataSource,
    beside: ColumnDataSource | None = None,
    only: Any = None,
    **style: Any,
) -> GlyphLayer:
    """Draw a source's rows as glyphs of a kind of `KINDS`; `where` are as `figure`'s method's.

    `beside` is a source that has rows when this one may: the client fills some by itself. `only`,
    an `Only` or a filter, picks rows: those that have a value in a column, or are let through.
    """
    look = {**dict(zip(KINDS[kind]._args, where, strict=False)), **style}
    layer = GlyphLayer(kind, source, beside or source, only, look)
    Layers.on_figure(plot).add(layer)
    return layer


def tell(plot: figure, layers: Iterable[GlyphLayer], tooltips: str, **how: Any) -> None:
    """Add a tooltip to these layers."""
    tool = HoverTool(renderers=[], tooltips=tooltips, **how)
    plot.add_tools(tool)
    Layers.on_figure(plot).show_to(tool, layers)


def tappable(plot: figure, layers: Iterable[GlyphLayer], *, there: bool = False) -> None:
    """Let a tap select what is drawn in these layers; `there`: the browser acts on it by itself."""
    tool, tapped = TapTool(renderers=[]), list(layers)
    plot.add_tools(tool)
    Layers.on_figure(plot).show_to(tool, tapped)
    for layer in tapped if there else ():
        layer.source.selected.syncable = False
