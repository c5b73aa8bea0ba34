"""The site builds without a warning, and what its pages show runs."""

from __future__ import annotations

import ast
import csv
import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest

import planners as sp
from planners.cli import main
from planners.study.long_tables import plain

ROOT = Path(__file__).parents[1]


def blocks(page: str, language: str) -> list[str]:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The documentation, built."""
    pytest.importorskip("mkdocstrings")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(folder)]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=quiet, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


def test_the_site_builds(site: Path) -> None:
    page = (site / "api.html").read_text(encoding="utf-8")
    assert "Plan a graph on a machine within a budget." in page
    foreign = re.findall(r'(?:src|href)="(https?://[^"]+\.(?:js|css|woff2?))"', page)
    assert not foreign


def test_the_page_of_options_has_those_of_all_planners(site: Path) -> None:
    page = (site / "options.html").read_text(encoding="utf-8")
    types = {name: info.options for name, info in sp.planners().items()}
    own = {name: each.own().values() for name, each in types.items() if each is not None}
    assert own.keys() >= {"cosma", "fusion", "overlap", "streaming", "joined", "auto"}
    for name, specs in own.items():
        section = page[page.index(f'id="{name}"') :]
        assert [spec.flag for spec in specs if f"<code>{spec.flag}</code>" not in section] == []


PAGES = sorted((ROOT / "docs").glob("*.md"))


def test_every_file_of_data_is_on_a_page() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    linked = set(re.findall(r"\]\(data/([\w.-]+)\)", text))
    assert linked == {path.name for path in (ROOT / "docs" / "data").iterdir()}


def test_pictures_are_drawn_from_the_files_beside_them() -> None:
    """`python benchmarks/tables.py` draws them anew."""
    data = ROOT / "docs" / "data"
    charts = run_path(str(ROOT / "benchmarks" / "tables.py"))["pictures"](data)
    assert charts.keys() == {path.stem for path in data.glob("*.svg")}
    for name, chart in charts.items():
        assert (data / f"{name}.svg").read_text(encoding="utf-8") == chart.svg(), name
    pages = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    for name, chart in charts.items():
        assert f"![{chart.about}](data/{name}.svg)" in pages


SHORT = re.compile(r"((?:^\|.*\n)*)\n?\[All (\d+) rows\]\((data/[\w.-]+)\)", re.MULTILINE)


@pytest.mark.parametrize("name", [p.name for p in PAGES if "[All " in p.read_text("utf-8")])
def test_rows_on_the_pages_are_those_of_their_files(name: str) -> None:
    text = (ROOT / "docs" / name).read_text(encoding="utf-8")
    for rows, count, file in SHORT.findall(text):
        with (ROOT / "docs" / file).open(encoding="utf-8", newline="") as opened:
            head, *lines = csv.reader(opened)
        assert len(lines) == int(count), file
        shown = [re.split(r"(?<!\\)\|", line.strip("|")) for line in rows.splitlines()]
        places = [head.index(plain(cell)) for cell in shown[0]] if shown else []
        kept = {tuple(line[place] for place in places) for line in lines}
        assert {tuple(map(plain, row)) for row in shown[2:]} <= kept, file


@pytest.mark.parametrize("name", [page.name for page in PAGES if blocks(page.name, "python")])
def test_python_on_the_pages_names_what_there_is(name: str) -> None:
    """Each block is Python, and all that it takes of the project exists."""
    for source in blocks(name, "python"):
        tree = ast.parse(source)
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and re.fullmatch(r"sp(\.\w+)+", ast.unparse(node)):
                _resolve(ast.unparse(node).removeprefix("sp."))
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith(
                ("planners", "app")
            ):
                module = import_module(str(node.module))
                assert not [each.name for each in node.names if not hasattr(module, each.name)]


def _resolve(dotted: str) -> None:
    """A name of the library, with dots. Raises `AttributeError` where it does not exist."""
    place: Any = sp
    for part in dotted.split("."):
        place = getattr(place, part)


def test_the_first_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (source,) = blocks("index.md", "python")
    exec(source, {})
    assert capsys.readouterr().out.startswith("optimal")


def test_the_planner_on_the_page_works() -> None:
    source = next(block for block in blocks("planners.md", "python") if "Claims(" in block)
    found: dict[str, Any] = {}
    exec(source, found)
    graph = sp.load("squeezenet1_1", input_shape=(1, 3, 64, 64))
    machine, budget = sp.load_machine("npu_small"), sp.budgets(graph).MR
    made = found["plan"](graph, machine, budget, {})
    report = sp.check(made)
    assert report.peak_bytes <= budget
    assert report.traffic_bytes > sp.plan(graph, "cosma", budget).claims.offchip_bytes
    assert len([line for line in source.splitlines() if line.strip()]) < 48
    with pytest.raises(sp.BudgetTooSmall):
        found["plan"](graph, machine, budget - 1, {})
    with pytest.raises(sp.BadInput, match="alone has no option 'speed'"):
        found["plan"](graph, machine, budget, {"speed": 1})


def test_commands_on_the_pages_exist(capfd: pytest.CaptureFixture[str]) -> None:
    """Each `spillway …` of a page is a command with these options."""
    pages = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md"]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages).replace("\\\n", " ")
    asked: dict[str, set[str]] = {}
    for command, rest in re.findall(r"(?:^|`)spillway ([a-z]+)([^`\n#]*)", text, re.MULTILINE):
        if "--planner mine" in rest:
            continue  # the example of a planner of one's own: its options are not installed here
        asked.setdefault(command, set()).update(re.findall(r"(?<!\S)--[a-z-]+", rest))
    assert len(asked) > 10
    for command, options in asked.items():
        with pytest.raises(SystemExit) as ended:
            main([command, "--help"])
        told = capfd.readouterr().out
        assert ended.value.code == 0, command
        assert not {o for o in options if o not in told and o != "--help"}, (command, options)
