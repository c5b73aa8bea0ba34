"""Tests of the pool have one of their own each."""

from __future__ import annotations

import pytest

from app.jobs.pool import WorkerPool


@pytest.fixture
def pool(fresh_pool: WorkerPool) -> WorkerPool:
    """Two workers that no other test has used."""
    return fresh_pool
