"""Workers that take jobs and never answer."""

from __future__ import annotations

from typing import Any

from app.jobs.pool import PoolJob
from app.jobs.protocol import Request


class SilentPool:
    """Takes jobs and does nothing."""

    def submit(self, request: Request, **_how: Any) -> PoolJob:
        return PoolJob(self, 1, request)  # type: ignore[arg-type]

    def ahead(self, job: Any) -> int:
        return 0

    def cancel(self, job: Any) -> None:
        """Nothing was begun."""
