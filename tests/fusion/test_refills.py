"""Bounds on what a group moves within a budget never exceed what its best way moves."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import planners as sp
from planners.fusion.cost import refills
from planners.fusion.cost.group import GroupModel
from planners.fusion.cost.refills import gains_of
from planners.fusion.partition.cost_model import Traits
from planners.fusion.search.candidates import Candidates
from tests.cases import in_turn
from tests.fusion.networks import CASES, MIXED, MOST_STRIDED, graph_of

MACHINE = sp.load_machine("npu_small")


@pytest.mark.parametrize(
    ("name", "tile", "bands"),
    in_turn([*CASES, *MIXED, *MOST_STRIDED], [(1, 1), (3, 1), (1, 4)]),
)
def test_bounds_hold_at_every_budget(name: str, tile: int, bands: int) -> None:
    model = GroupModel(graph_of(name, 2), MACHINE, {"channel_tile": tile, "bands": bands})
    found = Candidates(model, model.graph, Traits("lines", least_channels=tile, bands=bands))
    tight = seen = 0
    for mask in range(1, 1 << len(model.graph.operators)):
        steps = found.cost(mask)
        assert bool(steps) == (model.fuses(mask) and found.dag.is_convex(mask))
        for number, (buffer, traffic) in enumerate(steps):
            # The budget of this step, and the largest that is not yet enough for the next.
            last = steps[number + 1][0] - 1 if number + 1 < len(steps) else 4 * buffer
            for budget in {buffer, last}:
                (bound,) = found.least_traffic(mask, [budget])
                assert bound is not None
                assert bound <= traffic
                seen += 1
                tight += 2 * bound >= traffic
    assert tight > seen / (4 * bands)  # It is no empty bound.


def most_more(upto: np.ndarray) -> list[int]:
    """What `gains_of` gives, by its words."""
    count = len(upto)
    return [int((upto[n:] - upto[: count - n]).max()) for n in range(count)]


def test_the_most_rows_that_more_rows_need(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    tables = [np.concatenate(([0], np.cumsum(rng.integers(0, 4, n)))) for n in range(1, 60)]
    for stride, kernel, padding, size in product((1, 2, 3), (1, 2, 5), (0, 1, 2), (7, 40)):
        rows = np.arange(20) * stride + kernel - padding
        tables.append(np.concatenate(([0], np.clip(rows, 0, size))))
    for upto in tables:
        assert gains_of(upto).tolist() == most_more(upto)
    monkeypatch.setattr(refills, "MANY_ROWS", 8)
    for upto in tables:
        assert (gains_of(upto) >= most_more(upto)).all()
        assert gains_of(upto)[-1] == upto[-1]
