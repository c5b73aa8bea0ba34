"""Each addition that `docs/extending.md` shows is made from the page, used, and counted."""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

import planners as sp
from app.model import panels
from app.model.state import Work
from planners.allocation import check_packing, pack
from planners.allocation.generate import cut_rectangle
from planners.core import registry as planner_registry
from planners.core.machine import load_machine
from planners.importers import registry as formats
from tests.random_graphs import random_graph

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
NEW = dict(re.findall(r"^```python\n# (\S+)\n(.*?)^```$", PAGE, re.M | re.S))
"""New files by their path, as the page has them."""


def difference(file: str) -> list[str]:
    """The lines that the page adds to a file, new ones too, with what is around them."""
    pattern = rf"^```diff\n--- \S+\n\+\+\+ {re.escape(file)}\n(.*?)^```$"
    (lines,) = re.findall(pattern, PAGE, re.M | re.S)
    return [line for line in lines.splitlines() if not line.startswith("@@")]


def changed(text: str, lines: list[str]) -> str:
    """A text with the lines added that a difference adds. The lines around them are there once."""
    before = "".join(f"{line[1:]}\n" for line in lines if not line.startswith("+"))
    after = "".join(f"{line[1:]}\n" for line in lines)
    assert text.count(before) == 1
    return text.replace(before, after)


