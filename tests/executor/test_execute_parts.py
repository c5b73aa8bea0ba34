"""Parts of operators from parts of their operands: as the whole operator has them there."""

from __future__ import annotations

import random

import pytest
import torch
from torch import nn

from planners.core.program import Box
from planners.executor.parts import compute_part
from tests.core.moved import MOVED, padded
from tests.core.test_access import SPECIAL, Case, broadcasts, cut, windows
from tests.importers.once import ExportedOnce

# What is computed apart, whatever the part.
APART: dict[str, Case] = {
    "convolution": (
        nn.Sequential(nn.Conv2d(3, 4, (3, 5), (2, 1), (1, 2), (1, 2)), nn.BatchNorm2d(4)),
        (torch.randn(2, 3, 11, 12),),
    ),
    "depth-wise": (nn.Conv2d(4, 4, 3, padding=1, groups=4), (torch.randn(1, 4, 6, 6),)),
    "even, same": (nn.Conv2d(2, 3, 4, padding="same"), (torch.randn(1, 2, 7, 6),)),
    "maxima": (nn.MaxPool2d(3, 2, 1, ceil_mode=True), (torch.randn(1, 2, 9, 8),)),
    "means": (nn.AvgPool2d(3, 2, 1, ceil_mode=True), (torch.randn(1, 2, 9, 8),)),
    "means within": (
        nn.AvgPool2d(3, 2, 1, count_include_pad=False),
        (torch.randn(1, 2, 9, 8),),
    ),
    "concatenated": SPECIAL["concatenated"],
    "flattened for a product": SPECIAL["flattened for a product"],
    "layer norm": SPECIAL["layer norm"],
    "volume": (nn.Conv3d(2, 3, 3, padding=1), (torch.randn(1, 2, 5, 4, 4),)),
}


@pytest.mark.parametrize("name", APART)
def test_known_operators_are_computed_apart(name: str) -> None:
    assert compare(APART[name], random.Random(0)) == 20


@pytest.mark.parametrize("seed", range(8))
def test_parts_agree_with_the_whole(seed: int) -> None:
    rng = random.Random(seed)
    cases = (*windows(rng), broadcasts(rng), rng.choice(list(SPECIAL.values())))
    assert sum(compare(case, rng) for case in cases) > 0


# What no part of is known, or not of all parts.
NOT_APART = {"reflected", "joined, equal sizes", "largest, with places", "attention"}
NOT_APART |= {"means of cells", "by a crooked factor", "rolled as it lies"}


@pytest.mark.parametrize("name", MOVED)
def test_calls_that_move_elements_run_on_parts(name: str) -> None:
    apart = compare(MOVED[name], random.Random(2))
    assert name in NOT_APART or apart > 0


@pytest.mark.parametrize("seed", range(8))
def test_padded_windows_run_on_parts(seed: int) -> None:
    rng = random.Random(seed)
    assert compare(padded(rng), rng) > 0


def compare(case: Case, rng: random.Random) -> int:
    """Random parts of each operator beside its whole output; how many were computed apart."""
    module, inputs = case
    made = ExportedOnce(module, inputs)
    graph, model = made.graph("fused"), made.model
    values = dict(model.input_values(inputs))
    values |= {op: model.parameter(op) for op in graph.tensors if graph.tensors[op].kind[0] == "p"}
    apart = 0
    for op in graph.operators:
        values |= model.evaluate([part.name for part in op.parts], values)
        whole = values[op.outputs[0]]
        for _ in range(20):
            box: Box = tuple(
                (min(p), max(p)) for p in (rng.sample(range(n + 1), 2) for n in whole.shape)
            )
            found = compute_part(model, graph, op, box, lambda name, b, at=values: at[name][cut(b)])
            if found is not None:
                apart += 1
                torch.testing.assert_close(found, whole[cut(box)])
    return apart
