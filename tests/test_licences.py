"""What is installed is under licences that are known, and the list in the docs is of it."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def licences() -> ModuleType:
    place = ROOT / "requirements" / "licences.py"
    spec = importlib.util.spec_from_file_location("licences", place)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_list_has_all_packages_with_their_versions(licences: ModuleType) -> None:
    text = (ROOT / "docs" / "licences.md").read_text(encoding="utf-8")
    assert text.startswith(licences.HEAD)
    rows = re.findall(r"^\| ([\w.-]+) \| (\d[\d.a-z]*) \| .+ \|$", text, re.MULTILINE)
    assert [name for name, _ in rows] == licences.packages()
    pins = dict(re.findall(r"^([\w.-]+)==([^\s+]+)", (ROOT / "constraints.txt").read_text(), re.M))
    pinned = {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in pins.items()}
    assert {name: version for name, version in rows if pinned[name] != version} == {}


def test_each_licence_is_known(licences: ModuleType) -> None:
    text = (ROOT / "docs" / "licences.md").read_text(encoding="utf-8")
    named = re.findall(r"^\| [\w.-]+ \| \d[\d.a-z]* \| (.+) \|$", text, re.MULTILINE)
    words = {word for row in named for word in re.split(r" AND | OR | WITH ", row)}
    assert words <= licences.KNOWN


def test_what_is_installed_here_says_the_same(licences: ModuleType) -> None:
    text = (ROOT / "docs" / "licences.md").read_text(encoding="utf-8")
    for name in ("bokeh", "numpy", "panel", "ortools", "certifi", "contourpy"):
        assert f" | {licences.licence_of(name)} |" in text.split(f"| {name} | ")[1].split("\n")[0]
