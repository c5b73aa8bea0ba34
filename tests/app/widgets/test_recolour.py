"""A page that turns dark looks as one that was made dark, and back again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bokeh.document import Document
from bokeh.model import Model
from bokeh.models import ColumnDataSource, Range1d
from bokeh.plotting import figure
from panel.theme.fast import FastDefaultTheme

from app.views.fronts.pareto import Pareto
from app.widgets.glyphs import put
from app.widgets.palette import DARK, LIGHT, Theme, cursor_band, dress
from app.widgets.recolour import hashed, recolour
from planners.core.colours import contrast


def drawn(theme: Theme, rows: int) -> tuple[Document, figure, ColumnDataSource]:
    """A figure in a document: areas and words, white ink among them; without rows, no layer yet."""
    document = Document()
    plot = dress(figure(x_range=Range1d(0, 1), y_range=Range1d(0, 1)), theme)
    plot.add_layout(cursor_band(theme))
    source = ColumnDataSource({"x": [0.5] * rows})
    look: dict[str, Any] = {"x": "x", "y": 0.5, "source": source}
    put(plot, "scatter", **look, fill_color=theme.panel, line_color=theme.outline)
    put(plot, "text", **look, text="x", text_color="#ffffff", background_fill_color="#ffffff")
    document.add_root(plot)
    return document, plot, source


def colours(document: Document) -> list[dict[str, Any]]:
    """All colours of all models, in the order in which these were made."""

    def of(model: Model) -> dict[str, Any]:
        values = dict(model.properties_with_values())
        found = {name: hashed(getattr(value, "value", value)) for name, value in values.items()}
        return {name: text for name, text in found.items() if text}

    by_name = sorted(document.models, key=lambda model: (type(model).__name__, model.id))
    return [of(model) for model in by_name]


def test_what_is_drawn_takes_the_other_themes_colours_and_its_own_again() -> None:
    for before, after in ((LIGHT, DARK), (DARK, LIGHT)):
        document, _, _ = drawn(before, 1)
        at_first = colours(document)
        assert at_first != colours(drawn(after, 1)[0])
        recolour(document, before, after)
        assert colours(document) == colours(drawn(after, 1)[0])
        recolour(document, after, before)
        assert colours(document) == at_first


def test_a_figure_that_comes_later_has_the_other_themes_colours() -> None:
    for rows in (0, 1):
        late, plot, source = drawn(LIGHT, rows)
        late.remove_root(plot)
        recolour(Document(), LIGHT, DARK, [plot])
        late.add_root(plot)
        source.data = {"x": [0.5]}
        assert colours(late) == colours(drawn(DARK, 1)[0])


def test_what_is_drawn_later_has_the_other_themes_colours() -> None:
    document, _, source = drawn(LIGHT, 0)
    recolour(document, LIGHT, DARK)
    source.data = {"x": [0.5]}
    assert colours(document) == colours(drawn(DARK, 1)[0])


def test_roles_that_change_apart_have_values_of_their_own() -> None:
    for theme, other in ((LIGHT, DARK), (DARK, LIGHT)):
        names = [name for name in Theme.__dataclass_fields__ if name != "dark"]
        becomes: dict[str, str] = {}
        for name in names:
            mine, theirs = getattr(theme, name), getattr(other, name)
            assert becomes.setdefault(mine, theirs) == theirs, name


def test_a_page_has_a_theme_of_its_own() -> None:
    mine = replace(LIGHT)
    mine.become(DARK)
    assert mine == DARK != LIGHT


def test_a_legend_is_read_on_a_page_that_turned_dark() -> None:
    """A white that is Bokeh's default is not kept, and the page's theme changes it."""
    document, chart = Document(theme=FastDefaultTheme().bokeh_theme), Pareto(LIGHT, print)
    document.add_root(chart.figure)
    recolour(document, LIGHT, DARK)
    (legend,) = chart.figure.legend
    behind = legend.background_fill_color or DARK.panel
    assert contrast(legend.label_text_color, behind) > 4.5
