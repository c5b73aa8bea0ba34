"""The options of segment overlap: what is least, and how segments are cut."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from planners.core.options import Options, Rule, choice, flag

OBJECTIVES = ("macs", "ram", "latency")
SEGMENTS = ("pixel", "min", "gcd")


@dataclass(frozen=True, kw_only=True)
class OverlapOptions(Options):
    """Options of the planner whose outputs overlap their dying inputs."""

    objective: str = choice(
        OBJECTIVES,
        "within the budget: least repeated work, least RAM, or least latency by whole rows",
        label="Objective",
        words={
            "macs": "least work within the budget",
            "ram": "least RAM",
            "latency": "least latency, whole rows",
        },
        place="front",
    )
    fuse: bool = flag(
        "operators may run together in the pool",
        default=True,
        label="operators may run together (fuse)",
        place="front",
    )
    segment: str = choice(
        SEGMENTS,
        "bytes for one modulo operation: a pixel, the least of both channel counts, or their gcd",
        label="Segments",
        words={
            "pixel": "a pixel each",
            "min": "the lesser of both channel counts (min)",
            "gcd": "their greatest common divisor (gcd)",
        },
        short="segments by {}",
    )

    def rules(self) -> Iterator[Rule]:
        if self.objective == "latency":
            yield Rule("segment", "the objective latency has segments of its own")
