"""The version has one source, and the pages for contributors name files that are there."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import planners as sp
from planners.cli import main
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


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "CHANGELOG.md"])
def test_files_that_a_page_names_are_there(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    named = re.findall(r"(?:planners|app|docs|tests)/[\w/]+(?:\.\w+|/)", text)
    assert [name for name in named if not (ROOT / name).exists()] == []
    assert named
