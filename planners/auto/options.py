"""The options of the best of all planners."""

from __future__ import annotations

from dataclasses import dataclass

from planners.core.options import Options, choice

OBJECTIVES = ("latency", "traffic", "energy", "memory")


@dataclass(frozen=True, kw_only=True)
class AutoOptions(Options):
    """Options of the best of all planners."""

    objective: str = choice(
        OBJECTIVES, "what the best plan has the least of", label="Best for", place="front"
    )
