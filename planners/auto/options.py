"""The options of the best of all planners."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from planners.core.options import Options, Rule, choice, flag

OBJECTIVES = ("latency", "traffic", "energy", "memory")


@dataclass(frozen=True, kw_only=True)
class AutoOptions(Options):
    """Options of the best of all planners; all of its plans count parameters."""

    objective: str = choice(
        OBJECTIVES, "what the best plan has the least of", label="Best for", place="front"
    )
    parameters: bool = flag("auto always counts parameters", default=True, place="none")

    def rules(self) -> Iterator[Rule]:
        yield Rule("parameters", "auto always counts parameters: leave it as it is")
