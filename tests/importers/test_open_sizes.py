"""Exported programs with sizes left open: the example's by default, others within their ranges."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.export import Dim

import planners as sp
from planners.importers.torch.size_expressions import evaluated


class Frames(nn.Module):
    """Attention over a length, then twice as many values beside it, resampled."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.conv = nn.Linear(8, 24), nn.Conv1d(8, 4, 3, stride=2, padding=1)

    def forward(self, x: torch.Tensor, pairs: torch.Tensor) -> Any:
        batch, length, width = x.shape
        q, k, v = self.layer(x).view(batch, length, 3, width).unbind(2)
        y = F.scaled_dot_product_attention(q, k, v) / length**0.5
        y = y + pairs.view(batch, length, 2, width).sum(2)
        y = F.interpolate(self.conv(y.mT), scale_factor=1.5)
        return y, torch.arange(length) * batch, length * 2


def given(batch: int, length: int, pairs: int) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.ones(batch, length, 8), torch.ones(batch, pairs, 8)


@pytest.fixture(scope="module")
def program() -> torch.export.ExportedProgram:
    batch, length = Dim("batch", min=1, max=8), Dim("length", min=4, max=40)
    shapes = ({0: batch, 1: length}, {0: batch, 1: 2 * length})
    return torch.export.export(Frames().eval(), given(2, 6, 12), dynamic_shapes=shapes)


@pytest.fixture(scope="module")
def saved(program: torch.export.ExportedProgram, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("open") / "frames.pt2"
    torch.export.save(program, path)
    return path


def plain(graph: sp.Graph) -> dict[str, Any]:
    return {**graph.with_bytes_per_element("native").to_json(), "source": {}, "name": ""}


@pytest.mark.parametrize("sizes", [None, (2, 6, 12), (1, 4, 8), (3, 9, 18), (8, 40, 80)])
def test_a_program_is_read_at_the_sizes_that_are_asked_for(
    program: Any, saved: Path, sizes: Any
) -> None:
    inputs = given(*(sizes or (2, 6, 12)))
    graph = sp.from_torch(program, inputs if sizes else None)
    fixed = sp.from_torch(Frames().eval(), inputs)
    assert (graph.macs, graph.inputs) == (fixed.macs, fixed.inputs)
    assert {n: t.shape for n, t in graph.tensors.items()} == {
        n: t.shape for n, t in fixed.tensors.items()
    }
    shapes = [list(tensor.shape) for tensor in inputs]
    from_file = sp.from_pt2(saved, shapes if sizes else None)
    assert plain(from_file) == plain(graph)
    assert from_file.source["input_shape"] == shapes
    assert sp.execute(sp.plan(graph, budget="MP"), program, inputs).max_abs_error < 1e-5


@pytest.mark.parametrize(
    ("sizes", "line"),
    [
        ((9, 6, 12), "axis 0 of x is 9, and it was exported for 1 to 8"),
        ((2, 3, 6), "axis 1 of x is 3, and it was exported for 4 to 40"),
        ((2, 6, 14), r"axis 1 of pairs is 14, .* for 2 \* s\d+, where s\d+ is 4 to 40"),
    ],
)
def test_sizes_out_of_range_are_one_line(program: Any, saved: Path, sizes: Any, line: str) -> None:
    inputs = given(*sizes)
    with pytest.raises(sp.BadInput, match=line):
        sp.from_torch(program, inputs)
    with pytest.raises(sp.BadInput, match=line):
        sp.from_pt2(saved, [list(tensor.shape) for tensor in inputs])


def test_other_inputs_than_a_program_takes(program: Any, saved: Path) -> None:
    x, pairs = given(2, 6, 12)
    with pytest.raises(sp.BadInput, match=r"takes 2 inputs \(x, pairs\), not 1"):
        sp.from_torch(program, x)
    with pytest.raises(sp.BadInput, match="x has 3 axes, not 2"):
        sp.from_torch(program, (x[0], pairs))
    with pytest.raises(sp.BadInput, match=r"takes 2 inputs \(x, pairs\)"):
        sp.from_pt2(saved, [3, 6, 8])
    fixed = torch.export.export(nn.ReLU(), (x,))
    with pytest.raises(sp.BadInput, match="axis 0 of input is 3, and it was exported for 2 alone"):
        sp.from_torch(fixed, torch.ones(3, 6, 8))


def test_a_size_that_data_decide_is_still_refused(tmp_path: Path) -> None:
    class Nonzero(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.nonzero() * 2

    program = torch.export.export(Nonzero(), (torch.ones(4, 3),), dynamic_shapes=({0: Dim("n")},))
    torch.export.save(program, tmp_path / "net.pt2")
    for read in (lambda: sp.from_torch(program), lambda: sp.from_pt2(tmp_path / "net.pt2")):
        with pytest.raises(sp.SpillwayError, match=r"nonzero'? depends on the values of the input"):
            read()


S = "Symbol('s0', positive=True, integer=True)"


@pytest.mark.parametrize(
    ("expression", "number"),
    [
        (f"Add(FloorDiv(Add({S}, Integer(-1)), Integer(2)), Integer(1))", 5),
        (f"TruncToInt(Mul(Float('1.5', precision=53), ToFloat({S})))", 13),
        (f"Mul(Rational(1, 3), {S})", 3),
        (f"Max(Integer(1), Mod({S}, Integer(4)))", 1),
        (f"Pow({S}, Integer(2))", 81),
        (f"And(Equality({S}, Integer(9)), true)", True),
    ],
)
def test_expressions_are_computed(expression: str, number: Any) -> None:
    assert evaluated(expression, {"s0": 9}) == number


@pytest.mark.parametrize(
    "expression",
    [
        "__import__('os').system('true')",
        "Pow(Integer(9), Integer(999999999))",
        "Pow(Pow(Integer(9), Integer(60)), Integer(60))",
        "FloorDiv(Integer(1), Integer(0))",
        "Add(" * 500 + ")" * 500,
        "Add('a', 'b')",
        "Float(",
        "Add(" * 50 + "1" * 70000,
    ],
)
def test_what_is_no_size_is_not_computed(expression: str) -> None:
    with pytest.raises(ValueError, match="size"):
        evaluated(expression, {})
