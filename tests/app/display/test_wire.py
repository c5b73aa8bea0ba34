"""Plans that came out of workers."""

from __future__ import annotations

import json

import torch

import planners as sp
from app.display.displayed_plan import show
from app.display.wire import from_wire, to_wire
from tests.importers.few_blocks import few_blocks


def test_plans_of_the_same_network_share_its_graph() -> None:
    graph = sp.from_torch(few_blocks("mobilenet"), torch.ones(1, 3, 32, 32))
    texts = [
        json.dumps(sp.plan(graph, planner, "MR", time_limit=1).to_json())
        for planner in ("cosma", "fusion")
    ]
    first, second = (from_wire(to_wire(show(text))) for text in texts)
    assert first.graph is second.graph
    assert [json.dumps(shown.plan.to_json()) for shown in (first, second)] == texts
