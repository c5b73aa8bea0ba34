"""How long a program may be: what is written is also checked and timed, within the time and bounds.

A planner counts instructions before it writes them, and takes a coarser way where these are too
many.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import ceil

from planners.core.errors import ProgramTooLong
from planners.core.program import Instruction
from planners.core.progress import GRACE_S, Clock

MOST_WRITTEN = 4_000_000
"""Instructions of a plan, loops expanded: more are refused. They take minutes to check and time."""
EACH_S = 12e-6
"""Seconds to write, check and time an instruction, about."""
PIECE_S = 4e-6
"""Seconds to check and time a piece that a computation reads or writes, about: of a few, in
`EACH_S`; of programs whose computations name dozens, these are what takes long, and memory."""
SEVERAL = 3
"""A plan that takes more than so many times the limit to be written and timed is not begun."""
LEAST_WRITTEN_S = 5.0
"""No program is given up before so many seconds."""
OPERATOR_S, WRITING_SHARE = 5e-3, 0.4
"""Seconds to write, check and time an operator, about, and the most of the time that this takes."""


def most_in_time(clock: Clock) -> int:
    """Instructions that can be written, checked and timed in the time that is left, about."""
    return most_within(clock.left_s)


def most_within(limit_s: float) -> int:
    """Instructions that can be written, checked and timed in so many seconds, about."""
    return int(min(MOST_WRITTEN, (limit_s + GRACE_S) / EACH_S))


def for_search(clock: Clock, operators: int, operator_s: float = OPERATOR_S) -> Clock:
    """The clock of a search: what is left without what writing, checking and timing take, about;
    so many seconds for an operator."""
    return clock.keeping(min(WRITING_SHARE * clock.left_s, operators * operator_s))


def is_too_slow(instructions: int, each_s: float, limit_s: float) -> bool:
    """Whether a program takes several times the limit to be written and timed."""
    return instructions * each_s > SEVERAL * limit_s + GRACE_S


def refuse_too_slow(instructions: int, each_s: float, limit_s: float) -> None:
    """Raise `ProgramTooLong` for a program that is too slow to be written."""
    if is_too_slow(instructions, each_s, limit_s):
        seconds = instructions * each_s
        raise ProgramTooLong(
            f"the shortest plan found in {limit_s:.3g} s has about {instructions:,} instructions, "
            f"which take about {seconds:.0f} s to write, check and time: give it a time limit of "
            f"{ceil(seconds / SEVERAL)} s or more, or a larger budget"
        )


def longest_s(limit_s: float) -> float:
    """Seconds after which a program that is not yet written is given up: instructions may name so
    many pieces that their number says little."""
    return max(LEAST_WRITTEN_S, SEVERAL * limit_s + GRACE_S)


def unwritten(limit_s: float) -> ProgramTooLong:
    """Why a program was given up."""
    return ProgramTooLong(
        f"the plan found in {limit_s:.3g} s takes more than {longest_s(limit_s):.0f} s to write, "
        "for the pieces that its instructions name: give it a longer time limit, or a larger budget"
    )


def no_longer(instructions: Iterable[Instruction], remedy: str) -> Iterator[Instruction]:
    """The instructions as they are made. Raises `ProgramTooLong` after `MOST_WRITTEN`."""
    for number, item in enumerate(instructions, 1):
        refuse_too_long(number, remedy)
        yield item


def refuse_too_long(instructions: int, remedy: str) -> None:
    """Raise `ProgramTooLong` for a program of more than `MOST_WRITTEN` instructions."""
    if instructions > MOST_WRITTEN:
        raise ProgramTooLong(
            f"the program would have about {instructions:,} instructions, more than the "
            f"{MOST_WRITTEN:,} that are written: {remedy}"
        )
