"""The benchmark over networks from outside: nothing is lost, and nothing wrong goes unnoticed."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import planners as sp

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture(autouse=True)
def _parts() -> Iterator[None]:
    sys.path.insert(0, str(BENCHMARKS))
    yield
    sys.path.remove(str(BENCHMARKS))


def test_results_survive_a_line_that_was_cut_off(tmp_path: Path) -> None:
    from zoo_parts.results import Results

    path = tmp_path / "zoo.jsonl"
    Results(path).add("a", "one", {"read": "read"})
    with path.open("a") as file:
        file.write('{"family": "a", "name": "tw')
    results = Results(path)
    assert results.has("a", "one")
    assert not results.has("a", "two")
    results.add("a", "two", {"read": "refused"})
    results.add("a", "one", {"read": "failed"})
    again = Results(path)
    assert [again.row("a", name)["read"] for name in ("one", "two")] == ["failed", "refused"]


def _died(name: str) -> Any:
    os._exit(3)


def _slow(name: str) -> Any:
    torch.randn(1)
    import time

    time.sleep(60)


@pytest.mark.parametrize(("make", "said"), [(_died, "with exit code 3"), (_slow, "after 1 s")])
def test_a_network_that_dies_is_a_row(make: Any, said: str) -> None:
    from zoo_parts.case import Family
    from zoo_parts.children import run_in_child

    row = run_in_child(Family("f", (), lambda: ["n"], make), "n", 1.0, 8.0, 1.0)
    assert row["died"] == said


class _Constant(nn.Module):
    """A table that weights alone make, and a product that the input reaches."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Parameter(torch.randn(3, 4)), nn.Parameter(torch.randn(4, 5))
        self.unread = nn.Linear(2, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        held = torch.zeros(2, 3)
        held[:] = x
        return held @ (self.a @ self.b)


def test_products_of_weights_alone_are_counted() -> None:
    from zoo_parts.eager import counted

    module, x = _Constant(), torch.randn(2, 3)
    counter = counted(module, (x,))
    assert sum(counter.macs.values()) == 2 * 3 * 5 + 3 * 4 * 5 == sp.from_torch(module, x).macs
    assert counter.of_weights == 3 * 4 * 5
    assert len(counter.read) == 2


def test_products_of_a_file_s_weights_alone_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What onnxruntime has for the values is given: x (2, 3) times a table, (3, 4) by (4, 5)."""
    import onnx
    from onnx import helper, numpy_helper
    from zoo_parts import runtime
    from zoo_parts.examine import _file_macs

    weights = {"a": torch.ones(3, 4), "b": torch.ones(4, 5)}
    products = (("a", "b", "table"), ("x", "table", "y"))
    nodes = [helper.make_node("MatMul", [one, other], [out]) for one, other, out in products]
    x, y = (helper.make_tensor_value_info(n, 1, s) for n, s in (("x", [2, 3]), ("y", [2, 5])))
    held = [numpy_helper.from_array(data.numpy(), name) for name, data in weights.items()]
    path = tmp_path / "table.onnx"
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", [x], [y], held)), str(path))
    shapes = {"x": (2, 3), "table": (3, 5), "y": (2, 5)}
    values = {name: (shape, "float32") for name, shape in shapes.items()}
    monkeypatch.setattr(runtime, "_run", lambda *given: values)
    facts = runtime.RuntimeFacts(path, {})
    assert (facts.macs, facts.of_weights) == (2 * 3 * 5 + 3 * 4 * 5, 3 * 4 * 5)
    assert _file_macs(sp.load(path), facts) == "equal"


def test_a_network_is_read_compared_planned_and_run() -> None:
    from zoo_parts.case import Case
    from zoo_parts.examine import examine
    from zoo_parts.page import faults

    told: dict[str, Any] = {"family": "f", "name": "n"}

    def tell(news: dict[str, Any]) -> None:
        for key, value in news.items():
            told[key] = told.get(key, {}) | value if isinstance(value, dict) else value

    module = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Conv2d(4, 2, 3)).eval()
    examine(Case(module, (torch.randn(1, 3, 8, 8),)), tell, 20.0)
    assert told["done"]
    assert set(told["facts"].values()) == {"equal"}
    assert set(told["executed"].values()) == {"equal"}
    assert len(told["plans"]) == len(told["executed"]) == 4
    assert not faults(told)
    for wrong in (
        {"facts": {"macs": "7, torch counts 8"}},
        {"plans": {"cosma": ["valid", "INVALID: step 1"]}},
        {"executed": {"fusion": "DIFFERS by 2"}},
        {"died": "after 90 s"},
        {"read": "failed", "said": "KeyError"},
    ):
        assert len(faults(told | wrong)) == 1
