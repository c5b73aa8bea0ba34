"""The options of the joined planner."""

from __future__ import annotations

from dataclasses import dataclass

from planners.core.options import Options, choice, flag, texts

OBJECTIVES = ("latency", "traffic", "energy")


@dataclass(frozen=True, kw_only=True)
class JoinedOptions(Options):
    """Options of the planner that joins the four methods in one plan."""

    objective: str = choice(
        OBJECTIVES, "the objective: what the plan minimises", label="Best for", place="front"
    )
    others: bool = flag(
        "ask the other planners too, and take the best plan of all",
        default=True,
        label="never worse than the other planners (others)",
        short="alone",
    )
    improve: bool = flag(
        "local search in the remaining time: try other ways to run single blocks",
        default=True,
        label="local search (improve)",
        short="quick",
    )
    fallback: bool = flag(
        "without others, where time is too short for the pool: only fused groups, or no plan",
        default=True,
        place="none",
    )
    begin: tuple[str, ...] = texts(
        "warm start: a plan, or a sweep's folder of plans; the result is never worse",
        place="none",
        file=True,
    )
    wishes: tuple[str, ...] = texts(
        "'keep T', 'spill T', 'fuse A B' or 'split A B' each", place="none"
    )
