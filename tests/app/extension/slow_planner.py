"""Planners that take their time, as an extension of Spillway would bring them.

`slow` counts to the time limit and stops when it is asked to; `patient` searches as COSMA does,
with a bound that rises until it is stopped; `stubborn` never listens and has a child process of its
own; `liar` claims less than its plan takes; `greedy` takes more memory all the time, and `huge`
asks for more than any machine has at once.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from planners.core.options import Options, Rule, flag, whole
from planners.core.progress import Progress
from planners.cosma import plan as cosma


@dataclass(frozen=True, kw_only=True)
class SlowOptions(Options):
    """What the slow planner lets one choose."""

    pause: int = whole(
        100, "between reports", least=1, most=1000, unit="ms", label="Pause (ms)", place="front"
    )
    eager: bool = flag("stops at the first report", label="as soon as it can")

    def rules(self) -> Iterator[Rule]:
        if self.eager:
            yield Rule("pause", "it does not wait for a second report")


def slow(graph: Any, machine: Any, budget: int, options: SlowOptions, progress: Any) -> Any:
    """Report ten times a second; plan as COSMA does once the time is over or a stop is asked."""
    began = time.monotonic()
    while (elapsed := time.monotonic() - began) < options.time_limit:
        if progress(Progress("thinking", elapsed, 1000, 500)) is False or options.eager:
            break
        time.sleep(options.pause / 1000)
    shared = {"parameters": options.parameters, "time_limit": 10.0}
    return cosma(graph, machine, budget, shared, None)


def patient(
    graph: Any, machine: Any, budget: int, options: Mapping[str, Any], progress: Any
) -> Any:
    """COSMA's search for the best order, held where it first reports until a stop is asked."""

    def hold(moment: Progress) -> bool:
        bound = moment.bound_bytes or 0
        while progress(replace(moment, bound_bytes=bound)) is not False:
            bound += 1024
            time.sleep(0.1)
        return False

    return cosma(graph, machine, budget, {"schedule": "joint", "time_limit": 600.0}, hold)


def stubborn(
    graph: Any, machine: Any, budget: int, options: Mapping[str, Any], progress: Any
) -> Any:
    """Start a child, say its process id, and sleep."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    progress(Progress(f"child {child.pid}", 0.0))
    time.sleep(600)


def liar(graph: Any, machine: Any, budget: int, options: Mapping[str, Any], progress: Any) -> Any:
    """Plan as COSMA does, and claim a peak that is not."""
    plan = cosma(graph, machine, budget, {**options, "replacement": "greedy"}, None)
    return replace(plan, claims=replace(plan.claims, peak_bytes=plan.claims.peak_bytes - 64))


def greedy(graph: Any, machine: Any, budget: int, options: Mapping[str, Any], progress: Any) -> Any:
    """Take 64 MB every 20 ms."""
    held = []
    while True:
        held.append(b"x" * 64_000_000)
        time.sleep(0.02)


def huge(graph: Any, machine: Any, budget: int, options: Mapping[str, Any], progress: Any) -> Any:
    """Ask for a terabyte."""
    return bytearray(10**12)
