"""The version has one source, and the pages for contributors name files that are there."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import planners as sp
from planners.cli import main
from planners.core.machine import load_machine
from planners.core.version import written_version

ROOT = Path(__file__).parents[1]


def test_the_version_is_that_of_pyproject(capfd: pytest.CaptureFixture[str]) -> None:
    path = ROOT / "pyproject.toml"
    version = tomllib.loads(path.read_text())["project"]["version"]
    assert sp.__version__ == written_version(path) == version
    assert written_version(ROOT / "nowhere.toml") == "unknown"
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capfd.readouterr().out == f"spillway {version}\n"


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "CHANGELOG.md", "docs/extending.md"])
def test_files_that_a_page_names_are_there(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    named = re.findall(r"(?:planners|app|docs|tests)/[\w/]+(?:\.\w+|/)", text)
    assert [name for name in named if not (ROOT / name).exists()] == []
    assert named


def test_the_difference_on_the_page_is_that_of_the_file() -> None:
    """The lines that the page adds to a machine of one engine make the file of two."""
    text = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
    block = re.search(r"^```diff\n(--- npu.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    assert block is not None
    lines = [line for line in block[1].splitlines() if not line.startswith(("---", "+++", "@@"))]
    after = "\n".join(line[1:] for line in lines)
    before = "\n".join(line[1:] for line in lines if not line.startswith("+"))
    file = ROOT / "docs" / "examples" / "npu_two_dma.toml"
    whole = file.read_text(encoding="utf-8")
    assert whole.count(after) == 1
    two = load_machine(file)
    one = sp.Machine.from_json(tomllib.loads(whole.replace(after, before)))
    assert one.engines == tuple(engine for engine in two.engines if not engine.shares)
    assert (one.memories, one.numbers().keys() < two.numbers().keys()) == (two.memories, True)
