"""Operators alone, box by box: valid in little memory, executed, and plans where none was."""

from __future__ import annotations

import random

import pytest
import torch
from torch import nn

import planners as sp
from planners.core.compute_seconds import ComputeSeconds
from planners.core.errors import BudgetTooSmall
from planners.core.machine import load_machine, with_scratchpad
from planners.core.plan import Claims, Plan
from planners.core.program import Load, Program
from planners.core.progress import Clock
from planners.joined.concatenate import consecutive
from planners.joined.subgraph import part_of
from planners.joined.tiled_operator import OperatorBoxes
from planners.simulator.account import account
from planners.simulator.check import replay
from planners.simulator.timing import schedule
from tests.cases import cases
from tests.joined.test_planner import ALONE
from tests.random_modules import random_case

MACHINE = load_machine("npu_small")


class Tokens(nn.Module):
    """Products over tokens whose weights are larger than the memory, and a norm."""

    def __init__(self, width: int = 96) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, width, 4, stride=4)
        self.norm = nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.stem(x).permute(0, 2, 3, 1)
        return x + self.down(torch.relu(self.up(self.norm(x))))


def in_boxes(graph: sp.Graph, budget: int, objective: str) -> Program | None:
    """All of a network, each operator by boxes; None where one of them does not fit so."""
    machine, programs = with_scratchpad(MACHINE, budget), []
    for number, op in enumerate(graph.operators):
        part = part_of(graph, number, number + 1)
        boxes = OperatorBoxes(part, machine, budget, op)
        program = boxes.program(boxes.best(objective, Clock(60.0)))
        if program is None:
            return None
        programs.append(program)
    return consecutive(programs, machine, budget)


