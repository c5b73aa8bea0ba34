"""The planner of the documentation has the options that its type gives."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import planners as sp
from planners.core.registry import PlannerInfo

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_the_planner_of_the_documentation_takes_its_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (DOCS / "extending.md").read_text(encoding="utf-8")
    code = re.search(r"```python\n(.*?MyOptions.*?)```", text, re.DOTALL)
    assert code is not None
    (tmp_path / "my_package.py").write_text(code.group(1), encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    info = PlannerInfo("mine", "mine", "my_package:plan")
    assert info.options is not None
    assert [spec.flag for spec in info.options.own().values()] == ["--tries", "--first"]
    graph = sp.load("squeezenet1_1", input_shape=[[1, 3, 32, 32]])
    made = info.plan(graph, sp.load_machine("npu_small"), 2**20, {"tries": 2, "first": True})
    assert sp.check(made).peak_bytes == made.claims.peak_bytes
    with pytest.raises(sp.BadInput, match="tries must be a whole number from 1 to 4, not 0"):
        info.plan(graph, sp.load_machine("npu_small"), 2**20, {"tries": 0})
