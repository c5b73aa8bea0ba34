"""What a module keeps from run to run is state: read, planned, counted and computed as it does."""

from __future__ import annotations

import copy
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import planners as sp
from planners.core.program import Store
from tests.importers.state import BODIES, F, Keeps

PLANNERS = ("cosma", "fusion", "overlap", "streaming")


def given(seed: int = 1) -> tuple[torch.Tensor, ...]:
    return (torch.randn(1, 3, 4, generator=torch.Generator().manual_seed(seed)),)


def keeps(body: str) -> nn.Module:
    torch.manual_seed(0)
    return Keeps(BODIES[body]).eval()


def runs(module: nn.Module, count: int) -> list[tuple[Any, dict[str, torch.Tensor]]]:
    """What a copy of a module gives run after run, and what it keeps then."""
    module, found = copy.deepcopy(module), []
    for seed in range(count):
        with torch.no_grad():
            outputs = module(*given(seed))
        found.append(copy.deepcopy((outputs, dict(module.named_buffers()))))
    return found


def usual(body: str) -> tuple[str, ...]:
    """COSMA, and another planner in turn."""
    return "cosma", PLANNERS[1 + list(BODIES).index(body) % 3]


@pytest.mark.parametrize(
    ("body", "granularity", "planners"),
    [
        pytest.param(body, granularity, planners, marks=marks)
        for body in BODIES
        for granularity, planners, marks in (
            ("fused", usual(body), ()),
            ("fused", [p for p in PLANNERS if p not in usual(body)], pytest.mark.long),
            ("aten", PLANNERS, pytest.mark.long),
        )
    ],
)
def test_executions_give_what_runs_give(body: str, granularity: Any, planners: Any) -> None:
    module = keeps(body)
    graph = sp.from_torch(module, given(), granularity=granularity)
    eager = runs(module, 2)
    for planner in planners:
        plan, own = sp.plan(graph, planner, 4096, time_limit=600), copy.deepcopy(module)
        for seed, (expected, kept) in enumerate(eager[: 2 if planner == "cosma" else 1]):
            found = sp.execute(plan, own, given(seed))
            torch.testing.assert_close(found.outputs, expected)
            torch.testing.assert_close({**kept, **found.state}, kept)
            assert len(found.state) == len(graph.state) > 0
            assert all(torch.equal(own.get_buffer(name), kept[name]) for name in kept)


def test_state_is_at_home_before_and_its_new_value_after() -> None:
    graph = sp.from_torch(keeps("key_value_cache"), given())
    assert graph.tensors["cache"].kind == "state"
    assert (graph.inputs, graph.state) == (("x", "cache"), {"cache": graph.outputs[1]})
    assert graph.tensors[graph.state["cache"]].shape == (1, 6, 4)
    assert sp.Graph.from_json(graph.to_json()) == graph
    plan = sp.plan(graph, budget=4096)
    assert plan.claims.compulsory_bytes == sum(
        map(graph.size_bytes, ("x", "cache", *graph.outputs))
    )
    new = graph.state["cache"]
    lost = [i for i in plan.program.instructions if not isinstance(i, Store) or i.piece[0] != new]
    with pytest.raises(sp.InvalidPlan, match=f"output {new} is not whole in host"):
        sp.check(replace(plan, program=replace(plan.program, instructions=lost)))


@pytest.mark.parametrize(
    ("body", "decomposed"), [("key_value_cache", True), ("running", True), ("running", False)]
)
def test_programs_and_files_have_the_state_of_their_module(
    body: str, decomposed: bool, tmp_path: Path
) -> None:
    module = keeps(body)
    (expected, kept), *_ = runs(module, 1)
    with torch.no_grad():
        program = torch.export.export(module, given(), strict=False)
    with warnings.catch_warnings():  # PyTorch's own.
        warnings.simplefilter("ignore")
        program = program.run_decompositions() if decomposed else program
    torch.export.save(program, tmp_path / "net.pt2")
    graph = sp.from_torch(program, name="net")
    typed = graph.with_bytes_per_element("native")
    assert {**sp.load(tmp_path / "net.pt2").to_json(), "source": {}} == typed.to_json()
    found = sp.execute(sp.plan(graph, budget=4096), program, given(0))
    torch.testing.assert_close((found.outputs, {**kept, **found.state}), (expected, kept))


