"""Small problems: fused groups by latency take what the best of all plans takes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import count, cycle

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
from tests.fusion.test_latency import MACHINES

MOST_PLANS = 600  # of a problem that is small enough to look at all of them
FEW_PLANS = (0, 7, 15, 18, 20, 25, 32, 35, 36)  # Seeds of problems of at most a hundred plans.


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


def bettered(seed: int, machine: sp.Machine, most_plans: int) -> bool | None:
    """Compare a problem with the best of all of its plans: whether least traffic alone does not
    solve it; `None` where it has too many plans."""
    graph = small_net(seed)
    model = GroupModel(graph, machine, {})
    singles = [model.staircase(1 << i)[0].buffer_bytes for i in range(len(graph.operators))]
    budget = max(singles) + seed % 5
    every = Enumeration(model, budget, double_buffer=True)
    assert every.lay(Clock(600.0))
    listed = some_plans(every, most_plans)
    if not listed:
        return None
    seconds = []
    for laid in listed:
        program = emit(graph, machine, laid, budget)
        seconds.append(max(each.stop_s for each in schedule(program, machine, graph)))
    plan = sp.plan(graph, "fusion", budget, machine, objective="latency", bands=1, time_limit=600)
    claim = plan.details.latency
    assert claim is not None
    assert claim.seconds == pytest.approx(min(seconds), rel=1e-12), seed
    assert plan.claims.status == "optimal"
    traffic = sp.plan(graph, "fusion", budget, machine, bands=1)
    return sp.simulate(traffic).makespan_s > claim.seconds * (1 + 1e-9)


@pytest.mark.parametrize(("seed", "machine"), [*zip(FEW_PLANS, cycle(MACHINES))])
def test_small_problems_take_what_the_best_of_all_plans_takes(seed: int, machine: str) -> None:
    assert bettered(seed, MACHINES[machine], MOST_PLANS) is not None


def test_no_place_is_looked_at_when_the_time_is_over() -> None:
    """A group of many tiles takes long to write: one at a time, while there is time."""
    graph = small_net(25)
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
    machines, found = [*MACHINES.values()], []
    for seed in count():
        found.append(bettered(seed, machines[seed % len(machines)], MOST_PLANS))
        if sum(each is not None for each in found) == 300:
            break
    assert sum(map(bool, found)) > 50
