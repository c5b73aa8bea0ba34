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
from importlib import import_module
from itertools import chain
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CONDA_NAMES = {"pytorch": "torch", "prometheus_client": "prometheus-client"}


def requirements() -> dict[str, Requirement]:
    """All direct dependencies, those of the extras included."""
    project = PYPROJECT["project"]
    texts = [*project["dependencies"], *chain(*project["optional-dependencies"].values())]
    return {canonicalize_name(r.name): r for r in map(Requirement, texts)}


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pairs = [line.split("==") for line in lines if not line.startswith("#")]
    return {canonicalize_name(name): version for name, version in pairs}


def _imported(text: str) -> Iterator[tuple[str, str]]:
    """Modules of ours that a file imports from, and the names that it takes."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("planners."):
            yield from ((str(node.module), name.name) for name in node.names)


def test_benchmarks_find_what_they_import() -> None:
    """They run by hand alone: what has moved since is told here."""
    taken = {
        pair for path in ROOT.glob("benchmarks/**/*.py") for pair in _imported(path.read_text())
    }
    assert taken
    for module, name in sorted(taken):
        defined = ROOT.joinpath(*module.split("."))
        if (defined / f"{name}.py").exists() or (defined / name).is_dir():
            continue
        assert hasattr(import_module(module), name), f"{module} has no {name}"


def test_every_direct_dependency_is_pinned_within_its_bounds() -> None:
    pinned = pins()
    for name, requirement in requirements().items():
        assert name in pinned
        assert requirement.specifier.contains(pinned[name])


def test_what_is_needed_ends_at_the_next_major_version() -> None:
    for text in PYPROJECT["project"]["dependencies"]:
        need, version = Requirement(text), pins()[canonicalize_name(Requirement(text).name)]
        major = int(version.partition(".")[0])
        assert f"<{major + 1}" in str(need.specifier).split(","), text
        assert not need.specifier.contains(f"{major + 1}.0.0a1", prereleases=True), text


def test_pins_are_portable() -> None:
    for name, version in pins().items():
        assert re.fullmatch(r"[0-9][0-9a-z.]*", version), f"{name}: {version} is for one platform"


@pytest.mark.parametrize("name", ["core", "test"])
def test_packages_are_locked_by_the_hashes_of_their_files(name: str) -> None:
    text = (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8")
    locked = {}
    for entry in re.split(r"^(?=[a-zA-Z0-9])", text, flags=re.MULTILINE)[1:]:
        requirement = Requirement(entry.split("\\")[0])
        locked[canonicalize_name(requirement.name)] = str(requirement.specifier)
        assert re.findall(r"--hash=sha256:[0-9a-f]{64}\b", entry), entry
    apart = {"torch", "torchvision"}
    assert not apart & set(locked)
    known = {package: f"=={version}" for package, version in pins().items()}
    assert {package: known.get(package) for package in locked} == locked
    direct = {canonicalize_name(Requirement(d).name) for d in PYPROJECT["project"]["dependencies"]}
    assert direct - apart <= set(locked)
    if name == "test":  # An extra of its own, which the tests do without.
        assert set(known) - set(locked) == apart | {"highspy"}


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


def test_every_format_is_read_from_the_first_install() -> None:
    """Nobody is asked for a package by a file that we can read."""
    project = PYPROJECT["project"]
    assert any(text.startswith("onnx>=") for text in project["dependencies"])
    assert project["optional-dependencies"]["onnx"] == []


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


def test_the_root_holds_what_belongs_there() -> None:
    """What was tried there stays out: a network, a plan, a page of somebody's."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode:
        pytest.skip("not a checkout")
    files = {name for name in listed.stdout.split("\0") if name and "/" not in name}
    assert files == {
        ".gitignore",
        "CHANGELOG.md",
        "CITATION.cff",
        "CONTRIBUTING.md",
        "LICENSE",
        "MANIFEST.in",
        "README.md",
        "constraints.txt",
        "environment.yml",
        "mkdocs.yml",
        "pyproject.toml",
        "run.py",
    }


def test_nobody_is_sent_to_the_other_spillway() -> None:
    """On PyPI that name is another project's."""
    for path in project_files():
        if path.suffix in (".py", ".md", ".ipynb", ".js", ".html") and path != Path(__file__):
            text = path.read_text(encoding="utf-8")
            assert not re.search(r"pip install [^\n]*\bspillway\b(?!`)", text), relative(path)


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


def test_the_release_has_one_version_and_one_day() -> None:
    version = PYPROJECT["project"]["version"]
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["version"] == version
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\n## {version} ({cited['date-released']:%-d %B %Y})\n" in changes


def test_every_paper_is_cited() -> None:
    """By the address that the README's table of planners has."""
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    papers = {p.get("url") or f"https://doi.org/{p['doi']}" for p in cited["references"]}
    assert len(papers) == 4
    for page in ("README.md", "docs/index.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        assert {p for p in papers if f"]({p})" not in text} == set(), page


def test_the_readme_has_the_two_commands() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert "python3 run.py explorer" in lines
    assert "python3 run.py tests" in lines


def test_the_readme_is_read_in_a_minute() -> None:
    """It was a manual of 2,400 words."""
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= 900


def snippets_of_the_readme() -> list[str]:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found: list[str] = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    return found


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What each snippet prints, and the plan that the first one writes."""
    folder = tmp_path_factory.mktemp("snippets")
    first, own = snippets_of_the_readme()
    told = {"first": _printed(first, folder), "own": _printed(own, folder)}
    return told | {"plan": (folder / "plan.json").read_text(encoding="utf-8")}


def test_the_first_snippet_in_the_readme_runs(printed: dict[str, str]) -> None:
    assert printed["first"].startswith(("optimal", "feasible"))
    assert printed["plan"].startswith("{")


def test_the_planner_in_the_readme_runs(printed: dict[str, str]) -> None:
    assert float(printed["own"]) == 0
    _, own = snippets_of_the_readme()
    assert len(own.strip().split("\n\n")[-1].splitlines()) == 3


def _printed(snippet: str, folder: Path) -> str:
    """What a snippet prints."""
    done = subprocess.run(
        [sys.executable, "-c", snippet],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
