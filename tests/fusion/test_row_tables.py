"""Which rows rows need: asked of each, or of a few in long stretches that are straight."""

from __future__ import annotations

import numpy as np
import pytest

import planners as sp
from planners.fusion.tile import rows
from planners.fusion.tile.rows import RowTables, along
from tests.fusion.networks import CASES, graph_of


def tables(graph: sp.Graph, straight: int, monkeypatch: pytest.MonkeyPatch) -> list[np.ndarray]:
    """All rows of all operators' tables, found anew."""
    monkeypatch.setattr(rows, "STRAIGHT", straight)
    rows._known.clear()
    made = RowTables(graph, columns=True)
    members = [made[i] for i in range(len(graph.operators))]
    windows = [w for m in members for w in (*m.windows, *m.columns)]
    rows._known.clear()
    return [each for w in windows for each in (w.upto, w.start)]


@pytest.mark.parametrize("name", [*CASES, "shufflenet_v2_x0_5"])
def test_a_few_questions_give_the_same_tables(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = graph_of(name) if name in CASES else sp.load(name)
    each, few = (tables(graph, straight, monkeypatch) for straight in (1 << 30, 4))
    assert len(each) == len(few) > 0
    assert all((a == b).all() for a, b in zip(each, few, strict=True))


def test_long_straight_stretches_are_asked_of_in_a_few_places() -> None:
    asked = []

    def at(y: int) -> np.ndarray:
        asked.append(y)
        return np.array([min(3 * y + 2, 60_000), y // 2, 7], dtype=np.int64)

    found = along(at, 50_000)
    assert (found == [[min(3 * y + 2, 60_000), y // 2, 7] for y in range(50_000)]).all()
    asked.clear()
    straight = along(lambda y: at(y)[[0, 2]], 50_000)
    assert (straight == found[:, [0, 2]]).all()
    assert len(asked) < 1000
