"""Rows that do the same are written as loops: the program is the one written row by row."""

from __future__ import annotations

import random

import pytest

import planners as sp
from planners.core.loops import expanded, items_of
from planners.core.program import Repeat
from planners.overlap.emit import pool, writer
from planners.overlap.emit.program import emit
from tests.cases import cases
from tests.overlap.random_nets import random_net
from tests.overlap.small_nets import Builder

WINDOWS = (((1, 1), (0, 0)), ((3, 3), (1, 1)), ((3, 3), (0, 0)), ((5, 3), (2, 1)), ((2, 2), (0, 0)))


def random_maps(seed: int) -> sp.Graph:
    """Windows, sums, pools and concatenations over maps of so many rows that some are alike."""
    rng = random.Random(seed)
    net = Builder((1, rng.randint(1, 4), rng.randint(9, 24), rng.randint(3, 12)))
    made = ["x"]
    for _ in range(rng.randint(1, 6)):
        source = made[-1] if rng.random() < 0.8 else rng.choice(made)
        alike = [name for name in made if net.shape(name) == net.shape(source)]
        kernel, padding = rng.choice(WINDOWS)
        stride = rng.choice(((1, 1), (1, 1), (2, 2), (2, 1)))
        if any(n + 2 * p < k for n, p, k in zip(net.shape(source)[2:], padding, kernel)):
            kernel, padding = WINDOWS[0]
        match rng.randrange(6):
            case 0 | 1:
                made.append(net.conv(source, rng.randint(1, 5), kernel, stride, padding))
            case 2:
                made.append(net.depthwise(source, kernel, stride, padding))
            case 3:
                made.append(net.pool("avg_pool2d", source, kernel, stride, padding))
            case 4 if len(alike) > 1:
                made.append(net.same("add", *rng.sample(alike, 2)))
            case 5 if len(alike) > 1:
                made.append(net.cat(*rng.sample(alike, 2)))
            case _:
                made.append(net.same("relu", source))
    used = {name for op in net.operators for name in op.inputs}
    return net.graph(*(name for name in made if name not in used))


def compared(plan: sp.Plan, parameters: bool) -> int:
    """How many loops a plan's program has, which is the one that is written without any."""
    assert plan.details.pool is not None
    program = emit(plan.graph, plan.machine, plan.details.pool.layout, parameters)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writer, "LEAST_ROUNDS", 1 << 40)
        patch.setattr(pool, "LEAST_ROUNDS", 1 << 40)
        straight = emit(plan.graph, plan.machine, plan.details.pool.layout, parameters)
    items = list(items_of(program))
    flat = list(items_of(straight))
    assert not any(isinstance(item, Repeat) for item in flat)
    assert list(expanded(items)) == flat
    assert (program.steps, program.memories) == (straight.steps, straight.memories)
    return sum(isinstance(item, Repeat) for item in items)


@pytest.mark.parametrize("parameters", [False, True])
def test_random_networks_written_as_loops(parameters: bool) -> None:
    loops, seeds = 0, cases(5, 60)
    for seed in range(seeds):
        graph = random_maps(seed) if seed % 6 else random_net(seed, 6)[0]
        rng = random.Random(-seed)
        options = {"fuse": rng.random() < 0.7, "segment": rng.choice(("pixel", "min", "gcd"))}
        objective = rng.choice(("macs", "ram"))
        plan = sp.plan(
            graph, "overlap", "64KiB", objective=objective, parameters=parameters, **options
        )
        loops += compared(plan, parameters)
    assert loops > 2 * seeds


@pytest.mark.parametrize("name", [pytest.param("mcunet_vww1", marks=pytest.mark.long), "vmcu:S3"])
def test_networks_written_as_loops(name: str) -> None:
    assert compared(sp.plan(sp.load(name), "overlap", "4MiB", replay=False), False)
