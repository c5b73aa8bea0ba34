"""How long a program may be: what is written is also checked and timed, within the time and bounds.

A planner counts instructions before it writes them, and takes a coarser way where these are too
many.
"""

from __future__ import annotations

from planners.core.errors import BadInput
from planners.core.progress import Clock

MOST_WRITTEN = 4_000_000
"""Instructions of a plan, loops expanded: more are refused. They take minutes to check and time."""
EACH_S, GRACE_S = 12e-6, 1.0
"""Seconds to write, check and time an instruction, about; and what a limit may be exceeded by."""
OPERATOR_S, WRITING_SHARE = 5e-3, 0.4
"""Seconds to write, check and time an operator, about, and the most of the time that is kept."""


def most_in_time(clock: Clock) -> int:
    """Instructions that can be written, checked and timed in the time that is left, about."""
    return int(min(MOST_WRITTEN, (clock.left_s + GRACE_S) / EACH_S))


def for_search(clock: Clock, operators: int) -> Clock:
    """The clock of a search: what is left without what writing, checking and timing take, about."""
    left = max(clock.left_s, 1e-9)
    return clock.share(1 - min(WRITING_SHARE, operators * OPERATOR_S / left))


def refuse_too_long(instructions: int, remedy: str) -> None:
    """Raise `BadInput` for a program of more than `MOST_WRITTEN` instructions."""
    if instructions > MOST_WRITTEN:
        raise BadInput(
            f"the program would have about {instructions:,} instructions, more than the "
            f"{MOST_WRITTEN:,} that are written: {remedy}"
        )
