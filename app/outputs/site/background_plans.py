"""Plans of a site that other processes make before their turn comes; their pages are made here."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from concurrent.futures import BrokenExecutor, Executor, Future, wait
from typing import Any

import planners as sp
from app.outputs.site.cells import SiteCell
from planners.core.processes import alone
from planners.core.progress import Progress

POLL_S = 0.1
STAGE = "planned in another process"


class BackgroundPlans:
    """What was handed to an executor, by cell; without one each plan is made when it is wanted."""

    def __init__(self, executor: Executor | None = None) -> None:
        self._executor = executor
        self._asked: dict[str, Future[str]] = {}

    def ask(self, cells: Iterable[SiteCell]) -> None:
        """Have plans made, in this order."""
        if self._executor is not None:
            self._asked |= {cell.id: self._executor.submit(_made, cell) for cell in cells}

    def plan(self, cell: SiteCell, progress: Callable[[Progress], object] | None = None) -> sp.Plan:
        """The plan of a cell, once it is there; made here where a process has died.

        Raises as `sp.plan`, and `Cancelled` where `progress` says no meanwhile.
        """
        future = self._asked.pop(cell.id, None)
        if future is None:
            return cell.plan(progress)
        began = time.perf_counter()
        while not wait([future], POLL_S).done:
            elapsed_s = time.perf_counter() - began
            if progress is not None and progress(Progress(STAGE, elapsed_s)) is False:
                future.cancel()
                raise sp.Cancelled("the site was stopped")
        try:
            text = future.result()
        except BrokenExecutor:
            return cell.plan(progress)
        data: dict[str, Any] = json.loads(text)
        return sp.Plan.from_json(data)

    def close(self) -> None:
        """Nothing more is begun; what runs ends by its own time limit."""
        for future in self._asked.values():
            future.cancel()


def _made(cell: SiteCell) -> str:
    """In another process: a plan as JSON. The others of the site fill the other cores."""
    with alone():
        return json.dumps(cell.plan().to_json())
