"""Operators that run again: what it saves, that programs stay right, and that plans say so."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest
import torch

import planners as sp
from planners.core.errors import BudgetTooSmall, InvalidPlan
from planners.core.machine import load_machine, with_scratchpad
from planners.core.plan import Plan
from planners.core.program import Compute
from planners.core.progress import Clock
from planners.joined.fused import FusedParts
from planners.joined.isomorphic import PartNames, of_names
from planners.joined.recompute import ChainAgain, chains, of_originals, with_copies
from planners.simulator.account import account
from planners.simulator.check import replay
from tests.cases import cases
from tests.joined.networks import Squeezing
from tests.joined.test_planner import ALONE, least_of
from tests.random_modules import random_case

BUDGET = 16_000


def squeezing() -> tuple[torch.nn.Module, tuple[torch.Tensor, ...], sp.Graph]:
    torch.manual_seed(0)
    module, inputs = Squeezing(), (torch.randn(1, 3, 48, 48),)
    return module, inputs, sp.from_torch(module, inputs)


def parts_of(graph: sp.Graph, objective: str, *, copies: bool) -> FusedParts:
    machine = with_scratchpad(load_machine("npu_small"), BUDGET)
    return FusedParts(graph, machine, BUDGET, objective, Clock(60.0), copies=copies)


def test_the_chain_makes_the_wide_map_of_the_small_one() -> None:
    _, _, graph = squeezing()
    (chain,) = chains(graph)
    assert [graph.operators[p].name for p in chain.positions] == ["conv2d_1", "conv2d_2"]
    assert graph.operators[chain.before].kind == "mul"
    wide, small = (graph.size_bytes(graph.operators[p].outputs[0]) for p in (2, 0))
    weights = sum(graph.size_bytes(t) for p in (1, 2) for t in graph.operators[p].parameters)
    assert chain.saved_bytes == 2 * wide - small - weights


def test_a_map_that_would_be_spilled_is_made_again() -> None:
    _, _, graph = squeezing()
    plain, again = (
        parts_of(graph, "traffic", copies=copies).find(0, len(graph.operators), Clock(20.0))
        for copies in (False, True)
    )
    assert plain is not None
    assert again is not None
    assert (plain.again, again.again) == ((), ("conv2d_1", "conv2d_2"))
    least = account(graph, again.program).traffic_bytes
    saved = account(graph, plain.program).traffic_bytes - least
    assert saved > graph.size_bytes(graph.operators[2].outputs[0]) // 2


def test_a_plan_makes_a_map_again_and_computes_the_same() -> None:
    module, inputs, graph = squeezing()
    again = parts_of(graph, "traffic", copies=True).find(0, len(graph.operators), Clock(20.0))
    assert again is not None
    least = account(graph, again.program).traffic_bytes
    plan = sp.plan(graph, "joined", BUDGET, objective="traffic", time_limit=20, **ALONE)
    assert sp.check(plan).traffic_bytes <= least
    assert any("conv2d_1, conv2d_2 run again" in s.why for s in plan.details.stretches)
    assert sp.execute(plan, module, inputs).max_abs_error < 1e-4
    macs = Counter[str]()
    for item in plan.program.instructions:
        if isinstance(item, Compute):
            macs[item.operator] += item.macs
    assert macs["conv2d_2"] == 2 * graph.operators[2].macs


def test_where_the_work_costs_more_nothing_runs_again() -> None:
    _, _, graph = squeezing()
    slow = replace(load_machine("npu_small"), macs_per_s=1e6)
    parts = parts_of(graph, "latency", copies=True)
    parts.machine = with_scratchpad(slow, BUDGET)
    found = parts.find(0, len(graph.operators), Clock(2.0))
    assert found is not None
    assert found.again == ()


@pytest.mark.parametrize("seed", [*range(cases(4, 48)), 73])
def test_any_chains_of_random_modules_may_run_again(seed: int) -> None:
    """Programs of networks with copies are valid for the network itself, and compute the same."""
    case = random_case(seed)
    graph = sp.from_torch(case.module, case.inputs)
    if not graph.operators:
        return
    draw = random.Random(seed)
    some = [chain for chain in every_chain(graph, draw) if draw.random() < 0.7]
    network, names = with_copies(graph, some)
    assert len(network.operators) == len(graph.operators) + sum(len(c.positions) for c in some)
    try:
        made = sp.plan(network, "fusion", least_of(network), time_limit=1)
    except BudgetTooSmall:
        return
    program = of_originals(made.program, names)
    if program is None:  # A piece and its copy are on chip at once: the replay says so.
        renamed = tuple(
            of_names(item, PartNames(names, names)) for item in made.program.instructions
        )
        with pytest.raises(InvalidPlan, match="cannot move"):
            replay(graph, replace(made.program, instructions=renamed))
        return
    assert replay(graph, program).traffic_bytes == made.claims.offchip_bytes
    plan = Plan(
        planner="joined", graph=graph, machine=made.machine, budget_bytes=made.budget_bytes,
        program=program, claims=made.claims, options={}, notes=(),
    )  # fmt: skip
    if all(tensor.dtype != "complex64" for tensor in graph.tensors.values()):
        assert sp.execute(plan, case.module, case.inputs).max_abs_error < 1e-4


def every_chain(graph: sp.Graph, draw: random.Random) -> list[ChainAgain]:
    """For each tensor that is read more than once, worth it or not: what makes it, up to three."""
    found = []
    for position, op in enumerate(graph.operators):
        readers = graph.consumers[op.outputs[0]]
        if len(op.outputs) > 1 or len(readers) < 2 or op.outputs[0] in graph.outputs:
            continue
        members, at = [position], position
        for _ in range(draw.randrange(3)):
            makers = [graph.producer[t] for t in graph.operators[at].inputs if t in graph.producer]
            makers = [p for p in makers if len(graph.operators[p].outputs) == 1]
            if not makers:
                break
            at = draw.choice(makers)
            members.append(at)
        found.append(ChainAgain(tuple(sorted(set(members))), draw.choice(readers[1:]), 0))
    return found
