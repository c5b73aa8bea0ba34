"""Plans of every planner on small networks: graphs, ways to plan and budgets, drawn from a seed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Any, NamedTuple

import torch
from torch import nn

import planners as sp
from planners.core.graph import Graph
from planners.core.loops import items_of, size_of
from tests.fusion.networks import random_net as random_maps
from tests.mixed_types import mixed
from tests.overlap.random_nets import random_net
from tests.overlap.small_nets import Builder
from tests.random_graphs import random_graph
from tests.random_modules import random_case
from tests.simulator.looped import rows
from tests.simulator.parted import PartedLayers
from tests.simulator.programs import (
    RowsInRings,
    SegmentsInPool,
    StreamedLayers,
    budget_of,
    plan_of,
)
from tests.simulator.summed import SummedLayers

LIMIT_S = 1.0
AMPLE = 1 << 20
TRIES = 6
BY_HAND = 0.1
MOST_INSTRUCTIONS = 1200
"""Of a plan that is tried: hundreds of files are made of it."""
BANKS, TWO_DMA = "stm32h743_psram", "docs/examples/npu_two_dma.toml"
Data = dict[str, Any]


class Way(NamedTuple):
    """A planner with options, which leave something to chance where they hold several values."""

    planner: str
    machine: str = "npu_small"
    options: Mapping[str, tuple[Any, ...]] = {}


WEIGHTS = ("left-out", "counted", "in-place")
WAYS = (
    Way(
        "cosma",
        options={
            "schedule": ("default", "mpmf", "joint", "dnc"),
            "objective": ("traffic", "peak", "traffic_then_latency", "latency"),
            "weights": WEIGHTS,
        },
    ),
    Way("cosma", options={"method": ("ilp",), "paper_strict": (False, True)}),
    Way(
        "cosma",
        options={
            "replacement": ("belady", "greedy", "size_ordered", "hill_climb"),
            "alignment": (1, 4, 64),
            "weights": WEIGHTS,
        },
    ),
    Way("cosma", BANKS, {"schedule": ("default", "mpmf"), "weights": WEIGHTS}),
    Way("cosma", TWO_DMA, {"objective": ("traffic", "latency")}),
    Way(
        "fusion",
        options={
            "objective": ("traffic", "latency"),
            "joint": (False, True),
            "bands": (1, 8),
            "channel_tile": (1, 1, 2),
            "double_buffer": (True, False),
        },
    ),
    Way("fusion", options={"online": (True,), "channel_tile": (1, 2)}),
    Way("fusion", options={"baseline": ("no_fusion", "fused_layer", "dnnvm", "efficient_s")}),
    Way(
        "overlap",
        options={
            "objective": ("macs", "ram", "latency"),
            "fuse": (True, True, False),
            "segment": ("pixel", "pixel", "min", "gcd"),
            "weights": ("left-out", "in-place"),
        },
    ),
    Way("overlap", "stm32f411", {"objective": ("macs", "ram"), "weights": ("in-place",)}),
    Way(
        "streaming",
        options={
            "pipeline": ("exact", "pre", "seq", "sync", "async", "async-md", "2s", "2s-md"),
            "step": (8,),
        },
    ),
    Way(
        "streaming",
        "jetson_xavier_980pro",
        {
            "slices": (0, 1, 2, 3),
            "stages": (0, 2, 3),
            "joint": (False, True),
            "twice": (True, False),
        },
    ),
    Way(
        "joined",
        options={
            "objective": ("latency", "traffic", "energy"),
            "others": (True, False),
            "weights": ("counted", "in-place"),
        },
    ),
    Way("joined", BANKS, {"others": (False,), "weights": ("counted", "in-place")}),
    Way(
        "auto",
        options={
            "objective": ("latency", "traffic", "energy", "memory"),
            "weights": WEIGHTS,
            "processes": (1,),
        },
    ),
)


def chain() -> Graph:
    """A few layers by hand: windows with strides and groups, a shortcut, pools, a classifier."""
    net = Builder((1, 3, 9, 8))
    stem = net.conv("x", 4, (3, 3), (2, 1), (1, 1), activation="relu")
    wide = net.conv(stem, 8, activation="relu6")
    deep = net.depthwise(wide, (3, 3), (1, 1), (1, 1), "")
    thin = net.same("add", net.conv(deep, 4), stem)
    less = net.pool("max_pool2d", thin, (2, 2), (2, 2), (0, 0))
    return net.graph(net.linear(net.global_average(less), 5), thin)


def tall(draw: Random) -> Graph:
    """Few layers on maps that are high and narrow: what runs in strips, and in loops over them."""
    net = Builder((1, draw.choice((3, 8)), draw.randint(9, 20), draw.randint(2, 4)))
    made = "x"
    for _ in range(draw.randint(2, 4)):
        kernel, stride = draw.choice((1, 3)), draw.choice((1, 1, 2))
        window = ((kernel, kernel), (stride, stride), (kernel // 2, kernel // 2))
        match draw.choice("wide wide deep pool add".split()):
            case "wide":
                made = net.conv(made, draw.choice((4, 8, 24)), *window, activation="relu")
            case "deep":
                made = net.depthwise(made, *window, "relu6")
            case "pool":
                made = net.pool(draw.choice(("max_pool2d", "avg_pool2d")), made, *window)
            case "add":
                made = net.same(
                    "add", made, net.conv(made, net.shape(made)[1], (3, 3), (1, 1), (1, 1))
                )
    return net.graph(made)


def by_hand(draw: Random) -> sp.Plan:
    """A program that tests have written: rows in rings, a pool, a ring of weights, sums, parts."""
    seed = draw.randrange(10**6)
    module: nn.Module = nn.Sequential(nn.Conv2d(3, 5, 3, padding=1), nn.ReLU(), nn.Conv2d(5, 4, 1))
    inputs = (torch.zeros(1, 3, 6, 4),)
    types = draw.choice((None, {"x": "int8", "relu": "float16", "conv2d_1": "int8"}))
    match draw.choice("rows loop pool ring sums sums parts parts".split()):
        case "rows":
            made: Any = RowsInRings(draw.randint(3, 5))
        case "pool":
            made = SegmentsInPool(spare=draw.randint(0, 3))
        case "ring":
            made = StreamedLayers()
        case "sums":
            frees = draw.random() < 0.5
            made = SummedLayers(module, inputs, seed, frees=frees, types=types)
        case "parts":
            made = PartedLayers(module, inputs, seed)
        case "loop":
            graph, program = rows(draw.randint(9, 16), draw.randint(3, 4))
            return plan_of(graph, program, budget_of(program))
    return plan_of(made.graph, made.program(), budget_of(made.program()))


def drawn_graph(draw: Random, planner: str) -> Graph:
    """A small network, in elements of one byte, of several, or of their own types."""
    seed, style = (
        draw.randrange(10**6),
        draw.choice("plain plain maps maps module net chain".split()),
    )
    if style == "plain":
        graph = random_graph(seed, draw.randint(2, 9), largest=draw.choice((5, 40)))
    elif style == "maps":
        graph = random_net(seed, draw.randint(2, 6))[0]
    elif style == "chain":
        graph = chain()
    elif style == "tall":
        graph = tall(draw)
    else:
        if style == "net":
            module, inputs = random_maps(seed)
        else:
            case = random_case(seed)
            module, inputs = case.module, case.inputs
        graph = sp.from_torch(module, inputs)
    ends = [t for op in graph.operators for t in op.outputs if not graph.consumers[t]]
    graph = replace(graph, outputs=tuple(dict.fromkeys((*graph.outputs, *ends))))
    width = draw.choice((1, 1, 2, 4, "native", "parameter", "all"))
    if isinstance(width, int):
        return graph.with_bytes_per_element(width)
    below = {"native": "", "all": "all" if planner in ("cosma", "streaming") else ""}
    return mixed(graph, seed, below.get(width, width))


def drawn_plan(draw: Random, way: Way | None = None) -> sp.Plan | None:
    """A plan with memory to spare, in the least that is enough, or between; None for none."""
    if way is None and draw.random() < BY_HAND:
        return by_hand(draw)
    way = way or draw.choice(WAYS)
    try:
        graph = drawn_graph(draw, way.planner)
    except sp.SpillwayError:  # A module that PyTorch itself refuses.
        return None
    options = {name: draw.choice(values) for name, values in way.options.items()}
    budget: int | str = draw.choice((AMPLE, 1, 1, "MR", "MH", "MP"))
    for _ in range(TRIES if graph.operators else 0):
        try:
            plan = sp.plan(
                graph, way.planner, budget, way.machine, LIMIT_S, replay=False, **options
            )
        except sp.BudgetTooSmall as error:
            more = draw.choice((0, 0, 1, error.need_bytes // 3))
            budget = max(error.have_bytes + 1, error.need_bytes) + more
        except sp.SpillwayError:  # Options that do not go together, or no time.
            return None
        else:
            return plan if size_of(items_of(plan.program)) <= MOST_INSTRUCTIONS else None
    return None


def data_of(plan: sp.Plan) -> Data:
    """A plan as its file is read."""
    data: Data = json.loads(json.dumps(plan.to_json()))
    return data
