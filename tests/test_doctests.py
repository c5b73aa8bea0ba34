"""What docstrings show is what happens. Only files with an example are imported, when they run."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def modules_with_examples() -> list[str]:
    files = (path for top in ("planners", "app") for path in (ROOT / top).rglob("*.py"))
    shown = sorted(path for path in files if ">>> " in path.read_text(encoding="utf-8"))
    names = [path.relative_to(ROOT).with_suffix("").as_posix() for path in shown]
    return [name.removesuffix("/__init__").replace("/", ".") for name in names]


@pytest.mark.parametrize("name", modules_with_examples())
def test_the_examples_of_a_module(name: str) -> None:
    tried = doctest.testmod(import_module(name))
    assert tried.attempted
    assert not tried.failed
