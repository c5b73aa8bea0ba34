"""When to stop: a deadline, or because someone asked."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic


class Clock:
    """Counts from its making; `expired` is true after `limit_s` or once `should_stop` says so."""

    def __init__(self, limit_s: float, should_stop: Callable[[], bool] | None = None) -> None:
        self.began = monotonic()
        self.deadline = self.began + limit_s
        self.should_stop = should_stop

    def elapsed_s(self) -> float:
        return monotonic() - self.began

    def left_s(self) -> float:
        return max(0.0, self.deadline - monotonic())

    def expired(self) -> bool:
        return monotonic() >= self.deadline or self.stopped()

    def stopped(self) -> bool:
        return self.should_stop is not None and self.should_stop()

    def part(self, limit_s: float) -> Clock:
        """A clock that expires after `limit_s`, or when this one does."""
        return Clock(min(limit_s, self.left_s()), self.should_stop)
