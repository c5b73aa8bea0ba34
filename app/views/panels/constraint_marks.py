"""Wishes marked on the views: an anchor or an arrow on tensors, arcs between operators."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bokeh.core.properties import value
from bokeh.models import ColumnDataSource
from bokeh.plotting import figure

from app.model.blocks import BlockNode
from app.model.checked_plan import Shown
from app.model.colours import DARK_INK, GREEN, VERMILLION, YELLOW
from app.model.constraints import MARKS, kind_of, names_of
from app.views.dag.scene import CURVE_COLUMNS, HEIGHT, WIDTH, Columns, Scene
from app.widgets.glyphs import put
from app.widgets.palette import Theme

FONT = "'DejaVu Sans', 'Segoe UI Symbol', 'Apple Symbols', sans-serif"
DROOP = 0.34  # how far an arc hangs below its nodes, in the graph's units
MARKED = ("x", "y", "text", "about")
LOOKS = {"before": (None, [7, 3]), "fuse": (GREEN, []), "split": (VERMILLION, [2, 3])}


def badge(plot: figure, source: ColumnDataSource, **place: Any) -> Any:
    """Letters on yellow, readable on every colour, light and dark."""
    return put(
        plot,
        "text",
        x="x",
        y="y",
        text="text",
        source=source,
        text_font=value(FONT),
        text_font_size="11px",
        text_color=DARK_INK,
        background_fill_color=YELLOW,
        background_fill_alpha=0.95,
        border_line_color=DARK_INK,
        border_radius=3,
        padding=1,
        **place,
    )


class MapWishes:
    """The layer of the address map: a badge in the corner of each rectangle with a wish."""

    def __init__(self, plot: figure) -> None:
        self.source = ColumnDataSource({name: [] for name in ("x", "y", "text")})
        self.wished: Mapping[str, str] = {}
        badge(
            plot,
            self.source,
            text_baseline="top",
            text_align="left",
            x_offset=2,
            y_offset=3,
            text_line_height=1.0,
        )

    def wish(self, wishes: Iterable[str]) -> None:
        """Mark the tensors of these wishes from now on."""
        self.wished = tensor_marks(wishes)

    def place(self, data: Mapping[str, Sequence[Any]]) -> None:
        """Mark rectangles that are drawn, given by columns."""
        hits = [i for i, name in enumerate(data["tensor"]) if name in self.wished]
        self.source.data = {
            "x": [data["left"][i] for i in hits],
            "y": [data["top"][i] for i in hits],
            "text": [self.wished[data["tensor"][i]] for i in hits],
        }


class DagWishes:
    """The layer of the graph: arcs between operators, a badge on each and on tensors' writers."""

    def __init__(self, plot: figure, theme: Theme) -> None:
        self.theme = theme
        self.arcs = {kind: ColumnDataSource({n: [] for n in CURVE_COLUMNS}) for kind in LOOKS}
        self.marks = ColumnDataSource({name: [] for name in MARKED})
        for kind, (colour, dash) in LOOKS.items():
            put(
                plot,
                "bezier",
                **{n: n for n in CURVE_COLUMNS},
                source=self.arcs[kind],
                line_color=colour or theme.text,
                line_width=2.5,
                line_dash=dash or "solid",
            )
        badge(plot, self.marks, text_baseline="middle", text_align="center")

    def show(
        self, shown: Shown, drawn: Scene, nodes: Sequence[BlockNode], wishes: Sequence[str]
    ) -> bool:
        """Show the wishes; returns whether arcs hang below the nodes."""
        marks, arcs = wish_columns(shown, drawn, nodes, wishes)
        self.marks.data = marks
        for kind, source in self.arcs.items():
            source.data = arcs[kind]
        return any(columns["x0"] for columns in arcs.values())


def tensor_marks(wishes: Iterable[str]) -> dict[str, str]:
    """By tensor, the mark of the wish about it."""
    kinds = ((kind_of(text), names_of(text)) for text in wishes)
    return {names[0]: MARKS[kind] for kind, names in kinds if kind in ("keep", "spill") and names}


def wish_columns(
    shown: Shown, drawn: Scene, nodes: Sequence[BlockNode], wishes: Sequence[str]
) -> tuple[Columns, dict[str, Columns]]:
    """Badges, and arcs by kind of wish; names that are not in the graph are skipped."""
    home = {member: i for i, node in enumerate(nodes) for member in node.members}
    graph = shown.graph
    marks: Columns = {name: [] for name in MARKED}
    arcs: dict[str, Columns] = {kind: {n: [] for n in CURVE_COLUMNS} for kind in LOOKS}

    def mark(x: float, y: float, text: str, about: str) -> None:
        for column, value in zip(MARKED, (x, y, text, about), strict=True):
            marks[column].append(value)

    def middle(node: int) -> tuple[float, float]:
        return drawn.nodes["x"][node], drawn.nodes["y"][node]

    for text in wishes:
        kind, names = kind_of(text), names_of(text)
        if kind in LOOKS and len(names) == 2 and all(name in graph.index for name in names):
            (x0, y0), (x1, y1) = (middle(home[graph.index[name]]) for name in names)
            low = max(y0, y1) + HEIGHT / 2
            if (x0, y0) != (x1, y1):
                arc = (x0, y0 + HEIGHT / 2, x1, y1 + HEIGHT / 2, x0, low + DROOP, x1, low + DROOP)
                for column, value in zip(CURVE_COLUMNS, arc, strict=True):
                    arcs[kind][column].append(value)
            second = f"{MARKS[kind]}{'²' if kind == 'before' else ''}"
            first = f"{'¹' if kind == 'before' else ''}{MARKS[kind]}"
            mark(x0, y0 + HEIGHT / 2, first, text)
            mark(x1, y1 + HEIGHT / 2, second, text)
        elif kind in ("keep", "spill") and names and names[0] in graph.tensors:
            makers = [graph.producer[names[0]]] if names[0] in graph.producer else []
            for position in (makers or list(graph.consumers[names[0]]))[:1]:
                x, y = middle(home[position])
                side = WIDTH / 2 if makers else -WIDTH / 2
                mark(x + side, y - HEIGHT / 2 + 0.06, MARKS[kind], text)
    return marks, arcs
