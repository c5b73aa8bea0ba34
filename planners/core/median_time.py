"""How long a call takes."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median


def median_seconds(call: Callable[[], object], runs: int = 7) -> float:
    """The median of several runs, after one that does not count."""
    call()
    times = []
    for _ in range(runs):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return median(times)
