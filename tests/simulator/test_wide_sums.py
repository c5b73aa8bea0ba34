"""Sums that are not complete have the bytes of accumulators, which may be wider than their end."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import nn

import planners as sp
from planners.core.program import Compute, Operand, Release
from planners.simulator.check import replay
from tests.simulator.programs import plan_of
from tests.simulator.summed import SummedLayers


def summed(dtype: str) -> SummedLayers:
    """A convolution in parts of its input channels, all of it of one type."""
    torch.manual_seed(0)
    module = nn.Conv2d(4, 3, 3, bias=False)
    names = sp.from_torch(module, torch.randn(1, 4, 5, 5)).tensors
    return SummedLayers(module, (torch.randn(1, 4, 5, 5),), 5, types=dict.fromkeys(names, dtype))


@pytest.mark.parametrize(
    ("dtype", "own", "wide"),
    [("int8", 1, 4), ("float16", 2, 4), ("float32", 4, 4), ("float64", 8, 8)],
)
def test_a_sum_takes_an_accumulators_bytes_until_it_is_complete(
    dtype: str, own: int, wide: int
) -> None:
    case = summed(dtype)
    parts = [item for item in case.instructions if isinstance(item, Compute)]
    sizes = {item.writes[0].piece: item.writes[0].region.size_bytes for item in parts}
    assert len(parts) > len(sizes)  # Some are made in several parts.
    assert all(size == piece.elements * wide for piece, size in sizes.items())
    report = sp.check(plan_of(case.graph, case.program(), case.budget_bytes))
    made = {r.piece: r.size_bytes for r in report.residencies if r.origin == "compute"}
    assert made == {piece: piece.elements * own for piece in sizes}
    # While the first sum grows, all of the data and its weight are there, and the sum's own bytes.
    data = case.graph.size_bytes(case.graph.inputs[0])
    assert report.peak_bytes >= data + max(sizes.values())


@pytest.mark.parametrize("name", ["released", "summed"])
def test_sizes_of_sums_are_told_apart(name: str) -> None:
    """A part names accumulators, and a release what they became."""
    case = summed("int8")
    at = next(n for n, item in enumerate(case.instructions) if isinstance(item, Compute))
    item = case.instructions[at]
    assert isinstance(item, Compute)
    ((piece, region),) = item.writes
    if name == "summed":
        narrow = Operand(piece, region._replace(size_bytes=piece.elements))
        case.instructions[at] = replace(item, writes=(narrow,))
        reason = f"has {4 * piece.elements} bytes, its region {piece.elements}"
    else:
        ends = [
            n
            for n, each in enumerate(case.instructions)
            if isinstance(each, Release) and each.piece == piece
        ]
        release = case.instructions[ends[0]]
        case.instructions[ends[0]] = replace(release, region=region)  # type: ignore[call-arg]
        reason = f"has {piece.elements} bytes, its region {4 * piece.elements}"
    with pytest.raises(sp.InvalidPlan, match=reason):
        replay(case.graph, case.program())
