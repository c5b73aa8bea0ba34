"""How many cases the tests of properties try: in the usual run, and times four with `--all`."""

from __future__ import annotations

from hypothesis import settings

USUAL = 50
MANY = 200


def cases(usual: int, many: int | None = None) -> int:
    """As many in the usual run; with `--all` `many`, or more as Hypothesis's own number grows."""
    if many is not None:
        return usual if settings.default.max_examples <= USUAL else many
    return usual * settings.default.max_examples // USUAL
