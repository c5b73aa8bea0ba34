"""What the graph view draws: boxes, curves and frames as plain columns. No figures."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import planners as sp
from app.display.blocks import BlockNode, BlockTree
from app.display.compare import SAME
from app.display.displayed_plan import DisplayedPlan
from app.kinds.kind import Band
from app.model.units import seconds_text
from app.views.dag.groups import HALO, TAB, Drawing, Regions, group_words, groups_in, regions
from app.views.dag.layout import layout, parts
from app.views.dag.twins import twin_letters, twin_words
from app.widgets.marks import MARKS, SHORT
from app.widgets.palette import LIGHT, Theme, sequential
from planners.core.caveats import caveats
from planners.core.colours import DARK_INK, PLAIN, family_of, ink_on
from planners.core.units import format_bytes

WIDTH, HEIGHT = 0.80, 0.66
LONG, FAINT = 3, 0.3
"""Edges over more layers than that are faint until what they carry is selected."""
ALONE = "nothing to compare with: pin a plan (p)"
BLOCK = "right_diagonal_line"
Columns = dict[str, list[Any]]
NODE_COLUMNS = ("x", "y", "w", "h", "fill", "dark", "edge", "hatch", "full", "second")
HOVER_COLUMNS = ("title", "what", "costs", "group", "hint", "text_y", "second_y", "is_block")
MARK_COLUMNS = ("x", "top", "bottom", "text")
STEP_COLUMNS = ("x", "y", "w", "h")
CURVE_COLUMNS = ("x0", "y0", "x1", "y1", "cx0", "cy0", "cx1", "cy1")


@dataclass(frozen=True)
class Scene:
    """Nodes, curves and frames, and where each step of the program is drawn.

    `steps` has the centre and the size of a box around what each step runs.
    """

    nodes: Columns
    curves: Columns
    curve_tensors: list[frozenset[str]]
    curve_alpha: list[float]
    frames: Columns
    drawing: Drawing
    regions: Regions
    steps: Columns
    columns: int
    top: float
    bottom: float
    legend: list[tuple[str, str]] = field(default_factory=list)
    twins: list[str] = field(default_factory=list)
    apart: tuple[str, str] = ("", "")
    """That the network has parts that nothing joins, and what the source says of that."""


def scene(
    shown: DisplayedPlan,
    expanded: Collection[str],
    colour: str,
    differs: Mapping[str, str] | None = None,
    theme: Theme = LIGHT,
    bands: Sequence[Band] = (),
) -> Scene:
    """Place and colour the visible part of a plan's graph.

    `differs` has, by operator, how another plan treats it, for the colour `difference`; None: there
    is no other plan. `bands` are the regions of what runs together.
    """
    tree, graph = shown.tree, shown.graph
    nodes = tree.nodes(expanded)
    home = {member: i for i, node in enumerate(nodes) for member in node.members}
    edges = _edges(shown, home)
    placed = layout(len(nodes), list(edges))
    curves, tensors, ends = _curves(edges, placed.routes)
    columns, legend = _nodes(shown, nodes, placed.x, placed.y, (colour, theme), differs)
    letters = twin_letters(graph, nodes)
    _mark_twins(columns, letters, named=colour == "kind")
    groups = band_of(graph, bands)
    columns["group"] = group_lines(graph, nodes, bands)
    drawing = Drawing(nodes, placed.x, placed.y, WIDTH, HEIGHT, curves, ends)
    lift = TAB + HALO if any(group is not None for group in groups) else 0.0
    frames = _frames(tree, expanded, placed.x, placed.y, lift)
    reach = [*placed.y, *curves["y0"], *curves["y1"]] or [0.0]
    return Scene(
        nodes=columns,
        curves=curves,
        curve_tensors=tensors,
        curve_alpha=[FAINT if placed.x[b] - placed.x[a] > LONG else 1.0 for a, b in ends],
        frames=frames,
        drawing=drawing,
        regions=regions(drawing, groups, looks_of(bands)),
        steps=_step_boxes(shown, home, placed.x, placed.y),
        columns=max(placed.x, default=0) + 1,
        top=min(min(reach), *frames["top"], 0.0) if frames["top"] else min(reach),
        bottom=max(max(reach), *frames["bottom"], 0.0) if frames["bottom"] else max(reach),
        legend=legend,
        twins=twin_words(letters),
        apart=parts_text(graph),
    )


def _step_boxes(
    shown: DisplayedPlan, home: dict[int, int], x: Sequence[float], y: Sequence[float]
) -> Columns:
    """The centre and the size of the box around what each step runs."""
    boxes: Columns = {name: [] for name in STEP_COLUMNS}
    box_of: dict[tuple[str, ...], tuple[float, ...]] = {}
    for names in shown.ran:
        if names not in box_of:
            nodes = {home[shown.graph.index[name]] for name in names} or {0}
            xs, ys = [x[n] for n in nodes], [y[n] for n in nodes]
            middle = ((min(xs) + max(xs)) / 2, (min(ys) + max(ys)) / 2)
            box_of[names] = (*middle, max(xs) - min(xs) + WIDTH, max(ys) - min(ys) + HEIGHT)
        for name, value in zip(STEP_COLUMNS, box_of[names], strict=True):
            boxes[name].append(value)
    return boxes


def band_of(graph: sp.Graph, bands: Sequence[Band]) -> list[int | None]:
    """The place among the bands of each operator that is in one."""
    places = {name: k for k, band in enumerate(bands) for name in band.operators}
    return [places.get(op.name) for op in graph.operators]


def looks_of(bands: Sequence[Band]) -> list[tuple[str, str]]:
    """The name and the colour of each band."""
    return [(band.name, band.colour) for band in bands]


def group_lines(graph: sp.Graph, nodes: Sequence[BlockNode], bands: Sequence[Band]) -> list[str]:
    """What the hover of each node says of its band, or in which bands it has operators."""
    lines = [f"in {band.name}: {band.line}" for band in bands]
    group_of, looks, texts = band_of(graph, bands), looks_of(bands), []
    for node in nodes:
        groups = groups_in(node, group_of)
        several = f"in {group_words(groups, looks)}" if groups else ""
        texts.append(lines[groups[0]] if len(groups) == 1 else several)
    return texts


def _mark_twins(columns: Columns, letters: list[str], *, named: bool) -> None:
    """Name a node's twins in its hover, and put the letter before its name: costs need room."""
    for i, letter in enumerate(letters):
        if letter and named:
            columns["second"][i] = f"≡{letter} {columns['second'][i].removeprefix('⊞ ')}"
        if letter:
            columns["what"][i] += f", identical to the {letters.count(letter) - 1} others marked ≡"
            columns["what"][i] += letter