def module(name: str, text: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module of this text, that can be imported by that name."""
    made = ModuleType(name)
    monkeypatch.setitem(sys.modules, name, made)
    exec(compile(text, name, "exec"), made.__dict__)
    return made


def module_of(file: str) -> str:
    return file.removesuffix(".py").replace("/", ".")


def with_change(file: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module of ours as it is with the page's lines, beside the one that is in use."""
    text = changed((ROOT / file).read_text(encoding="utf-8"), difference(file))
    return module(f"{module_of(file)}_changed", text, monkeypatch)


def lines_of(text: str) -> int:
    return sum(1 for line in text.splitlines() if line.strip() and not line.startswith("#"))


def added(file: str) -> int:
    return lines_of("\n".join(line[1:] for line in difference(file) if line.startswith("+")))


def test_the_table_counts_what_the_page_shows() -> None:
    rule = [line for line in difference("my_package.py") if line.startswith("+")]
    counts = {
        "a planner with two options": (1, lines_of(NEW["my_package.py"]), added("pyproject.toml")),
        "a rule between its options": (0, 0, lines_of("\n".join(line[1:] for line in rule))),
        "a strategy of a portfolio": (0, 0, added("planners/allocation/portfolio.py")),
        "a file format": (
            1,
            lines_of(NEW["planners/importers/lines.py"]),
            added("planners/importers/registry.py"),
        ),
        "a machine's second DMA engine": (0, 0, added("npu_two_dma.toml")),
        "a view": (1, lines_of(NEW["app/views/panels/traffic.py"]), added("app/model/panels.py")),
    }
    rows = re.findall(r"^\| (an? [^|]+?) \| (\d+) \| (\d+) \| (\d+) \|$", PAGE, re.M)
    assert {name: tuple(map(int, numbers)) for name, *numbers in rows} == counts


def test_files_that_the_page_names_are_there_or_new() -> None:
    named = re.findall(r"(?:planners|app|docs|tests|benchmarks)/[\w/]+(?:\.\w+|/)", PAGE)
    assert {name for name in named if not (ROOT / name).exists()} == {*NEW} - {"my_package.py"}


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder in which the page's planner is installed."""
    entries = "\n".join(line[1:] for line in difference("pyproject.toml"))
    (group,) = tomllib.loads(entries)["project"]["entry-points"].items()
    text = f"[{group[0]}]\n" + "".join(f"{name} = {to}\n" for name, to in group[1].items())
    metadata = tmp_path / "my_package-1.0.dist-info"
    metadata.mkdir()
    (metadata / "entry_points.txt").write_text(text)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: my-package\nVersion: 1.0\n")
    (tmp_path / "my_package.py").write_text(NEW["my_package.py"])
    monkeypatch.syspath_prepend(tmp_path)
    planner_registry.planners.cache_clear()
    importlib.invalidate_caches()
    yield tmp_path
    sys.modules.pop("my_package", None)
    planner_registry.planners.cache_clear()


def test_a_planner_of_ones_own(installed: Path) -> None:
    graph = random_graph(5, 9, largest=30)
    budget = sp.budgets(graph).MR
    best = sp.plan(graph, "mine", budget)
    first = sp.plan(graph, "mine", budget, tries=1)
    assert best.planner == "mine"
    assert sp.check(best).traffic_bytes <= sp.check(first).traffic_bytes
    with pytest.raises(sp.BadInput, match="tries"):
        sp.plan(graph, "mine", budget, tries=5)
    with pytest.raises(sp.BudgetTooSmall):
        sp.plan(graph, "mine", 1)


def test_a_planner_of_ones_own_on_the_command_line(installed: Path) -> None:
    """In a process of its own: commands have the options that there are when they are imported."""
    path = installed / "graph.json"
    path.write_text(json.dumps(random_graph(5, 9, largest=30).to_json()))
    asked = ["plan", str(path), "--planner", "mine", "--tries", "2", "--first", "--budget", "MR"]
    paths = os.pathsep.join((str(installed), str(ROOT)))
    done = subprocess.run(
        [sys.executable, "-m", "planners.cli", *asked],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "mine" in done.stdout


def test_a_rule_between_its_options(monkeypatch: pytest.MonkeyPatch) -> None:
    text = changed(NEW["my_package.py"], difference("my_package.py"))
    text = text.replace("import Options, flag", "import Options, Rule, flag")
    options = module("my_package_with_rule", text, monkeypatch).MyOptions
    assert options.from_values({"first": True}).tries == 4
    with pytest.raises(sp.BadInput, match="no more are tried"):
        options.from_values({"first": True, "tries": 2})


def test_a_strategy(monkeypatch: pytest.MonkeyPatch) -> None:
    lifetimes = cut_rectangle(16, seed=51)
    before = pack(lifetimes, 1 << 12)
    portfolio = with_change("planners/allocation/portfolio.py", monkeypatch)
    after = portfolio.pack(lifetimes, 1 << 12)
    assert (before.status, after.status) == ("packed", "packed")
    assert after.solver == "weight" != before.solver
    check_packing(lifetimes, after.offsets, 1 << 12)
    assert portfolio.pack(lifetimes, (1 << 12) - 1).status == "infeasible"


def test_a_file_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = "planners/importers/lines.py"
    module(module_of(file), NEW[file], monkeypatch)
    more = with_change("planners/importers/registry.py", monkeypatch).FORMATS
    monkeypatch.setattr(formats, "FORMATS", more)
    net = tmp_path / "net.lines"
    net.write_text("image 4096\nconv 4096 = image\nsum 4096 = conv image\n")
    graph = sp.load(net)
    assert [op.inputs for op in graph.operators] == [("image",), ("conv", "image")]
    assert sp.check(sp.plan(graph, "cosma", 3 * 4096)).traffic_bytes == 2 * 4096
    net.write_text("image many\n")
    with pytest.raises(sp.BadInput, match="net.lines, line 1"):
        sp.load(net)


def test_a_machine() -> None:
    """The lines that the page adds to a machine of one engine make the file of two."""
    file = ROOT / "docs" / "examples" / "npu_two_dma.toml"
    lines = difference("npu_two_dma.toml")
    after = "".join(f"{line[1:]}\n" for line in lines)
    before = "".join(f"{line[1:]}\n" for line in lines if not line.startswith("+"))
    whole = file.read_text(encoding="utf-8")
    assert whole.count(after) == 1
    two = load_machine(file)
    one = sp.Machine.from_json(tomllib.loads(whole.replace(after, before)))
    assert one.engines == tuple(engine for engine in two.engines if not engine.shares)
    assert (one.memories, one.numbers().keys() < two.numbers().keys()) == (two.memories, True)


def test_a_view(monkeypatch: pytest.MonkeyPatch) -> None:
    file = "app/views/panels/traffic.py"
    module(module_of(file), NEW[file], monkeypatch)
    name, target = [*with_change("app/model/panels.py", monkeypatch).PANELS.items()][-1]
    assert name not in panels.PANELS
    place, _, function = target.partition(":")
    work = Work()
    pane = getattr(importlib.import_module(place), function)(SimpleNamespace(work=work), None, 200)
    assert pane.object == ""
    work.shown = SimpleNamespace(report=SimpleNamespace(traffic_bytes=8192))
    assert pane.object == "**8,192 B** moved"