@pytest.mark.parametrize("seed", range(cases(4, 56)))
def test_random_modules_operator_by_operator(seed: int) -> None:
    case = random_case(seed)
    graph = sp.from_torch(case.module, case.inputs)
    if not graph.operators:
        return
    draw = random.Random(seed)
    least = max(
        sum(map(graph.size_bytes, (*op.inputs, *op.parameters, *op.outputs)))
        for op in graph.operators
    )
    for budget in (least, draw.randint(least // 4, least)):
        program = in_boxes(graph, budget, draw.choice(("latency", "traffic")))
        if program is None:
            continue
        report = replay(graph, program)
        assert report.peak_bytes <= budget
        found = account(graph, program)
        traffic = found.traffic_bytes
        claims = Claims(
            "feasible", traffic, 0, found.compulsory_bytes, traffic - found.compulsory_bytes,
            found.peak_bytes, found.extent_bytes, 0.0, "",
        )  # fmt: skip
        plan = Plan(
            planner="joined", graph=graph, machine=with_scratchpad(MACHINE, budget),
            budget_bytes=budget, program=program, claims=claims, options={}, notes=(),
        )  # fmt: skip
        assert sp.check(plan).traffic_bytes == traffic
        if all(tensor.dtype != "complex64" for tensor in graph.tensors.values()):
            assert sp.execute(plan, case.module, case.inputs).max_abs_error < 1e-4


@pytest.mark.parametrize("objective", ["latency", "traffic"])
@pytest.mark.parametrize("budget", [6_000, 9_000, 20_000, 60_000])
def test_a_grid_moves_what_it_says(budget: int, objective: str) -> None:
    module, inputs = Tokens(), (torch.randn(1, 3, 32, 32),)
    graph = sp.from_torch(module, inputs)
    position = next(i for i, op in enumerate(graph.operators) if op.kind == "linear")
    op, part = graph.operators[position], part_of(graph, position, position + 1)
    machine = with_scratchpad(MACHINE, budget)
    boxes = OperatorBoxes(part, machine, budget, op)
    grids = boxes.best(objective, Clock(60.0))
    assert grids
    for grid in grids:
        program = boxes.program([grid])
        assert program is not None
        report = replay(part, program)
        assert report.traffic_bytes == grid.moved_bytes
        assert report.peak_bytes <= grid.held_bytes <= budget
    weights = sum(map(graph.size_bytes, op.parameters))
    whole = weights + sum(map(graph.size_bytes, (*op.inputs, *op.outputs)))
    if objective == "traffic":  # All of the input stays, or some comes twice.
        assert (grids[0].moved_bytes == whole) == (budget > graph.size_bytes(op.inputs[0]))


def test_weights_larger_than_the_memory_over_tokens() -> None:
    """Fused groups hold all weights of a product; whole tensors need more; joined has a plan."""
    torch.manual_seed(0)
    module, inputs, budget = Tokens(), (torch.randn(1, 3, 64, 64),), 14_000
    graph = sp.from_torch(module, inputs)
    for planner in ("fusion", "cosma", "streaming"):
        with pytest.raises(BudgetTooSmall):
            sp.plan(graph, planner, budget, weights="counted", time_limit=3)
    for objective in ("latency", "traffic"):
        plan = sp.plan(graph, "joined", budget, objective=objective, time_limit=60, **ALONE)
        assert sp.check(plan).peak_bytes <= budget
        assert any("box by box" in segment.why for segment in plan.details.stretches)
        assert sp.execute(plan, module, inputs).max_abs_error < 1e-4


def test_operands_that_not_every_box_reads() -> None:
    """A box of what is put together reads some of the operands only."""
    graph = sp.from_torch(Together(), tuple(torch.randn(1, 16, 16) for _ in range(6)))
    (op,) = graph.operators
    for budget in (614, 1024, 1536, 3072):
        boxes = OperatorBoxes(graph, with_scratchpad(MACHINE, budget), budget, op)
        program = boxes.program(boxes.best("traffic", Clock(60.0)))
        assert program is not None
        report = replay(graph, program)
        assert report.traffic_bytes == 2 * 6 * 16 * 16
        assert report.peak_bytes <= budget


class Together(nn.Module):
    def forward(self, *parts: torch.Tensor) -> torch.Tensor:
        return torch.cat(parts, 2)


class Offset(nn.Module):
    """What is written one element aside of where its axes, in groups, have their edges."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x = x * 2
        x[:, 1:, 1:] += y.reshape(1, 512, 300)
        return x


def test_where_two_elements_read_too_much_one_is_made_at_a_time() -> None:
    inputs = torch.randn(1, 513, 301), torch.randn(1, 8, 8, 8, 3, 10, 10)
    graph, budget = sp.from_torch(Offset(), inputs), 2_000
    op = graph.operators[-1]
    boxes = OperatorBoxes(graph, with_scratchpad(MACHINE, budget), budget, op)
    program = boxes.program(boxes.best("traffic", Clock(60.0)))
    assert program is not None
    assert replay(part_of(graph, len(graph.operators) - 1, len(graph.operators)), program).macs == 0


def test_the_search_for_a_grid_ends_with_the_clock() -> None:
    module = nn.LayerNorm(96)
    graph = sp.from_torch(module, (torch.randn(2, 4, 4, 4, 4, 4, 4, 96),))
    (op,) = graph.operators
    clock = Clock(0.05)
    assert OperatorBoxes(graph, MACHINE, 600, op).best("latency", clock) is not None
    assert clock.ended
    assert clock.elapsed_s < 5


def test_parameters_that_are_read_in_place_take_no_bytes_and_are_read_for_each_box() -> None:
    graph = sp.from_torch(nn.Linear(64, 64), (torch.randn(1, 64, 64),))
    (op,) = graph.operators
    machine = with_scratchpad(MACHINE, 1000)
    boxes = OperatorBoxes(graph, machine, 1000, op, in_place=True)
    grids = boxes.best("traffic", Clock(60.0))
    program = boxes.program(grids)
    assert program is not None
    report = replay(graph, program)
    assert report.peak_bytes <= 1000
    assert report.traffic_bytes == grids[0].moved_bytes
    assert not any(
        isinstance(i, Load) and i.piece.tensor in op.parameters for i in program.instructions
    )


@pytest.mark.parametrize("machine", ["npu_small", "ethos_u55_high_end"])
def test_the_grid_that_is_taken_is_nearly_the_quickest(machine: str) -> None:
    """Of the grids that are tried, by the scoreboard."""
    graph, own = sp.from_torch(Tokens(48), (torch.zeros(1, 3, 32, 32),)), load_machine(machine)
    for number, op in enumerate(graph.operators):
        part = part_of(graph, number, number + 1)
        boxes = OperatorBoxes(part, own, 4096, op)
        took = [
            max(each.stop_s for each in schedule(program, own, part))
            for grid in boxes.best("latency", Clock(60.0))
            if (program := boxes.program([grid])) is not None
        ]
        assert took[0] <= 1.05 * min(took)


def test_a_part_of_an_axis_is_what_the_array_makes_at_once() -> None:
    """36 of 144 channels are three steps of 16: with 48, one box less takes as many."""
    graph = sp.from_torch(nn.Conv2d(64, 144, 1), (torch.zeros(1, 64, 8, 8),))
    boxes = OperatorBoxes(graph, MACHINE, 9_000, graph.operators[0])
    sizes = {grid.sizes[1] for grid in boxes.best("latency", Clock(60.0))}
    assert sizes & {16, 32, 48, 80}


def test_what_is_moved_behind_a_product_has_parts_along_the_axes_of_its_output() -> None:
    """A convolution whose tokens are one axis: the array's rows and channels are none of these."""

    class Moved(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv2d(3, 32, 4, stride=4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.conv(x).flatten(2).transpose(1, 2)

    graph = sp.from_torch(Moved(), (torch.zeros(1, 3, 64, 64),))
    for op in graph.operators:
        shape = graph.tensors[op.outputs[0]].shape
        assert len(ComputeSeconds(graph, MACHINE).at_once(op.name)) == len(shape)
        boxes = OperatorBoxes(graph, MACHINE, 1 << 20, op)
        assert all(len(grid.sizes) == len(shape) for grid in boxes.best("latency", Clock(60.0)))
