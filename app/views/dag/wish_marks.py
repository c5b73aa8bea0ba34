"""Wishes marked on the graph: arcs between operators, a badge on them and on tensors' writers."""

from __future__ import annotations

from collections.abc import Sequence

from bokeh.models import ColumnDataSource
from bokeh.plotting import figure

from app.display.blocks import BlockNode
from app.display.displayed_plan import DisplayedPlan
from app.model.wishes import MARKS, kind_of, names_of
from app.views.dag.scene import CURVE_COLUMNS, HEIGHT, WIDTH, Columns, Scene
from app.widgets.glyphs import put
from app.widgets.palette import Theme
from app.widgets.wish_badge import badge
from planners.core.colours import GREEN, VERMILLION

DROOP = 0.34  # how far an arc hangs below its nodes, in the graph's units
MARKED = ("x", "y", "text", "about")
LOOKS = {"before": (None, [7, 3]), "fuse": (GREEN, []), "split": (VERMILLION, [2, 3])}


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
        self, shown: DisplayedPlan, drawn: Scene, nodes: Sequence[BlockNode], wishes: Sequence[str]
    ) -> bool:
        """Show the wishes; returns whether arcs hang below the nodes."""
        marks, arcs = wish_columns(shown, drawn, nodes, wishes)
        self.marks.data = marks
        for kind, source in self.arcs.items():
            source.data = arcs[kind]
        return any(columns["x0"] for columns in arcs.values())


def wish_columns(
    shown: DisplayedPlan, drawn: Scene, nodes: Sequence[BlockNode], wishes: Sequence[str]
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
