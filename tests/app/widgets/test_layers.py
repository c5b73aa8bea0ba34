"""What the browser gets only when there is something to see in it."""

from __future__ import annotations

from typing import Any

import panel as pn
import param
import pytest
from bokeh.document import Document
from bokeh.models import ColumnDataSource, CustomJS, HoverTool, TapTool
from bokeh.plotting import figure
from panel.io.state import set_curdoc

from app.widgets.deferred import seen
from app.widgets.following import follow
from app.widgets.glyphs import Layers, put, tappable, tell
from app.widgets.hatched import hatched


def source(**columns: list[Any]) -> ColumnDataSource:
    return ColumnDataSource(columns or {"x": [], "y": []})


def drawn(plot: figure) -> list[str]:
    return [type(renderer.glyph).__name__ for renderer in plot.renderers]


def test_a_layer_is_drawn_from_its_first_row_on_and_in_its_place() -> None:
    plot, back, front = figure(), source(), source(x=[1], y=[2])
    put(plot, "line", "x", "y", source=back)
    put(plot, "scatter", "x", "y", source=front)
    assert drawn(plot) == ["Scatter"]
    back.data = {"x": [0, 1], "y": [1, 2]}
    assert drawn(plot) == ["Line", "Scatter"]
    kept = plot.renderers
    back.data = {"x": [], "y": []}
    back.data = {"x": [3], "y": [4]}
    assert plot.renderers == kept


def test_tools_look_at_what_is_drawn() -> None:
    plot, rows = figure(tools=""), source()
    layer = put(plot, "scatter", "x", "y", source=rows)
    tell(plot, [layer], "@x", mode="vline")
    tappable(plot, [layer])
    hover, tap = plot.select_one(HoverTool), plot.select_one(TapTool)
    assert hover.renderers == tap.renderers == []
    rows.data = {"x": [1], "y": [1]}
    assert hover.renderers == tap.renderers == plot.renderers
    assert hover.mode == "vline"


def test_a_layer_that_the_client_fills_comes_with_the_source_beside_it() -> None:
    plot, names, rects = figure(), source(), source()
    put(plot, "text", "x", "y", source=names, beside=rects)
    rects.data = {"x": [1], "y": [1]}
    assert drawn(plot) == ["Text"]
    assert plot.renderers[0].data_source is names


def test_each_hatch_comes_with_the_first_row_that_has_it() -> None:
    plot, rows = figure(), source(x=[], hatch=[])
    plain, dotted = hatched(plot, "quad", rows, [" ", "dot"], left="x", hatch_alpha=0.5)
    rows.data = {"x": [1], "hatch": ["dot"]}
    assert plain.renderer is None
    assert dotted.renderer is plot.renderers[0]
    assert dotted.renderer.view.filter.group == "dot"
    rows.data = {"x": [1, 2], "hatch": ["dot", " "]}
    assert plot.renderers == [plain.renderer, dotted.renderer]


def test_a_look_holds_before_and_after_a_layer_is_drawn() -> None:
    plot, rows = figure(), source()
    layer = put(plot, "line", "x", "y", source=rows, line_width=1)
    layer.look(line_width=3)
    rows.data = {"x": [1], "y": [1]}
    assert layer.renderer is not None
    assert layer.renderer.glyph.line_width == 3
    layer.look(line_width=5)
    assert layer.renderer.glyph.line_width == 5


def test_rows_that_come_while_changes_are_collected_are_drawn() -> None:
    """The document has the source by a script already, and tells nobody of its rows meanwhile."""
    document, plot, rows = Document(), figure(), source()
    put(plot, "line", "x", "y", source=rows)
    plot.js_on_change("inner_width", CustomJS(args={"rows": rows}))
    document.add_root(plot)

    class Model(param.Parameterized):
        shown = param.Boolean()

    model = Model()
    follow(model, "shown", lambda: rows.update(data={"x": [0, 1], "y": [1, 2]}))
    with set_curdoc(document):
        document.hold("collect")
        model.shown = True
        assert drawn(plot) == ["Line"]
        document.unhold()
    assert drawn(plot) == ["Line"]


def test_a_page_that_fills_sources_by_itself_has_all_layers() -> None:
    plot = figure()
    put(plot, "line", "x", "y", source=source(), level="underlay")
    Layers.on_figure(plot).settle(every=True)
    assert drawn(plot) == ["Line"]
    assert plot.renderers[0].level == "underlay"


@pytest.mark.parametrize("kind", [pn.Row, pn.Column])
def test_things_are_in_a_box_from_when_they_are_seen(kind: Any) -> None:
    first, second, third = (pn.pane.HTML(text, visible=text == "b") for text in "abc")
    box = seen(kind, first, second, third, margin=3)
    assert list(box) == [second]
    assert box.margin == 3
    third.visible = True
    first.visible = True
    assert list(box) == [first, second, third]
    second.visible = False
    assert list(box) == [first, second, third]
