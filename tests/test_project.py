"""The project itself: versions that agree, imports that point one way, files that are complete."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from itertools import chain
from pathlib import Path, PurePosixPath

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CONDA_NAMES = {"pytorch": "torch"}
PLANNERS = ("cosma", "fusion", "overlap", "streaming")
TORCH = ("torch", "torchvision", "timm")
PAGES = ("panel", "bokeh", "holoviews")


def requirements() -> dict[str, Requirement]:
    """All direct dependencies, those of the extras included."""
    project = PYPROJECT["project"]
    texts = [*project["dependencies"], *chain(*project["optional-dependencies"].values())]
    return {canonicalize_name(r.name): r for r in map(Requirement, texts)}


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pairs = [line.split("==") for line in lines if not line.startswith("#")]
    return {canonicalize_name(name): version for name, version in pairs}


def test_every_direct_dependency_is_pinned_within_its_bounds() -> None:
    pinned = pins()
    for name, requirement in requirements().items():
        assert name in pinned
        assert requirement.specifier.contains(pinned[name])


def test_pins_are_portable() -> None:
    for name, version in pins().items():
        assert re.fullmatch(r"[0-9][0-9a-z.]*", version), f"{name}: {version} is for one platform"


def test_the_conda_environment_has_the_same_versions() -> None:
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    assert environment["name"] == "spillway"
    assert environment["channels"] == ["conda-forge"]
    found: dict[str, str] = {}
    for item in environment["dependencies"]:
        if isinstance(item, dict):
            found.update(line.split("==") for line in item["pip"] if "==" in line)
        elif "=" in item and ">" not in item:
            name, version = item.split("=")
            found[CONDA_NAMES.get(name, name)] = version
    assert "python >=3.11,<3.13" in environment["dependencies"]
    assert found == {name: pins()[name] for name in requirements()}


def sources(*places: str) -> list[Path]:
    """The Python files under these directories, and these files; those not yet there are none."""
    found = []
    for place in places:
        path = ROOT / place
        found += [path] if path.is_file() else sorted(path.rglob("*.py"))
    return found


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def imports(path: Path) -> Iterator[str]:
    """Every module a file imports when it runs, inside of functions too, as absolute names."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for_types = {
        child
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for statement in node.body
        for child in ast.walk(statement)
    }
    package = PurePosixPath(relative(path)).parent.parts
    for node in ast.walk(tree):
        if node in for_types:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            base = ".".join([*above, *([node.module] if node.module else [])])
            # `from planners import cosma` imports planners.cosma.
            yield from (f"{base}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(
            ("import_module", "__import__")
        ):
            name = node.args[0] if node.args else None
            if isinstance(name, ast.Constant):
                yield str(name.value)


def offences(places: tuple[str, ...], forbidden: tuple[str, ...]) -> list[str]:
    return [
        f"{relative(path)} imports {name}"
        for path in sources(*places)
        for name in imports(path)
        if any(name == module or name.startswith(module + ".") for module in forbidden)
    ]


