"""The layered layout and the blocks: properties that a drawing must have."""

from __future__ import annotations

import random
import time
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from app.display.blocks import BlockTree
from app.display.displayed_plan import DisplayedPlan
from app.views.dag.layout import BETWEEN, Edge, GraphDrawing, layers, layout, parts
from app.views.dag.scene import HEIGHT


def crossings(placed: GraphDrawing, edges: Sequence[Edge]) -> int:
    """Crossings between edges that join the same two layers."""
    found = 0
    segments = defaultdict(list)
    for route in placed.routes:
        for (x0, y0), (x1, y1) in zip(route, route[1:], strict=False):
            segments[x0, x1].append((y0, y1))
    for pairs in segments.values():
        for i, (a0, a1) in enumerate(pairs):
            found += sum((a0 - b0) * (a1 - b1) < 0 for b0, b1 in pairs[:i])
    return found


@st.composite
def graphs(draw: st.DrawFn) -> tuple[int, list[tuple[int, int]]]:
    count = draw(st.integers(1, 25))
    pair = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1))
    edges = {(min(a, b), max(a, b)) for a, b in draw(st.lists(pair, max_size=50)) if a != b}
    return count, sorted(edges)


@given(graphs())
def test_edges_run_to_the_right_and_neighbours_keep_apart(
    graph: tuple[int, list[tuple[int, int]]],
) -> None:
    count, edges = graph
    placed = layout(count, edges)
    assert all(placed.x[a] < placed.x[b] for a, b in edges)
    by_layer: dict[int, list[float]] = {}
    for x, y in zip(placed.x, placed.y, strict=True):
        by_layer.setdefault(x, []).append(y)
    for column in by_layer.values():
        column.sort()
        assert all(b - a > 1 - 1e-6 for a, b in zip(column, column[1:]))


@given(graphs())
def test_what_nothing_joins_lies_apart(graph: tuple[int, list[tuple[int, int]]]) -> None:
    count, edges = graph
    placed = layout(count, edges)
    part = parts(count, edges)
    assert all(part[a] == part[b] for a, b in edges)
    rows: dict[int, list[float]] = {}
    for node, first in enumerate(part):
        rows.setdefault(first, []).append(placed.y[node])
    bands = sorted((min(some), max(some)) for some in rows.values())
    assert all(low - high > 1 + BETWEEN - 1e-6 for (_, high), (low, _) in pairwise(bands))


@given(graphs())
def test_routes_join_their_ends_layer_by_layer(graph: tuple[int, list[tuple[int, int]]]) -> None:
    count, edges = graph
    placed = layout(count, edges)
    for (a, b), route in zip(edges, placed.routes, strict=True):
        assert route[0] == (placed.x[a], placed.y[a])
        assert route[-1] == (placed.x[b], placed.y[b])
        assert all(x1 - x0 == 1 for (x0, _), (x1, _) in zip(route, route[1:]))


def test_a_chain_is_a_straight_line_and_its_shortcuts_go_around() -> None:
    placed = layout(6, [(i, i + 1) for i in range(5)] + [(1, 4)])
    assert max(placed.y) - min(placed.y) < 0.01
    assert any(abs(y - placed.y[0]) > HEIGHT / 2 + 0.2 for _, y in placed.routes[-1])


def test_blocks_one_after_the_other_do_not_drift() -> None:
    """Each of five blocks has two branches, of which one is longer."""
    joins = range(0, 20, 4)
    edges = [(n + a, n + b) for n in joins for a, b in ((0, 1), (0, 2), (1, 3), (3, 4), (2, 4))]
    placed = layout(21, edges)
    assert {round(placed.y[n], 6) for n in (*joins, 20)} == {0.0}


def test_a_late_source_stands_next_to_its_reader() -> None:
    assert layers(4, [(0, 1), (1, 3), (2, 3)]) == [0, 1, 1, 2]


def test_an_edge_against_the_order_moves_nothing() -> None:
    assert layout(2, [(0, 1), (1, 0)]).x == (0, 1)


def test_two_parallel_chains_do_not_cross() -> None:
    edges = [(0, 1), (0, 2), (1, 4), (2, 3), (3, 5), (4, 6), (5, 7), (6, 7)]
    assert crossings(layout(8, edges), edges) == 0


def test_five_thousand_nodes_take_less_than_a_few_seconds() -> None:
    rng = random.Random(1)
    edges = [(i, i + 1) for i in range(4999)]
    edges += [(i, min(4999, i + rng.randint(2, 6))) for i in range(0, 4990, 3)]
    began = time.process_time()
    layout(5000, edges)
    assert time.process_time() - began < 5


PATHS = ["stem", "body.0.conv", "body.0", "body.1.conv", "body.1", "body.1", "head"]
TREE = BlockTree([f"op{i}" for i in range(7)], PATHS)


def names(expanded: set[str]) -> list[str]:
    return [node.name for node in TREE.nodes(expanded)]


def test_blocks_are_closed_until_they_are_opened() -> None:
    assert names(set()) == ["op0", "body", "op6"]
    assert names({"body"}) == ["op0", "body.0", "body.1", "op6"]
    assert names({"body", "body.1"}) == ["op0", "body.0", "op3", "op4", "op5", "op6"]


def test_every_operator_is_in_exactly_one_visible_node() -> None:
    for expanded in (set(), {"body"}, {"body", "body.0"}):
        members = [m for node in TREE.nodes(expanded) for m in node.members]
        assert sorted(members) == list(range(7))


def test_closing_a_block_closes_what_is_in_it() -> None:
    assert TREE.collapse({"body", "body.0", "body.1"}, "body") == set()
    assert TREE.collapse({"body", "body.0"}, "body.0") == {"body"}


def test_a_hidden_operator_can_be_revealed() -> None:
    assert "op4" in names(set(TREE.reveal((), 4)))


def test_what_is_open_at_first_is_comfortable() -> None:
    assert TREE.comfortable(4) == {"body"}
    assert TREE.comfortable(2) == set()


def test_frames_stand_around_the_nodes_of_opened_blocks() -> None:
    frames = TREE.frames({"body", "body.1"})
    assert [(f.block, f.nodes) for f in frames] == [("body", (1, 2, 3, 4)), ("body.1", (2, 3, 4))]


def test_a_long_chain_without_blocks_is_cut_into_some() -> None:
    tree = BlockTree([f"op{i}" for i in range(1000)], [""] * 1000)
    nodes = tree.nodes(tree.comfortable())
    assert len(nodes) <= 300
    assert sorted(m for node in nodes for m in node.members) == list(range(1000))
    opened = tree.nodes(tree.reveal((), 500))
    assert "op500" in [node.name for node in opened]


def test_the_first_plan_shows_few_nodes(shown: DisplayedPlan) -> None:
    assert 3 < len(shown.tree.nodes(shown.tree.comfortable())) <= 32
    assert len(shown.tree.nodes(shown.tree.everything())) <= 300