def _edges(shown: DisplayedPlan, home: dict[int, int]) -> dict[tuple[int, int], frozenset[str]]:
    """Tensors that run between two visible nodes, parameters left out."""
    graph = shown.graph
    edges: dict[tuple[int, int], set[str]] = {}
    for position, operator in enumerate(graph.operators):
        for name in operator.inputs:
            writer = graph.producer.get(name)
            if writer is not None and home[writer] != home[position]:
                edges.setdefault((home[writer], home[position]), set()).add(name)
    return {edge: frozenset(names) for edge, names in sorted(edges.items())}


def _curves(
    edges: dict[tuple[int, int], frozenset[str]],
    routes: Iterable[tuple[tuple[float, float], ...]],
) -> tuple[Columns, list[frozenset[str]], list[tuple[int, int]]]:
    """Bézier segments that leave and enter horizontally, the tensors along each, what they join."""
    curves: Columns = {name: [] for name in CURVE_COLUMNS}
    tensors, ends = [], []
    for (edge, names), route in zip(edges.items(), routes, strict=True):
        last = len(route) - 2
        for i, ((x0, y0), (x1, y1)) in enumerate(zip(route, route[1:], strict=False)):
            start = x0 + (WIDTH / 2 if i == 0 else 0)
            stop = x1 - (WIDTH / 2 if i == last else 0)
            middle = (start + stop) / 2
            values = (start, y0, stop, y1, middle, y0, middle, y1)
            for column, value in zip(CURVE_COLUMNS, values, strict=True):
                curves[column].append(value)
            tensors.append(names)
            ends.append(edge)
    return curves, tensors, ends


