"""Parts that are the same but for names: planned once, valid and executed under each name."""

from __future__ import annotations

import random
from dataclasses import replace
from unittest.mock import patch

import pytest
import torch
from torch import nn

import planners as sp
from planners.core.graph import Graph, Operator
from planners.core.machine import load_machine, with_scratchpad
from planners.core.progress import Clock
from planners.joined.build import JoinedBuilder
from planners.joined.fused import FusedParts
from planners.joined.isomorphic import PartNames, look_of, renamed
from planners.joined.segments import SPILLED
from planners.joined.spilled import SpilledParts
from planners.simulator.check import replay
from tests.cases import cases
from tests.random_modules import random_case

MACHINE = load_machine("npu_small")


class Repeats(nn.Module):
    """Blocks of tokens that are the same but for their weights, and one that is not."""

    def __init__(self, width: int = 24, times: int = 4) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.ReLU())
            for _ in range(times)
        )
        self.back = nn.ModuleList(nn.Linear(4 * width, width) for _ in range(times))
        self.head = nn.Linear(width, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block, back in zip(self.blocks, self.back, strict=True):
            x = x + torch.softmax(back(block(x)), 1)
        return self.head(x)


def with_prefix(graph: Graph) -> Graph:
    """The same network with other names, and its operators' in another order of the alphabet."""

    def other(name: str) -> str:
        return f"z{hash_of(name)}.{name}"

    def hash_of(name: str) -> int:
        return sum(map(ord, name)) * 7919 % 1000

    def op(one: Operator) -> Operator:
        parts = tuple(
            replace(
                part,
                name=other(part.name) if part.name in graph.tensors else part.name,
                reads=tuple(other(n) if n in graph.tensors else n for n in part.reads),
            )
            for part in one.parts
        )
        names = [tuple(map(other, some)) for some in (one.inputs, one.outputs, one.parameters)]
        inputs, outputs, parameters = names
        return replace(
            one, name=f"op {other(one.name)}".replace(" ", "-"), inputs=inputs, outputs=outputs,
            parameters=parameters, parts=parts,
        )  # fmt: skip

    return replace(
        graph,
        tensors={other(n): replace(t, name=other(n)) for n, t in graph.tensors.items()},
        operators=tuple(map(op, graph.operators)),
        inputs=tuple(map(other, graph.inputs)),
        outputs=tuple(map(other, graph.outputs)),
        source={},
        state={other(a): other(b) for a, b in graph.state.items()},
    )


@pytest.mark.parametrize("seed", range(cases(8, 100)))
def test_a_program_with_other_names_is_one_of_the_network_with_these(seed: int) -> None:
    case, draw = random_case(seed), random.Random(seed)
    graph = sp.from_torch(case.module, case.inputs)
    if not graph.operators:
        return
    other = with_prefix(graph)
    looks = look_of(graph), look_of(other)
    assert looks[0].key == looks[1].key
    needs = [
        sum(map(graph.size_bytes, (*op.inputs, *op.parameters, *op.outputs)))
        for op in graph.operators
    ]
    planner = draw.choice(("fusion", "cosma"))
    plan = sp.plan(graph, planner, max(needs), weights="counted", time_limit=2)
    program = renamed(plan.program, PartNames.between(*looks))
    report = replay(other, program)
    assert report.peak_bytes <= max(needs)
    assert not any(word in graph.index for step in program.steps for word in step.split())


def test_what_reads_otherwise_looks_otherwise() -> None:
    x = torch.randn(1, 4, 8, 8)
    modules = [
        nn.Conv2d(4, 4, 3, padding=1),
        nn.Conv2d(4, 4, 3, padding=1, groups=2),
        nn.Conv2d(4, 4, 3, padding=2, dilation=2),
        nn.Conv2d(4, 4, 1),
        nn.Conv2d(4, 4, 3, padding=1, bias=False),
        nn.AvgPool2d(3, 1, 1),
        nn.MaxPool2d(3, 1, 1),
    ]
    keys = {look_of(sp.from_torch(module, (x,))).key for module in modules}
    assert len(keys) == len(modules)


def test_repeated_blocks_are_planned_once() -> None:
    torch.manual_seed(0)
    module, inputs = Repeats().eval(), (torch.randn(1, 16, 24),)
    graph = sp.from_torch(module, inputs)
    machine = with_scratchpad(MACHINE, 4000)
    builder = JoinedBuilder(graph, machine, 4000, "latency", Clock(5.0))
    blocks = builder.blocks(250)
    ranges = [(first, first + 3) for first in range(0, 12, 3)]
    if len({look_of_range(builder, *each) for each in ranges}) > 1:  # As the importer groups them.
        ranges = [(first, first + 1) for first in range(len(graph.operators))]
    kinds = len({look_of_range(builder, *each) for each in ranges})
    assert kinds < len(ranges)
    for parts in (FusedParts, SpilledParts):
        planned = parts._plan_part
        with patch.object(parts, "_plan_part", autospec=True, side_effect=planned) as counted:
            for first, stop in ranges:
                if parts is FusedParts:
                    builder.fused.find(first, stop, Clock(1.0))
                else:
                    builder.spilled.find(blocks, first, stop, SPILLED, Clock(1.0))
        assert counted.call_count == kinds


def look_of_range(builder: JoinedBuilder, first: int, stop: int) -> object:
    return builder.fused.look(first, stop).key


def test_plans_of_repeated_blocks_are_executed() -> None:
    torch.manual_seed(0)
    module, inputs = Repeats().eval(), (torch.randn(1, 16, 24),)
    graph = sp.from_torch(module, inputs)
    asked = {"weights": "counted", "time_limit": 1, "others": False}
    for budget in (3000, 6000):
        plan = sp.plan(graph, "joined", budget, "npu_ideal", objective="latency", **asked)
        assert sp.execute(plan, module, inputs).max_abs_error < 1e-4
        ran = {word for step in plan.program.steps for word in step.replace("+", " ").split()}
        assert ran >= graph.index.keys()
