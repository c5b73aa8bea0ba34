"""A clock of searches that runs too quickly: `CLOCK_RATE=3` makes three seconds of each.

Tests import this before the library; processes that they start find it on their path. No outcome
of a test may depend on how much a search gets done in its time.
"""

from __future__ import annotations

import os
import time

RATE = float(os.environ.get("CLOCK_RATE", "1"))

if RATE != 1.0:
    _true_clock = time.perf_counter

    def quick_clock() -> float:
        """Seconds of a clock that runs `RATE` times too quickly."""
        return RATE * _true_clock()

    time.perf_counter = quick_clock
    here = os.path.dirname(os.path.abspath(__file__))
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    if here not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join([here, *paths])