def test_the_reader_of_imports_sees_all_forms(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    file = tmp_path / "planners" / "graph" / "x.py"
    file.parent.mkdir(parents=True)
    file.write_text(
        "import a.b\n"
        "from . import c\n"
        "from ..d import e\n"
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    import f\n"
        "def g():\n    import h\n    importlib.import_module('i')\n"
    )
    assert set(imports(file)) == {
        "a.b",
        "planners.graph.c",
        "planners.d.e",
        "typing.TYPE_CHECKING",
        "h",
        "i",
    }


def test_the_library_and_the_view_models_import_no_pages() -> None:
    assert offences(("planners", "app/state.py"), PAGES) == []


def test_torch_is_imported_only_where_models_are_read_or_executed() -> None:
    allowed = (
        "planners/graph/importers/",
        "planners/catalogue/",
        "planners/simulator/execute",
        "planners/simulator/arena.py",  # the bytes that execute computes in
        "planners/streaming/runtime/",
    )
    found = offences(("planners",), TORCH)
    assert [line for line in found if not line.startswith(allowed)] == []


def test_the_library_never_imports_the_application() -> None:
    # `spillway serve` starts it by name.
    assert offences(("planners",), ("app",)) == []


UPPER = ("planners.study", "planners.api", "planners.registry", "planners.cli")
ALGORITHMS = tuple(f"planners.{name}" for name in PLANNERS)


@pytest.mark.parametrize(
    ("places", "forbidden"),
    [
        (("planners/simulator",), (*ALGORITHMS, *UPPER)),
        (("planners/allocation",), (*ALGORITHMS, *UPPER, "planners.simulator")),
        (("planners/graph",), (*ALGORITHMS, *UPPER, "planners.simulator", "planners.allocation")),
        (("planners/catalogue",), (*ALGORITHMS, *UPPER, "planners.simulator")),
        (
            ("planners/machine.py", "planners/program.py", "planners/plan.py"),
            (*ALGORITHMS, *UPPER, "planners.simulator", "planners.allocation"),
        ),
        (("planners/errors.py",), ("planners",)),
        (tuple(f"planners/{name}" for name in PLANNERS), UPPER),
    ],
)
def test_arrows_point_one_way(places: tuple[str, ...], forbidden: tuple[str, ...]) -> None:
    assert offences(places, forbidden) == []


@pytest.mark.parametrize(
    ("module", "unwanted"), [("planners", (*PAGES, *TORCH)), ("app.state", PAGES)]
)
def test_a_fresh_import_stays_light(module: str, unwanted: tuple[str, ...]) -> None:
    if not (ROOT / (module.replace(".", "/") + ".py")).exists() and module != "planners":
        pytest.skip(f"{module} is not there")
    code = f"import sys, {module}; print(*sorted(set(sys.modules) & set({unwanted!r})))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []


def project_files() -> list[Path]:
    """The files of the tree; not what tools leave in it."""
    skipped = {"build", "dist", "__pycache__"}

    def walk(directory: Path) -> Iterator[Path]:
        for path in sorted(directory.iterdir()):
            hidden = path.name.startswith(".") and path.name != ".ci"
            if hidden or path.name in skipped or path.name.endswith(".egg-info"):
                continue
            if path.is_dir():
                yield from walk(path)
            else:
                yield path

    return list(walk(ROOT))


def test_data_files_are_packaged() -> None:
    patterns = [
        f"{package.replace('.', '/')}/{pattern}"
        for package, listed in PYPROJECT["tool"]["setuptools"]["package-data"].items()
        for pattern in listed
    ]
    for path in project_files():
        name = relative(path)
        if name.startswith(("planners/", "app/")) and path.suffix not in (".py", ".pyc"):
            assert any(fnmatch(name, pattern) for pattern in patterns), f"{name} is left out"


def test_packages_are_packages() -> None:
    for path in sources("planners", "app"):
        assert (path.parent / "__init__.py").exists(), f"{relative(path)} would be left out"


def test_no_file_knows_the_machine_it_was_written_on() -> None:
    # /home/me stands for anybody's.
    somewhere = re.compile(r"(?<![\w.:/}])/(?:root|home|Users|work|opt|mnt)/(?!me\b)\w+")
    texts = {".py", ".md", ".toml", ".txt", ".yml", ".ipynb", ".json", ".cfg", ".csv", ""}
    for path in project_files():
        if path.suffix in texts:
            found = somewhere.search(path.read_text(encoding="utf-8"))
            assert found is None, f"{relative(path)} names {found and found.group()}"


def test_the_licence_is_there() -> None:
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert text.startswith("BSD 3-Clause License")
    assert "Copyright (c) 2026, the Spillway developers" in text
    assert PYPROJECT["project"]["license"] == "BSD-3-Clause"


def test_the_readme_has_the_two_commands() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert "python3 run.py explorer" in lines
    assert "python3 run.py tests" in lines


def test_the_snippet_in_the_readme_runs(tmp_path: Path) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (snippet,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", snippet],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(("optimal", "feasible"))
    assert (tmp_path / "plan.json").exists()
