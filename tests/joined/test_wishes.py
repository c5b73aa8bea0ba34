"""Wishes of joined plans: kept to by the program, or named where no plan found keeps to them."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import planners as sp
from planners.core.errors import NoPlanFound
from planners.wishes.language import broken, parse
from tests.joined.networks import graph_of, narrowing

ASKED = {"objective": "latency", "weights": "counted", "time_limit": 6}


@pytest.mark.parametrize(
    ("budget", "wishes"),
    [
        (14_000, ["keep relu"]),
        (14_000, ["spill relu_3"]),
        (14_000, ["fuse conv2d_4 conv2d_5"]),
        (14_000, ["split conv2d_1 conv2d_2", "spill relu_3"]),
        (7000, ["split conv2d conv2d_1"]),
    ],
)
def test_plans_keep_to_wishes(budget: int, wishes: list[str]) -> None:
    module, inputs = narrowing(side=24)
    graph = sp.from_torch(module, inputs)
    plan = sp.plan(graph, "joined", budget, wishes=wishes, **ASKED)
    assert plan.planner == "joined"
    assert broken(plan, parse(wishes, graph)) == []
    assert sp.check(plan).peak_bytes <= budget
    assert sp.execute(plan, module, inputs).max_abs_error < 1e-4
    assert list(plan.options["wishes"]) == wishes


def test_a_wish_changes_the_plan_and_makes_it_no_quicker() -> None:
    graph = graph_of(side=24)
    free = sp.plan(graph, "joined", 14_000, others=False, **ASKED)
    names = [op.name for op in graph.operators]
    asked = [f"{kind} {a} {b}" for kind in ("fuse", "split") for a, b in zip(names, names[1:])]
    lost = [text for text in asked if broken(free, parse([text], graph))]
    kept = []
    for text in lost[::4]:
        try:
            plan = sp.plan(graph, "joined", 14_000, wishes=[text], **ASKED)
        except NoPlanFound:
            continue
        kept.append(text)
        assert not broken(plan, parse([text], graph))
        assert sp.simulate(plan).makespan_s >= sp.simulate(free).makespan_s * (1 - 1e-9)
    assert kept


def test_what_cannot_be_wished_is_said() -> None:
    graph = graph_of()
    with pytest.raises(sp.BadInput, match="joined does not support it; it supports"):
        sp.plan(graph, "joined", 9000, wishes=["conv2d before conv2d_1"], **ASKED)
    with pytest.raises(sp.WishesConflict):
        sp.plan(graph, "joined", 9000, wishes=["keep relu", "spill relu"], **ASKED)
    with pytest.raises(NoPlanFound, match="none of the plans found keeps to 'fuse conv2d linear'"):
        sp.plan(graph, "joined", 7000, wishes=["fuse conv2d linear"], **ASKED)


class Attends(nn.Module):
    """Attention, whose last product needs all rows of what it reads."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(16, 2, batch_first=True)
        self.up, self.down = nn.Linear(16, 64), nn.Linear(64, 16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x + self.attention(x, x, x, need_weights=False)[0]
        return y + self.down(torch.relu(self.up(y)))


def test_a_wish_that_no_fused_group_can_keep_to_is_named_with_the_reason() -> None:
    graph = sp.from_torch(Attends().eval(), (torch.randn(2, 10, 16),), bytes_per_element=1)
    names = [op.name for op in graph.operators]
    at = names.index("scaled_dot_product_attention") + 1
    wish = f"fuse {names[at]} {names[at + 1]}"
    with pytest.raises(sp.WishesConflict) as fused:
        sp.plan(graph, "fusion", 1120, wishes=[wish], time_limit=1)
    with pytest.raises((NoPlanFound, sp.WishesConflict)) as joined:
        sp.plan(graph, "joined", 1120, wishes=[wish], **{**ASKED, "time_limit": 1})
    assert "cannot be one group" in str(fused.value)
    assert "cannot be one group" in str(joined.value)
