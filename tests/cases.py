"""How many cases the tests of properties try: in the usual run, and times four with `--all`."""

from __future__ import annotations

from hypothesis import settings

USUAL = 50
MANY = 200


def cases(usual: int) -> int:
    """As many in the usual run, and as much more with `--all` as Hypothesis's own number grows."""
    return usual * settings.default.max_examples // USUAL
