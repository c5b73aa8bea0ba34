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
LEAST_S, FOR_EACH_PAGE_S = 120.0, 6.0
"""Between two looks while somebody has a page, and so much for each page: less than a hundredth of
the time is for looking."""


class Cleaning:
    """Looks for garbage once nobody has a page, and otherwise seldom."""

    def __init__(self) -> None:
        self.last_s = time.monotonic()

    def sessions_were_checked(self, before: int, pages: int) -> None:
        """There were so many pages before the sessions of visitors who have left were ended, and so
        many are there now; told every few seconds."""
        if not before:
            return
        waits_s = max(LEAST_S, FOR_EACH_PAGE_S * pages) if pages else 0.0
        loop = asyncio.get_running_loop()
        if time.monotonic() - self.last_s >= waits_s:
            loop.call_later(CALM_S, self.collect, pages)
        else:
            loop.call_later(CALM_S, give_back)

    def collect(self, pages: int) -> None:
        """Look now."""
        if not pages and (pool := running_pool()):
            pool.decoded.forget()
        gc.collect()
        give_back()
        self.last_s = time.monotonic()


CLEANING = Cleaning()


def disable_panel_collection() -> None:
    """Have Panel not look for garbage by itself, nor warn of two who leave within five seconds."""
    panel_documents._garbage_collect = lambda: None  # looked up when it is asked for
    param.parameterized.get_logger().addFilter(lambda told: "'gc.collect'" not in told.getMessage())
