"""The options of the best of all planners."""

from __future__ import annotations

from dataclasses import dataclass

from planners.core.options import Options, choice, whole

OBJECTIVES = ("latency", "traffic", "energy", "memory")
MOST_PROCESSES = 64


@dataclass(frozen=True, kw_only=True)
class AutoOptions(Options):
    """Options of the best of all planners."""

    objective: str = choice(
        OBJECTIVES, "the objective: what the plan minimises", label="Best for", place="front"
    )
    processes: int = whole(
        0,
        "how many planners run side by side; 0: one for each core",
        most=MOST_PROCESSES,
        label="Processes",
        words={0: "one for each core", 1: "one", 2: "2", 4: "4", 8: "8"},
        place="none",
    )
