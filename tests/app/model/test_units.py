"""Numbers in words."""

from __future__ import annotations

import pytest

from app.model.units import share_text


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (0.0, "0.0%"),
        (1e-9, "under 0.1%"),
        (0.0004, "under 0.1%"),
        (0.0006, "0.1%"),
        (0.25, "25.0%"),
    ],
)
def test_a_share_that_is_not_zero_never_reads_so(share: float, words: str) -> None:
    assert share_text(share) == words
