"""The options of the joined planner."""

from __future__ import annotations

from dataclasses import dataclass

from planners.core.options import Options, choice, flag, texts

OBJECTIVES = ("latency", "traffic", "energy")


@dataclass(frozen=True, kw_only=True)
class JoinedOptions(Options):
    """Options of the planner that joins the four methods in one plan."""

    objective: str = choice(
        OBJECTIVES, "what the plan has the least of", label="Best for", place="front"
    )
    others: bool = flag(
        "ask the other planners too, and take the best plan of all",
        default=True,
        label="never worse than the other planners (others)",
        short="alone",
    )
    improve: bool = flag(
        "in the time that is left run blocks other ways, one by one, where it gets better",
        default=True,
        label="better in all of the time (improve)",
        short="quick",
    )
    fallback: bool = flag(
        "alone, and with no time for blocks in the pool: all as fused groups, or no plan",
        default=True,
        place="none",
    )
    begin: tuple[str, ...] = texts(
        "a plan made before, or a folder that a sweep keeps plans in: never worse than these",
        place="none",
        file=True,
    )
    wishes: tuple[str, ...] = texts(
        "'keep T', 'spill T', 'fuse A B' or 'split A B' each", place="none"
    )
