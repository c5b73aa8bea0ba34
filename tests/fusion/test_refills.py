"""Bounds on what a group moves within a budget never exceed what its best way moves."""

from __future__ import annotations

import pytest

import planners as sp
from planners.fusion.cost.group import GroupModel
from planners.fusion.partition.cost_model import Traits
from planners.fusion.search.candidates import Candidates
from tests.fusion.networks import CASES, graph_of

MACHINE = sp.load_machine("npu_small")


@pytest.mark.parametrize(("tile", "bands"), [(1, 1), (3, 1), (1, 4)])
@pytest.mark.parametrize("name", CASES)
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
