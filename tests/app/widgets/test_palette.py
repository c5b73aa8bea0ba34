"""Colours that can be read, and told apart by those who see fewer of them."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import pytest
from bokeh.palettes import Cividis256

from app.kinds.binding_bars import LOOKS, OF_MEMORY, OF_TRANSFERS
from app.kinds.timeline_bars import ENGINES
from app.widgets.palette import DARK, LIGHT, Theme
from planners.core.colours import (
    BLUE,
    DARK_INK,
    GROUPS,
    KINDS,
    ROLES,
    STAYS,
    STREAMED,
    contrast,
    ink_on,
)

TEXT_NEEDS = 4.5
HEADER, TAGLINE = "#0b2f4a", "#b9cbd9"
THEMES = pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])


def test_contrast_is_that_of_the_guideline() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#ffffff", "#777777") == pytest.approx(4.48, abs=0.01)
    assert contrast(BLUE, BLUE) == 1


@THEMES
@pytest.mark.parametrize("ink", ["text", "faint", "alarm", "accent"])
@pytest.mark.parametrize("behind", ["panel", "page", "hover"])
def test_words_can_be_read_in_both_themes(theme: Theme, ink: str, behind: str) -> None:
    if (ink, behind) in (("alarm", "hover"), ("accent", "hover")):
        pytest.skip("no such words on rows")
    assert contrast(getattr(theme, ink), getattr(theme, behind)) >= TEXT_NEEDS


def test_the_head_and_chosen_buttons_can_be_read() -> None:
    assert contrast(TAGLINE, HEADER) >= TEXT_NEEDS
    assert contrast("#ffffff", BLUE) >= TEXT_NEEDS


@pytest.mark.parametrize("colour", [*GROUPS, *(colour for _, colour, _ in KINDS), *Cividis256])
def test_names_on_coloured_nodes_can_be_read(colour: str) -> None:
    assert contrast(ink_on(colour), colour) >= (TEXT_NEEDS if colour not in Cividis256 else 4.0)


@THEMES
@pytest.mark.parametrize("looks", [STAYS, ROLES, STREAMED])
def test_names_on_rectangles_can_be_read(theme: Theme, looks: Mapping[str, Any]) -> None:
    for colour, _, _ in looks.values():
        seen = colour if theme.dark else over(colour, theme.panel, 0.85)
        assert contrast(DARK_INK, seen) >= TEXT_NEEDS, colour


BOUND = {**LOOKS, "memory": OF_MEMORY, "transfers": OF_TRANSFERS}


@pytest.mark.parametrize("looks", [STAYS, ROLES, STREAMED, ENGINES, BOUND])
def test_what_differs_by_colour_differs_by_hatch_too(looks: Mapping[str, Any]) -> None:
    pairs = [
        (row[0], row[1]) if row[0].startswith("#") else (row[1], row[2]) for row in looks.values()
    ]
    for (one, hatch), (other, another) in combinations(pairs, 2):
        assert one != other
        assert hatch != another


def over(colour: str, behind: str, alpha: float) -> str:
    """A colour that is drawn over another with some of it shining through."""
    both = zip(*([int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in (colour, behind)), strict=True)
    return "#" + "".join(f"{round(alpha * a + (1 - alpha) * b):02x}" for a, b in both)
