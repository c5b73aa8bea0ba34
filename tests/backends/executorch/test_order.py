"""The order of least peak as a pass over an exported graph; ExecuTorch itself is not needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import nn

from planners.backends.executorch import least_peak_order

SIDE = 32


class Wide(nn.Module):
    """Branches that all begin before any of them ends: the worst order of them."""

    def __init__(self, ways: int = 5) -> None:
        super().__init__()
        self.ways = ways

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        flat = torch.ops.aten.view_copy.default
        begun = [flat(torch.cat([x * k, x + k], 1), [-1]) for k in range(self.ways)]
        best, _ = flat(begun[0], [1, 2, SIDE, SIDE]).max(1)
        for each in begun[1:]:
            high, at = flat(each, [1, 2, SIDE, SIDE]).max(1)
            best = torch.maximum(best, high) + at
        return best


class Keeps(nn.Module):
    """A buffer that is read, changed and read again."""

    seen: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("seen", torch.zeros(1, 1, SIDE, SIDE))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        before = self._sums()
        self.seen.add_(x)
        return before + self._sums()

    def _sums(self) -> torch.Tensor:
        wide = [(self.seen * k).repeat(1, 4, 1, 1) for k in range(1, 4)]
        return wide[0].sum(1) + wide[1].sum(1) + wide[2].sum(1)


def exported(module: nn.Module) -> Any:
    return torch.export.export(module, (torch.ones(1, 1, SIDE, SIDE),)).graph_module


def most_held(module: Any) -> int:
    """Bytes live at once as its nodes go: what each makes, until that or a view of it is read."""
    made: dict[Any, tuple[int, int]] = {}  # of the node that has the bytes: step and size
    base, last = {}, {}
    for step, node in enumerate(module.graph.nodes):
        part = "view" in str(node.target) or "getitem" in str(node.target)
        base[node] = base[node.args[0]] if part else node
        if not part:
            value = node.meta.get("val")
            values = value if isinstance(value, (tuple, list)) else [value]
            size = sum(v.numel() * v.element_size() for v in values if hasattr(v, "numel"))
            made[node] = step, size
        for read in (node, *node.all_input_nodes):
            last[base[read]] = step
    steps = range(len(base))
    lives = [(start, last[node], size) for node, (start, size) in made.items()]
    return max(sum(size for a, b, size in lives if a <= step <= b) for step in steps)


def ran(module: Any, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    return [each.clone() for each in module(*(x.clone() for x in inputs))]


def test_branches_run_one_after_the_other_with_the_same_outputs() -> None:
    given = exported(Wide())
    names = [node.name for node in given.graph.nodes]
    found = least_peak_order(given, time_limit_s=10)
    assert found.modified
    found.graph_module.graph.lint()
    assert {node.name for node in found.graph_module.graph.nodes} == set(names)
    assert [node.name for node in given.graph.nodes] == names
    assert 3 * most_held(found.graph_module) < 2 * most_held(given)
    inputs = [torch.randn(1, 1, SIDE, SIDE, generator=torch.Generator().manual_seed(1))]
    for mine, theirs in zip(ran(found.graph_module, inputs), ran(given, inputs), strict=True):
        assert torch.equal(mine, theirs)


def test_what_changes_its_input_stays_where_it_is() -> None:
    given = exported(Keeps())
    assert any(
        getattr(node.target, "_schema", None) is not None and node.target._schema.is_mutable
        for node in given.graph.nodes
    )
    found = least_peak_order(given, time_limit_s=10)
    assert found.modified
    inputs = [torch.full((1, 1, SIDE, SIDE), 3.0), torch.full((1, 1, SIDE, SIDE), 2.0)]
    for mine, theirs in zip(ran(found.graph_module, inputs), ran(given, inputs), strict=True):
        assert torch.equal(mine, theirs)


@pytest.mark.parametrize("ways", [1, 2])
def test_an_order_that_cannot_be_better_is_left(ways: int) -> None:
    given = exported(Wide(ways))
    found = least_peak_order(given)
    if not found.modified:
        assert found.graph_module is given
    assert most_held(found.graph_module) <= most_held(given)


def test_sizes_that_are_known_only_as_it_runs_are_left() -> None:
    size = torch.export.Dim("side", min=2, max=64)
    given = torch.export.export(
        nn.ReLU(), (torch.ones(4, 4),), dynamic_shapes=({0: size},)
    ).graph_module
    assert not least_peak_order(given).modified
