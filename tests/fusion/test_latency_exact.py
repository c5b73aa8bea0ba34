"""Small problems: fused groups by latency take what the best of all plans takes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest
import torch
from torch import nn

import planners as sp
from planners.core.progress import Clock
from planners.fusion.cost.group import GroupModel
from planners.fusion.emit.laid import LaidGroup
from planners.fusion.emit.program import emit
from planners.fusion.latency.exact import Enumeration
from planners.simulator.timing import schedule
from tests.cases import cases
from tests.fusion.test_latency import MACHINES

MOST_PLANS = 600  # of a problem that is small enough to look at all of them


def fits(layer: nn.Module, channels: int) -> bool:
    """Whether a layer takes maps of so many channels."""
    return isinstance(layer, nn.Conv2d) and layer.in_channels == channels


def small_net(seed: int) -> sp.Graph:
    """Two to four operators on maps of a few rows, each reading something before it; a layer may
    be there twice."""
    rng = random.Random(seed)
    made = [rng.randint(1, 2)]
    layers, reads = nn.ModuleList(), []
    for i in range(rng.randint(2, 4)):
        reads.append(rng.choice([i, i, rng.randint(0, i)]))
        made.append(rng.randint(1, 3))
        kernel = rng.choice([1, 1, 3])
        again = next((a for a in layers if rng.random() < 0.3 and fits(a, made[reads[-1]])), None)
        if again is not None:
            made[-1] = again.out_channels
        padding = (kernel // 2, 0)
        layers.append(again or nn.Conv2d(made[reads[-1]], made[-1], (kernel, 1), padding=padding))

    class Small(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = layers

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
            maps = [x]
            for at, layer in zip(reads, self.layers, strict=True):
                maps.append(layer(maps[at]))
            return tuple(maps[i] for i in range(1, len(maps)) if i not in reads)

    shape = (1, made[0], rng.randint(1, 3), rng.randint(1, 3))
    return sp.from_torch(Small(), (torch.randn(shape),), bytes_per_element=1)


def plans(
    every: Enumeration, laid: tuple[LaidGroup, ...], done: int
) -> Iterator[tuple[LaidGroup, ...]]:
    """All plans that begin with these groups."""
    if done == every.dag.everything:
        yield laid
    for mask in every.following(done):
        for each in every.laid[mask]:
            for group in every.after(laid[-1] if laid else None, each):
                more = (*laid, replace(group, name=f"g{len(laid)}"))
                yield from plans(every, more, done | mask)


def some_plans(every: Enumeration, most: int) -> list[tuple[LaidGroup, ...]]:
    """All plans of a small problem; none of a larger one."""
    found = []
    for laid in plans(every, (), 0):
        found.append(laid)
        if len(found) > most:
            return []
    return found


def compared(wanted: int, most_plans: int = MOST_PLANS) -> int:
    """Compare so many problems with the best of all of their plans; how many of them least traffic
    alone does not solve."""
    bettered = count = seed = 0
    while count < wanted:
        graph, machine = small_net(seed), MACHINES[[*MACHINES][seed % len(MACHINES)]]
        model = GroupModel(graph, machine, {})
        singles = [model.staircase(1 << i)[0].buffer_bytes for i in range(len(graph.operators))]
        budget = max(singles) + seed % 5
        seed += 1
        every = Enumeration(model, budget, double_buffer=True)
        assert every.lay(Clock(600.0))
        listed = some_plans(every, most_plans)
        if not listed:
            continue
        seconds = []
        for laid in listed:
            program = emit(graph, machine, laid, budget)
            seconds.append(max(each.stop_s for each in schedule(program, machine)))
        plan = sp.plan(graph, "fusion", budget, machine, objective="latency", bands=1)
        claim = plan.details.latency
        assert claim is not None
        assert claim.seconds == pytest.approx(min(seconds), rel=1e-12), seed
        assert plan.claims.status == "optimal"
        traffic = sp.plan(graph, "fusion", budget, machine, bands=1)
        bettered += sp.simulate(traffic).makespan_s > claim.seconds * (1 + 1e-9)
        count += 1
    return bettered


def test_small_problems_take_what_the_best_of_all_plans_takes() -> None:
    assert compared(cases(8), most_plans=100)


def test_no_place_is_looked_at_when_the_time_is_over() -> None:
    """A group of many tiles takes long to write: one at a time, while there is time."""
    graph = small_net(0)
    every = Enumeration(
        GroupModel(graph, MACHINES[next(iter(MACHINES))], {}), 1 << 20, double_buffer=True
    )
    assert every.few
    found = every.best(float("inf"), Clock(0.0))
    assert (found.best, found.complete, every.laid) == (None, False, {})
    assert every.best(float("inf"), Clock(600.0)).best is not None
    assert every.laid


@pytest.mark.long
def test_three_hundred_small_problems() -> None:
    assert compared(300) > 50
