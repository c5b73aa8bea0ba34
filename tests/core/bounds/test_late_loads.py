"""What cannot be loaded before: against all elements that each one waits for, and against plans."""

from __future__ import annotations

import random
from itertools import product

import pytest
import torch
from torch import nn

import planners as sp
from planners.core.access import needs, reduced
from planners.core.bounds.floors import ProblemFloors
from planners.core.bounds.late_loads import _Waits, late_loads_s
from planners.core.graph import Graph, Operator
from planners.core.machine import load_machine, with_numbers, with_scratchpad
from planners.core.weights import COUNTED, IN_PLACE
from tests.cases import cases
from tests.overlap.small_nets import Builder
from tests.random_modules import random_case

NPU = load_machine("npu_ideal")


class Headed(nn.Module):
    """A few convolutions, a pooling of all or of windows, and layers with most of the weights."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        torch.manual_seed(seed)
        draw = random.Random(seed)
        layers: list[nn.Module] = []
        side, channels = draw.choice((8, 10)), 3
        self.shape = (1, channels, side, side)
        for _ in range(draw.randint(1, 3)):
            groups = channels if draw.random() < 0.3 else 1
            made = channels if groups > 1 else draw.randint(2, 8)
            kernel = draw.choice((1, 3))
            layers.append(nn.Conv2d(channels, made, kernel, padding=kernel // 2, groups=groups))
            channels = made
            if draw.random() < 0.5:
                layers.append(nn.ReLU())
        over = draw.choice((1, 1, 2))
        layers += [nn.AdaptiveAvgPool2d(over), nn.Flatten()]
        channels *= over * over
        for _ in range(draw.randint(1, 3)):
            made = draw.randint(50, 200)
            layers.append(nn.Linear(channels, made))
            channels = made
            if draw.random() < 0.5:
                layers.append(nn.ReLU())
        self.layers = nn.Sequential(*layers)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


def headed(seed: int) -> Graph:
    module = Headed(seed).eval()
    return sp.from_torch(module, (torch.randn(module.shape),), bytes_per_element=1)


# ---- which operators are done before others begin ------------------------------------------------


def elements(graph: Graph, tensor: str) -> list[tuple[int, ...]]:
    return [*product(*map(range, graph.tensors[tensor].shape))]


def one(place: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    return tuple((at, at + 1) for at in place)


def waits_of(graph: Graph) -> dict[str, set[str]]:
    """By operator: those of which every element is made before any part of it, by elements."""
    behind: dict[tuple[str, tuple[int, ...]], set[tuple[str, tuple[int, ...]]]] = {}

    def reads(
        op: Operator, output: str, place: tuple[int, ...]
    ) -> set[tuple[str, tuple[int, ...]]]:
        """All elements that the ones which an element is made of wait for, and these."""
        found: set[tuple[str, tuple[int, ...]]] = set()
        for name, box in needs(graph, op, output, one(place)):
            if name in op.inputs:
                for at in product(*(range(*side) for side in box)):
                    found |= behind.get((name, at), set()) | {(name, at)}
        return found

    begins: dict[str, list[set[tuple[str, tuple[int, ...]]]]] = {}
    for op in graph.operators:
        parts = begins.setdefault(op.name, [])
        for output in op.outputs:
            for place in elements(graph, output):
                behind[output, place] = reads(op, output, place)
                parts.append(behind[output, place])
        if reduced(graph, op) is not None:
            data = op.inputs[0]
            parts += [behind.get((data, at), set()) | {(data, at)} for at in elements(graph, data)]
            if any(op.padding):
                parts.append(set())
    made = {
        op.name: {(t, at) for t in op.outputs for at in elements(graph, t)}
        for op in graph.operators
    }
    return {
        name: {other for other, whole in made.items() if all(whole <= part for part in parts)}
        for name, parts in begins.items()
    }


QUICK = (1, 2, 4, 7, 8, 10, 11, 13, 15, 16)
"""Seeds of networks of so few elements that what each waits for is soon found."""


@pytest.mark.parametrize(
    "seed", [pytest.param(n, marks=() if n in QUICK else pytest.mark.long) for n in range(120)]
)
def test_what_is_done_before_is_what_all_elements_wait_for(seed: int) -> None:
    """Nothing is claimed that does not follow; where a head is behind a pooling, all is found."""
    case = random_case(seed)
    for graph in (sp.from_torch(case.module, case.inputs), headed(seed)):
        names = [op.name for op in graph.operators]
        known, wanted = _Waits(graph), waits_of(graph)
        for op in graph.operators:
            assert {names[at] for at in known.before_operator(op)} <= wanted[op.name]
    last = graph.operators[-1]
    assert {names[at] for at in known.before_operator(last)} == wanted[last.name]


# ---- no plan is below it -------------------------------------------------------------------------


PLANNERS = {
    "fusion": {"objective": "latency"},
    "joined": {"objective": "latency", "others": False},
    "cosma": {"objective": "latency"},
    "streaming": {},
}


def seconds_above(seed: int) -> list[float]:
    """By plan of a network, how much longer than the bound it takes, where that is the most that
    is known."""
    graph = headed(seed)
    whole = sum(graph.size_bytes(t) for op in graph.operators for t in op.parameters)
    # Computing takes about as long as loading: then it counts what is loaded when.
    load_s = ProblemFloors(graph, NPU, COUNTED).load_s(whole)
    machine = with_numbers(NPU, {"macs_per_s": graph.macs / load_s})
    found = []
    for budget, (planner, options) in product((whole // 4, whole // 2), PLANNERS.items()):
        floors = ProblemFloors(graph, with_scratchpad(machine, budget), COUNTED)
        least = late_loads_s(floors, budget)
        asked = {"weights": COUNTED, "time_limit": 1, **options}
        try:
            plan = sp.plan(graph, planner, budget, machine, **asked)
        except sp.SpillwayError:
            continue
        took = sp.simulate(plan).makespan_s
        assert took >= least * (1 - 1e-9), (seed, planner, budget)
        claim = plan.details.latency
        assert claim is None or claim.bound_s <= took * (1 + 1e-9)
        found += [took / least] if least > floors.latency_s else []
    return found


@pytest.mark.usefixtures("long_looks")
def test_no_plan_takes_less() -> None:
    """Of networks whose last layers are larger than the memory, by any planner.

    Searches by latency end with their limit; their first plans are near enough.
    """
    seeds = cases(1, 8)
    above = [ratio for seed in range(seeds) for ratio in seconds_above(seed)]
    assert len(above) > seeds
    assert min(above) < 1.3


@pytest.mark.usefixtures("long_looks")
def test_it_is_near_where_the_last_layer_is_large() -> None:
    """Nearly all of the weights behind a pooling: most of the seconds of a plan are proven."""
    torch.manual_seed(0)
    layers = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 4000)
    )
    graph = sp.from_torch(layers.eval(), (torch.randn(1, 3, 28, 28),), bytes_per_element=1)
    plan = sp.plan(graph, "joined", 8000, NPU, objective="latency", weights=COUNTED, time_limit=2)
    claim = plan.details.latency
    assert claim is not None
    assert 0 < claim.gap < 0.3
    assert claim.bound_s > ProblemFloors(graph, plan.machine, COUNTED).latency_s


def test_parameters_that_do_not_count_are_no_loads() -> None:
    floors = ProblemFloors(headed(0), NPU, IN_PLACE)
    assert late_loads_s(floors, 1) == 0.0


# ---- what was found, and is mended ---------------------------------------------------------------


def test_a_chain_of_any_length_is_followed() -> None:
    """Whole tensors as far as they go, parts of them so far only."""
    net, last = Builder((1, 2, 64, 64)), "x"
    for _ in range(450):
        last = net.conv(last, 2)
    graph = net.graph(net.linear(net.global_average(last), 3000))
    assert late_loads_s(ProblemFloors(graph, NPU, COUNTED), 4000) > 0
    net, last = Builder((1, 2, 4, 4)), "x"
    for _ in range(450):
        last = net.depthwise(last, (1, 1), (1, 1), (0, 0))
    graph = net.graph(net.conv(last, 9))
    assert late_loads_s(ProblemFloors(graph, NPU, COUNTED), 1) >= 0


class PaddingAlone(nn.Module):
    """Most of what the last factor is read with is padding, which waits for nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(1, 1, 3, padding=1), nn.Conv2d(1, 1, 3, padding=1))
        self.wide = nn.Conv2d(1, 3, 1, padding=10)
        self.factor = nn.Parameter(torch.randn(1, 3, 21, 21))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.wide(nn.functional.avg_pool2d(self.first(x), 8, stride=1)) * self.factor


def test_padding_waits_for_nothing() -> None:
    for granularity in ("fused", "aten"):
        graph = sp.from_torch(
            PaddingAlone().eval(), (torch.randn(1, 1, 8, 8),), granularity=granularity
        )
        last = graph.operators[-1]
        assert "factor" in "".join(last.parameters)
        assert _Waits(graph).before_operator(last) == frozenset()


def test_several_memories_on_chip_hold_more_than_the_budget() -> None:
    machine = load_machine("stm32h743_psram")
    assert machine.slower
    assert late_loads_s(ProblemFloors(headed(0), machine, COUNTED), 1) == 0.0
