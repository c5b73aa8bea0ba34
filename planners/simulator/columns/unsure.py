"""Where columns do not decide, instructions do."""


class Unsure(Exception):
    """A program is wrong, or of a kind that is not decided in columns."""


def require(condition: object) -> None:
    """Raise `Unsure` unless a condition holds (of an array: everywhere)."""
    if not (condition.all() if hasattr(condition, "all") else condition):
        raise Unsure
