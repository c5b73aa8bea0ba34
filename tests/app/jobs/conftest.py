"""Tests of the pool have one of their own each."""

from __future__ import annotations

import pytest

from app.jobs.pool import Pool


@pytest.fixture
def pool(fresh_pool: Pool) -> Pool:
    """Two workers that no other test has used."""
    return fresh_pool