def _nodes(
    shown: DisplayedPlan,
    nodes: list[BlockNode],
    x: tuple[int, ...],
    y: tuple[float, ...],
    look: tuple[str, Theme],
    differs: Mapping[str, str] | None,
) -> tuple[Columns, list[tuple[str, str]]]:
    colour, theme = look
    facts = [_NodeFacts(shown, node, differs or {}) for node in nodes]
    alone = colour == "difference" and differs is None
    paint, legend = _paint(facts, colour, theme)
    legend = [(ALONE, theme.grid)] if alone else legend
    columns: Columns = {name: [] for name in (*NODE_COLUMNS, *HOVER_COLUMNS)}
    for node, fact, at_x, at_y in zip(nodes, facts, x, y, strict=True):
        fill = paint(fact)
        row = {
            "x": at_x,
            "y": at_y,
            "w": WIDTH,
            "h": HEIGHT,
            "fill": fill,
            "dark": ink_on(fill) == DARK_INK,
            "edge": 2.2 if node.is_block else 0.8,
            "hatch": BLOCK if node.is_block and colour == "kind" else PLAIN,
            "full": fact.label,
            "second": "not compared" if alone else fact.second(colour),
            "text_y": at_y - HEIGHT * 0.17,
            "second_y": at_y + HEIGHT * 0.2,
            "is_block": node.is_block,
            "title": node.name,
            "what": fact.what,
            "costs": fact.costs,
            "group": "",
            "hint": "tap to open the block" if node.is_block else "tap to select",
        }
        for name, value in row.items():
            columns[name].append(value)
    return columns, legend


class _NodeFacts:
    """Facts of a node: sums over its operators."""

    def __init__(self, shown: DisplayedPlan, node: BlockNode, differs: Mapping[str, str]) -> None:
        graph = shown.graph
        operators = [graph.operators[i] for i in node.members]
        self.is_block = node.is_block
        kinds = [differs[op.name] for op in operators if op.name in differs]
        self.differs = next((kind for kind in MARKS if kind in kinds), SAME)
        self.differing = len(kinds)
        written = [name for op in operators for name in op.outputs]
        self.macs = sum(op.macs for op in operators)
        self.written_bytes = sum(graph.size_bytes(name) for name in written)
        self.moved = sum(shown.moved_bytes.get(name, 0) for name in written)
        self.seconds = sum(shown.operator_seconds.get(op.name, 0.0) for op in operators)
        main = max(operators, key=lambda op: op.macs)
        self.family, self.colour = family_of(main.kind)
        last = node.name.rsplit(".", 1)[-1]
        self.label = ".".join(node.name.split(".")[-2:]) if last.isdigit() else last
        self.kind = f"{len(operators)} operators" if node.is_block else main.kind
        shape = "×".join(map(str, graph.tensors[written[-1]].shape))
        self.what = self.kind if node.is_block else f"{main.kind} → {shape}"
        self.costs = (
            f"{self.macs / 1e6:.4g} M MACs, writes {format_bytes(self.written_bytes)},"
            f" computes {seconds_text(self.seconds)}, spill traffic {format_bytes(self.moved)}"
        )

    def value(self, colour: str) -> float:
        return {
            "bytes": self.written_bytes,
            "MACs": self.macs,
            "time": self.seconds,
            "spill traffic": self.moved,
        }[colour]

    def second(self, colour: str) -> str:
        """The second line of a node: the quantity that its colour shows, in words."""
        if colour == "difference":
            count = f"{self.differing}× " if self.is_block and self.differing else ""
            mark = MARKS[self.differs][0] + " " if self.differs in MARKS else ""
            return f"{mark}{count}{SHORT[self.differs]}"
        if colour == "kind":
            return f"⊞ {self.kind.split()[0]} ops" if self.is_block else self.kind
        return _words(self.value(colour), colour)


def _words(value: float, colour: str) -> str:
    """A cost in its unit."""
    if colour == "time":
        return seconds_text(value)
    return f"{value / 1e6:.3g} M" if colour == "MACs" else format_bytes(value)


