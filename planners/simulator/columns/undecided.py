"""Where columns do not decide, instructions do."""

from typing import Any


class Undecided(Exception):
    """A program is wrong, or of a kind that is not decided in columns: `at` or before that
    instruction, where it is known."""

    def __init__(self, at: int | None = None) -> None:
        super().__init__(at)
        self.at = at


def require(condition: Any, at: Any = None) -> None:
    """Raise `Undecided` unless a condition holds, of an array everywhere.

    `at` has for each element of the array the number of the instruction that it belongs to.
    """
    if not (condition.all() if hasattr(condition, "all") else condition):
        raise Undecided(None if at is None else int(at[~condition].min()))
