"""What is installed is under licences that are known, and the list in the docs is of it."""

from __future__ import annotations

import csv
import importlib.util
import io
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


def listed() -> list[tuple[str, str, str]]:
    """The packages of the list, their versions and licences."""
    text = (ROOT / "docs" / "data" / "licences.csv").read_text(encoding="utf-8")
    return [
        (row["package"], row["version"], row["licence"])
        for row in csv.DictReader(io.StringIO(text))
    ]


def test_the_list_has_all_packages_with_their_versions(licences: ModuleType) -> None:
    rows = listed()
    assert (ROOT / "docs" / "licences.md").read_text(encoding="utf-8") == licences.page(rows)
    assert [name for name, _, _ in rows] == licences.packages()
    pins = dict(re.findall(r"^([\w.-]+)==([^\s+]+)", (ROOT / "constraints.txt").read_text(), re.M))
    pinned = {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in pins.items()}
    assert {name: version for name, version, _ in rows if pinned[name] != version} == {}


def test_each_licence_is_known(licences: ModuleType) -> None:
    words = {word for *_, named in listed() for word in re.split(r" AND | OR | WITH ", named)}
    assert words <= licences.KNOWN


def test_what_is_installed_here_says_the_same(licences: ModuleType) -> None:
    named = {name: licence for name, _, licence in listed()}
    for name in ("bokeh", "numpy", "panel", "ortools", "certifi", "contourpy"):
        assert licences.licence_of(name) == named[name]
