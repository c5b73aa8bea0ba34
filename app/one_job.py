"""A part of a session that asks workers for one thing at a time. No Panel here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.jobs import Job

if TYPE_CHECKING:
    from app.session import Session


class OneJob:
    """Holds the job that runs, if one does; what is asked and what comes back is its heirs' own."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._job: Job | None = None

    @property
    def busy(self) -> bool:
        """Whether a worker may still have something to say."""
        return self._job is not None

    def close(self) -> None:
        """Nothing goes on running."""
        if self._job:
            self._job.cancel()
        self._job = None