def test_a_norm_of_the_batch_is_no_part_of_the_convolution_before_it() -> None:
    layers = nn.Conv1d(3, 4, 2), nn.BatchNorm1d(4, track_running_stats=False), nn.ReLU()
    module, inputs = nn.Sequential(*layers).eval(), (torch.randn(2, 3, 8),)
    graph = sp.from_torch(module, inputs)
    assert [op.kind for op in graph.operators] == ["conv1d", "native_batch_norm"]
    for planner in PLANNERS:
        plan = sp.plan(graph, planner, 4096, time_limit=600)
        assert sp.execute(plan, module, inputs).max_abs_error < 1e-5


def weights(m: Any, x: torch.Tensor) -> Any:
    m.linear.weight.add_(1)
    return m.linear(x)


def reshaped(m: Any, x: torch.Tensor) -> Any:
    m.hidden.unsqueeze_(0)
    return x + m.hidden


def as_number(m: Any, x: torch.Tensor) -> Any:
    y = x * m.count.item()
    m.count.add_(1)
    return y


def elsewhere(m: Any, x: torch.Tensor) -> Any:
    out = torch.zeros(1, 3, 4)
    torch.mul(x, 2, out=out)
    return out + x


def several(m: Any, x: torch.Tensor) -> Any:
    y, z = x + 1, x * 2
    torch._foreach_add_([y, z], 1)
    return y + z


def of_instances(m: Any, x: torch.Tensor) -> Any:
    return F.instance_norm(x, m.mean, m.variance, use_input_stats=True)


@pytest.mark.parametrize(
    ("body", "line"),
    [
        (weights, "add_ writes the module's own 'linear.weight', a parameter: make it a buffer"),
        (reshaped, "unsqueeze_ gives the module's own 'hidden' another shape: keep its shape"),
        (as_number, "'count' is read as a number and written: keep it a tensor"),
        (elsewhere, r"mul writes into an argument besides what it returns.*copy_\(\) that"),
        (several, "_foreach_add_ writes into an argument besides what it returns"),
        (of_instances, "instance_norm writes into an argument besides what it returns"),
    ],
)
def test_what_cannot_be_read_right_is_refused(body: Any, line: str) -> None:
    with pytest.raises(sp.ImportFailed, match=line):
        sp.from_torch(Keeps(body), given())


def test_memory_that_two_buffers_share_is_refused() -> None:
    module = Keeps(BODIES["returned"])
    module.register_buffer("alias", module.hidden[:, :2])
    module.body = lambda m, x: BODIES["returned"](m, x)[:, :2] + m.alias
    with pytest.raises(sp.ImportFailed, match="'hidden' is written and shares its memory with"):
        sp.from_torch(module, given())


class InAttributes(nn.Module):
    """Keeps what it makes in attributes that are no buffers."""

    def __init__(self, way: str) -> None:
        super().__init__()
        self.linear, self.way = nn.Linear(4, 4), way
        self.before: torch.Tensor | None = None
        self.table: torch.Tensor | None = None
        self.seen = self.given = torch.ones(1, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.linear(x)
        if self.way == "from nothing":
            y = y if self.before is None else y + self.before
            self.before = y.tanh()
        elif self.way == "from a tensor":
            y = y + self.given
            self.given = y.tanh()
        else:
            if self.table is None:
                self.table = torch.arange(4) * 0.5
            y = y + self.table
            self.seen = y
        return y


@pytest.mark.parametrize(("way", "name"), [("from nothing", "before"), ("from a tensor", "given")])
def test_state_in_an_attribute_is_refused(way: str, name: str) -> None:
    with pytest.raises(sp.ImportFailed, match=f"keeps '{name}' from run to run in an attribute"):
        sp.from_torch(InAttributes(way), torch.ones(1, 4))


def test_tables_and_notes_in_attributes_are_no_state() -> None:
    module, x = InAttributes("table"), torch.ones(1, 4)
    graph = sp.from_torch(module, x)
    assert module.table is None
    assert sp.execute(sp.plan(graph, budget=4096), module, x).bit_exact
    assert sp.from_torch(module, x).operators[0].kind == "linear"
