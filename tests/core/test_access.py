"""What an operator must read for a part: the part comes out right when all else is spoilt."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

import planners as sp
from planners.core.access import needs, needs_apart
from planners.core.graph import Operator
from planners.core.program import Box
from tests.core.moved import MOVED, Calls, Case, padded
from tests.importers.once import ExportedOnce


def windows(rng: random.Random) -> Iterator[Case]:
    """A convolution and a pool of every kind of window, with what is folded into them."""
    rank, groups = rng.choice([1, 2, 2, 3]), rng.choice([1, 1, 2, 3])
    c_in, c_out = groups * rng.randint(1, 3), groups * rng.randint(1, 3)
    padding: Any = rng.choice([0, 1, 2, "same", "valid"])
    conv = getattr(nn, f"Conv{rank}d")(
        c_in,
        c_out,
        tuple(rng.randint(1, 4) for _ in range(rank)),
        stride=1 if padding == "same" else rng.choice([1, 2, 3]),
        padding=padding,
        dilation=rng.choice([1, 2]),
        groups=groups,
        bias=rng.random() < 0.5,
    )
    norm = getattr(nn, f"BatchNorm{rank}d")(c_out)
    norm.running_mean.normal_()
    x = torch.randn(rng.choice([1, 2]), c_in, *(rng.randint(9, 12) for _ in range(rank)))
    yield nn.Sequential(nn.ReLU(), conv, norm, nn.SiLU()), (x,)
    size = rng.randint(2, 4)
    kind = rng.choice(["Max", "Avg"])
    options = {"dilation": rng.choice([1, 2])} if kind == "Max" else {}
    pool = getattr(nn, f"{kind}Pool{rank}d")(
        size,
        stride=rng.choice([1, 2, 3, None]),
        padding=rng.randint(0, size // 2),
        ceil_mode=rng.random() < 0.5,
        **options,
    )
    yield nn.Sequential(nn.ReLU(), pool), (x,)


def broadcasts(rng: random.Random) -> Case:
    full = [rng.randint(1, 4) for _ in range(4)]

    def like(shape: list[int]) -> torch.Tensor:
        return torch.randn([n if rng.random() < 0.7 else 1 for n in shape])

    shapes = like(full), like(full[rng.randint(0, 3) :])
    return Calls(lambda x, y, p: functional.relu(x * y - p), like(full[1:])), shapes


SPECIAL: dict[str, Case] = {
    "linear": (nn.Sequential(nn.GELU(), nn.Linear(4, 5)), (torch.randn(2, 3, 1, 4),)),
    "no batch": (nn.Conv2d(3, 4, 1), (torch.randn(3, 4, 6),)),
    "weight computed": (
        Calls(lambda x, w: functional.conv2d(x, functional.relu(w))),
        (torch.randn(1, 4, 4, 4), torch.randn(4, 4, 2, 2)),
    ),
    "weight first": (
        Calls(lambda w, x: functional.conv2d(x, functional.relu(w))),
        (torch.randn(4, 4, 2, 2), torch.randn(1, 4, 4, 4)),
    ),
    "weight of a product": (Calls(functional.linear), (torch.randn(5, 4), torch.randn(5, 4))),
    "its own weight": (Calls(lambda x: functional.linear(x, x)), (torch.randn(4, 4),)),
    "a gain on the weight": (
        Calls(lambda x, w, g: functional.conv2d(x, w * g), torch.randn(3, 2, 3, 3), torch.randn(3)),
        (torch.randn(1, 2, 6, 6),),
    ),
    "a weight like its data": (
        Calls(lambda x, p: functional.conv2d(x, functional.relu(x), p), torch.randn(3)),
        (torch.randn(3, 3, 3, 3),),
    ),
    "concatenated": (
        Calls(lambda x, y: functional.relu(torch.cat([x, y], 1))),
        (torch.randn(2, 3, 4, 5), torch.randn(2, 2, 4, 5)),
    ),
    "adaptive pool": (nn.AdaptiveAvgPool2d((3, 1)), (torch.randn(2, 3, 7, 4),)),
    "layer norm": (nn.Sequential(nn.LayerNorm(4), nn.GELU()), (torch.randn(2, 3, 4),)),
    "flattened for a product": (
        nn.Sequential(nn.Flatten(), nn.Linear(24, 24), nn.ReLU()),
        (torch.randn(2, 4, 2, 3),),
    ),
    "shuffled for a convolution": (
        nn.Sequential(nn.ChannelShuffle(2), nn.Conv2d(4, 4, 3, padding=1), nn.BatchNorm2d(4)),
        (torch.randn(2, 4, 3, 5),),
    ),
    "turned for a product": (
        Calls(lambda x, w: functional.linear(x.transpose(0, 1), w), torch.randn(5, 4)),
        (torch.randn(2, 3, 4),),
    ),
    "a turned weight": (
        Calls(lambda x, w: functional.linear(x, w.transpose(0, 1)), torch.randn(4, 4)),
        (torch.randn(2, 3, 4),),
    ),
    "batch norm": (nn.Sequential(nn.BatchNorm2d(4), nn.ReLU()), (torch.randn(2, 4, 5, 4),)),
}


@pytest.mark.parametrize("name", SPECIAL)
def test_parts_of_special_operators(name: str) -> None:
    assert_parts(SPECIAL[name], random.Random(0))


@pytest.mark.parametrize("name", MOVED)
def test_parts_of_operators_that_move_elements(name: str) -> None:
    assert_parts(MOVED[name], random.Random(1))


@pytest.mark.parametrize("seed", range(6))
def test_parts_of_padded_windows(seed: int) -> None:
    rng = random.Random(seed)
    assert_parts(padded(rng), rng)


@pytest.mark.parametrize("seed", range(6))
def test_parts_of_windows_and_broadcasts(seed: int) -> None:
    rng = random.Random(seed)
    for case in (*windows(rng), broadcasts(rng)):
        assert_parts(case, rng)


def test_a_part_of_a_convolution_reads_no_more_than_its_window() -> None:
    module, x = nn.Conv2d(4, 4, 3, padding=1, groups=2), torch.randn(1, 4, 8, 8)
    graph = sp.from_torch(module, (x,))
    (op,) = graph.operators
    found = dict(needs(graph, op, op.outputs[0], ((0, 1), (0, 1), (0, 2), (4, 6))))
    assert found[op.inputs[0]] == ((0, 1), (0, 2), (0, 3), (3, 7))
    assert found[op.parameters[0]] == ((0, 1), (0, 2), (0, 3), (0, 3))


def assert_parts(case: Case, rng: random.Random) -> None:
    module, inputs = case
    made = ExportedOnce(module, inputs)
    model = made.model
    for granularity in ("aten", "fused"):
        graph = made.graph(granularity)
        values = dict(model.input_values(inputs))
        for op in graph.operators:
            names = [part.name for part in op.parts]
            known = {name: values[name] for name in op.inputs}
            known |= {name: model.parameter(name) for name in op.parameters}
            full = model.evaluate(names, known)
            values |= {name: full[name] for name in op.outputs}
            for _ in range(5):
                box, spoilt = spoil(graph, op, known, rng)
                found = model.evaluate(names, spoilt)[op.outputs[0]][cut(box)]
                torch.testing.assert_close(found, full[op.outputs[0]][cut(box)])


def spoil(
    graph: sp.Graph, op: Operator, known: dict[str, torch.Tensor], rng: random.Random
) -> tuple[Box, dict[str, torch.Tensor]]:
    """A box of the output, and the operands with NaN wherever it does not need them."""
    shape = graph.tensors[op.outputs[0]].shape
    box: Box = tuple((min(p), max(p)) for p in (rng.sample(range(n + 1), 2) for n in shape))
    spoilt = {
        name: torch.full_like(value, float("nan")) if value.is_floating_point() else value
        for name, value in known.items()
    }
    with torch.no_grad():
        for name, part in needs_apart(graph, op, op.outputs[0], box):
            spoilt[name][cut(part)] = known[name][cut(part)]
    return box, spoilt


def cut(box: Box) -> tuple[slice, ...]:
    return tuple(slice(start, stop) for start, stop in box)
