"""The network as a drawing in blocks, and what it needs in its default order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import planners as sp
from app.display.blocks import BlockTree
from app.display.displayed_plan import WITH_GROUPS
from app.outputs.notebook.memory import EDGE, held_svg
from app.views.dag.scene import BLOCK, Scene, scene
from planners.core.colours import KINDS, family_of
from planners.core.services import ORDER_FOOTPRINTS
from planners.core.svg import (
    LEFT,
    WIDTH,
    Paints,
    Scale,
    box,
    drawing,
    fitting,
    legend,
    on,
    rows_table,
    text,
)
from planners.core.units import format_bytes

COLUMN, ROW = 66, 46  # pixels from one node to the next
LISTED = 150  # operators in a table
QUICK_S = 0.2


@dataclass(frozen=True)
class Unplanned:
    """What the graph view needs of a plan, where there is none."""

    graph: sp.Graph
    ran: tuple[()] = ()
    moved_bytes: Mapping[str, int] = field(default_factory=dict)
    operator_seconds: Mapping[str, float] = field(default_factory=dict)

    @cached_property
    def tree(self) -> BlockTree:
        operators = self.graph.operators
        return BlockTree([op.name for op in operators], [op.block for op in operators])


def network_svg(graph: sp.Graph, paints: Paints) -> str:
    """The graph with as many blocks open as can be read."""
    bare = Unplanned(graph)
    opened = bare.tree.comfortable(WITH_GROUPS // 2)
    drawn = scene(bare, opened, "kind")  # type: ignore[arg-type]
    wide = max(WIDTH, drawn.columns * COLUMN + 16)
    across = Scale(-0.5, max(1, drawn.columns) - 0.5, 8, 8 + max(1, drawn.columns) * COLUMN)
    high = (drawn.bottom - drawn.top + 1.0) * ROW
    down = Scale(drawn.top - 0.5, drawn.bottom + 0.5, 4, 4 + high)
    parts = [_frames(drawn, across, down), _curves(drawn, across, down)]
    parts += [_node(graph, drawn, i, (across, down), paints) for i in range(len(drawn.nodes["x"]))]
    words = f"Graph of {graph.name}: {len(graph.operators)} operators in blocks"
    figure = drawing((wide, high + 10), words, *parts, kind="sw-dag", style=f"width:{wide:.0f}px")
    looks = {name: (colour, " ", "a kind of operator") for name, colour, _ in KINDS}
    kinds = {family_of(op.kind)[0] for op in graph.operators}
    return legend(paints, looks, kinds) + f'<div class="sw-scroll" tabindex="0">{figure}</div>'


def _frames(drawn: Scene, across: Scale, down: Scale) -> str:
    parts, frames = [], drawn.frames
    for left, right, top, bottom, words in zip(
        *(frames[name] for name in ("left", "right", "top", "bottom", "text")), strict=True
    ):
        x, y = across(left), down(top)
        parts.append(box(x, y, across(right) - x, down(bottom) - y, kind="sw-frame", rx=4))
        parts.append(text(x + 3, y + 10, fitting(words[2:], across(right) - x, 5.2), "sw-small"))
    return "".join(parts)


def _curves(drawn: Scene, across: Scale, down: Scale) -> str:
    curves, parts = drawn.curves, []
    names = ("x0", "y0", "cx0", "cy0", "cx1", "cy1", "x1", "y1")
    for values in zip(*(curves[name] for name in names), strict=True):
        x0, y0, *rest = (
            f"{(across if k % 2 == 0 else down)(value):.4g}" for k, value in enumerate(values)
        )
        parts.append(f"M{x0} {y0}C{' '.join(rest)}")
    return f'<path class="sw-curve" d="{"".join(parts)}"/>'


def _node(
    graph: sp.Graph, drawn: Scene, i: int, scales: tuple[Scale, Scale], paints: Paints
) -> str:
    across, down = scales
    nodes = {name: values[i] for name, values in drawn.nodes.items()}
    wide, high = nodes["w"] * COLUMN, nodes["h"] * ROW
    x, y = across(nodes["x"]) - wide / 2, down(nodes["y"]) - high / 2
    cost = nodes["costs"].split(", computes ")[0]  # the rest needs a plan
    title = "\n".join([nodes["title"], nodes["what"], cost])
    fill = paints.fill(nodes["fill"], BLOCK if nodes["is_block"] else " ")
    kind = "sw-node sw-block" if nodes["is_block"] else "sw-node"
    ink = on(nodes["fill"])
    return (
        box(x, y, wide, high, title, kind, fill=fill, rx=4)
        + text(x + wide / 2, y + high * 0.42, fitting(nodes["full"], wide, 5.2), ink, "middle")
        + text(x + wide / 2, y + high * 0.8, fitting(nodes["second"], wide, 4.8), ink, "middle")
    )


def needs(graph: sp.Graph) -> list[int]:
    """Bytes of activations held in each step of the default order, with nothing spilled."""
    return ORDER_FOOTPRINTS.function()(graph, range(len(graph.operators)))


def quick_budgets(graph: sp.Graph) -> list[tuple[str, int]]:
    """MR, and MP where it is proven within the time limit, or else the best known."""
    budgets = sp.budgets(graph, time_limit=QUICK_S)
    return [("MR", budgets.MR), ("MP" if budgets.MP_proven else "MP ≤", budgets.MP)]


def needs_svg(graph: sp.Graph, limits: list[tuple[str, int]]) -> str:
    """What the network needs at each operator, beside the named budgets."""
    needed = needs(graph)
    steps = Scale(0, len(needed), LEFT, EDGE)
    names = [op.name for op in graph.operators]
    return drawing(
        (WIDTH, 128),
        f"Bytes held in each step of {graph.name} in its default order",
        held_svg(needed, names, steps, 16, limits=limits),
        kind="sw-needs",
    )


def operator_table(graph: sp.Graph) -> str:
    """Operators in their order, or those of most MACs where there are too many to list."""
    operators = list(graph.operators)
    if len(operators) > LISTED:
        operators = sorted(operators, key=lambda op: -op.macs)[:LISTED]
    rows = [
        (
            op.name,
            op.kind,
            " ".join("×".join(map(str, graph.tensors[t].shape)) for t in op.outputs),
            format_bytes(sum(map(graph.size_bytes, (*op.inputs, *op.outputs)))),
            format_bytes(sum(map(graph.size_bytes, op.parameters))),
            f"{op.macs / 1e6:,.2f}",
        )
        for op in operators
    ]
    return rows_table(["operator", "kind", "output", "needs", "parameters", "M MACs"], rows)
