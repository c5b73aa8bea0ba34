"""Kinds of differences between two plans: a colour and a mark each, the second for those who cannot
distinguish the first."""

from __future__ import annotations

from collections.abc import Mapping

from app.display.compare import (
    CUT,
    MOVED,
    ONLY_HERE,
    ONLY_THERE,
    ORDER,
    RETIMED,
    SAME,
    SPILLED_HERE,
    SPILLED_THERE,
)
from planners.core.colours import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILLION, YELLOW

MARKS: Mapping[str, tuple[str, str]] = {
    SPILLED_HERE: ("▲", ORANGE),
    SPILLED_THERE: ("△", SKY),
    ONLY_HERE: ("+", GREEN),
    ONLY_THERE: ("−", PURPLE),
    CUT: ("▦", YELLOW),
    RETIMED: ("↔", BLUE),
    MOVED: ("↕", GREY),
    ORDER: ("⇅", VERMILLION),
}
SHORT: Mapping[str, str] = {
    SPILLED_HERE: "spills here",
    SPILLED_THERE: "spilled there",
    ONLY_HERE: "only here",
    ONLY_THERE: "only there",
    CUT: "other pieces",
    RETIMED: "other steps",
    MOVED: "moved",
    ORDER: "other order",
    SAME: "same",
}
"""The same, short enough for a node."""