def _paint(
    facts: list[_NodeFacts], colour: str, theme: Theme
) -> tuple[Callable[[_NodeFacts], str], list[tuple[str, str]]]:
    """How to colour a node, and a legend of what the colours mean."""
    if colour == "kind":
        legend = dict(sorted((fact.family, fact.colour) for fact in facts))
        return (lambda fact: fact.colour), list(legend.items())
    if colour == "difference":
        kinds = [kind for kind in MARKS if any(fact.differs == kind for fact in facts)]
        legend_rows = [(f"{MARKS[kind][0]} {kind}", MARKS[kind][1]) for kind in kinds]
        pale = theme.grid
        return (lambda fact: MARKS.get(fact.differs, ("", pale))[1]), [*legend_rows, (SAME, pale)]
    highest = max((fact.value(colour) for fact in facts), default=0.0)
    if not highest:
        return (lambda fact: theme.grid), [(f"no {colour}", theme.grid)]
    shares = (0, 0.25, 0.5, 0.75, 1)
    stops = [(_words(highest * share, colour), sequential(share, 1, theme)) for share in shares]
    return (lambda fact: sequential(fact.value(colour), highest, theme)), stops


def _frames(
    tree: BlockTree,
    expanded: Collection[str],
    x: tuple[int, ...],
    y: tuple[float, ...],
    lift: float,
) -> Columns:
    """A box around the nodes of each opened block, larger for outer blocks; its name stands `lift`
    above the nodes, where these have tabs."""
    frames = tree.frames(expanded)
    deepest = max((frame.depth for frame in frames), default=0)
    columns: Columns = {n: [] for n in ("left", "right", "top", "bottom", "block", "text")}
    for frame in frames:
        margin = 0.44 + 0.10 * (deepest - frame.depth)
        xs, ys = [x[n] for n in frame.nodes], [y[n] for n in frame.nodes]
        columns["left"].append(min(xs) - min(margin, 0.49))
        columns["right"].append(max(xs) + min(margin, 0.49))
        columns["top"].append(min(ys) - margin - lift - 0.26 * (deepest - frame.depth + 1))
        columns["bottom"].append(max(ys) + margin)
        columns["block"].append(frame.block)
        columns["text"].append("⊟ " + frame.block)
    return columns


def parts_text(graph: sp.Graph) -> tuple[str, str]:
    """In a few words, that parts of a network share no tensor, and what is known of what lies
    between them; nothing where it is in one piece."""
    links = [
        (graph.producer[name], place)
        for place, operator in enumerate(graph.operators)
        for name in operator.inputs
        if name in graph.producer
    ]
    part = parts(len(graph.operators), links)
    firsts = sorted(set(part))
    if len(firsts) < 2:
        return "", ""
    input_of = {
        first: next((name for name in graph.operators[first].inputs if name in graph.inputs), "")
        for first in firsts[1:]
    }
    read = ", ".join(dict.fromkeys(filter(None, input_of.values())))
    notes = "; ".join(caveats(graph).notes) or "no planned operator joins them"
    inputs = f": {read} come from outside" if read else ""
    return f"{len(firsts)} parts share no tensor{inputs}", f"Between them: {notes}"


def find_operators(shown: DisplayedPlan, text: str) -> list[str]:
    """Operators whose name, kind or block holds a text, or whose tensors do."""
    wanted = text.strip().lower()
    if not wanted:
        return []
    return [
        op.name
        for op in shown.graph.operators
        if any(wanted in word.lower() for word in (op.name, op.kind, op.block, *op.outputs))
    ]


def break_marks(
    shown: DisplayedPlan, drawn: Scene, expanded: Collection[str], names: Collection[str]
) -> Columns:
    """Scissors and a line behind each break node; on a closed block, how many are within it."""
    positions = {shown.graph.index[name] for name in names if name in shown.graph.index}
    marks: Columns = {n: [] for n in MARK_COLUMNS}
    for i, node in enumerate(shown.tree.nodes(expanded)):
        count = len(positions.intersection(node.members))
        if not count:
            continue
        at_end = node.members[-1] in positions
        x, y = drawn.nodes["x"][i] + WIDTH / 2 + 0.05, drawn.nodes["y"][i]
        top, reach = y - HEIGHT / 2 - 0.06, (HEIGHT + 0.12) * at_end
        text = "✂" if count == at_end else f"✂{count}"
        for column, value in zip(MARK_COLUMNS, (x, top, top + reach, text), strict=True):
            marks[column].append(value)
    return marks


def numbers_text(numbers: Iterable[int]) -> str:
    """Numbers as a column has them for the browser: rising, neighbours as a range, `0-3 7`."""
    spans: list[list[int]] = []
    for number in sorted(numbers):
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return " ".join(str(a) if a == b else f"{a}-{b}" for a, b in spans)
