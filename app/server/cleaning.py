"""When the server looks for objects that hold each other and that nobody holds.

Python's collector walks all that there is and stops the server meanwhile, a twentieth of a second
for each page that somebody has. Panel has it look each time that somebody leaves. Pages are taken
apart as their visitors leave (`app.widgets.teardown`): little is left to be found, and it waits.
"""

from __future__ import annotations

import asyncio
import gc
import time

import panel.io.document as panel_documents
import param

from app.jobs.pool import running_pool
from planners.core.gc_pause import give_back

CALM_S = 5.0
"""From the end of a session: its page has been taken apart by then."""
LEAST_ENDED, ENDED_FOR_EACH, LONG_S = 25, 2, 900.0
"""Garbage is looked for once so many sessions have ended, and so many for each that is there, which
adds to the time that it takes; or where the last time was so long ago."""


class Cleaning:
    """Looks for garbage once nobody has a page, and otherwise seldom."""

    def __init__(self) -> None:
        self.ended = self.others = 0
        self.last_s = time.monotonic()
        self._due: asyncio.TimerHandle | None = None

    def session_ended(self, others: int) -> None:
        """Somebody has left, and so many are there still."""
        self.ended += 1
        self.others = others
        is_many = self.ended >= max(LEAST_ENDED, ENDED_FOR_EACH * others)
        is_due = not others or is_many or time.monotonic() - self.last_s >= LONG_S
        loop = asyncio.get_running_loop()
        if self._due is None and is_due:
            self._due = loop.call_later(CALM_S, self.collect)
        elif self._due is None:
            loop.call_later(CALM_S, give_back)

    def collect(self) -> None:
        """Look now."""
        self._due = None
        if not self.others and (pool := running_pool()):
            pool.decoded.forget()
        gc.collect()
        give_back()
        self.ended, self.last_s = 0, time.monotonic()


CLEANING = Cleaning()


def disable_panel_collection() -> None:
    """Have Panel not look for garbage by itself, nor warn of two who leave within five seconds."""
    panel_documents._garbage_collect = lambda: None  # looked up when it is asked for
    param.parameterized.get_logger().addFilter(lambda told: "'gc.collect'" not in told.getMessage())
