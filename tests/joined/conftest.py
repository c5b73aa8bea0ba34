"""Limits of joined plans are of work here."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def by_work(long_looks: None) -> None:
    """A search looks at its clock between plans of parts: so few are enough."""
