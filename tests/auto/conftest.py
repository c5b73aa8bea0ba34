"""Planners of an extension, found by this process and by its workers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from planners.core.registry import planners


@pytest.fixture
def odd_planners(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """`deadly`, `hog`, `shy` and `broken` are there, after all others."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent / "extension"))
    planners.cache_clear()
    yield
    planners.cache_clear()
