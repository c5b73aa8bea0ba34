"""Wishes as joined plans keep to them: judged by replay, and handed on to fused groups."""

from __future__ import annotations

from collections.abc import Iterable

from planners.core.errors import NoPlanFound
from planners.core.graph import Graph
from planners.wishes.language import Kind, Wish

KNOWN: tuple[Kind, ...] = ("keep", "spill", "fuse", "split")


def of_part(wishes: Iterable[Wish], part: Graph) -> list[str]:
    """The wishes that fused groups of a part can keep to: of its operators, and of what these make
    and nothing behind it reads."""
    texts = []
    for wish in wishes:
        names = part.producer if wish.kind in ("keep", "spill") else part.index
        if all(name in names and name not in part.outputs for name in wish.names):
            texts.append(str(wish))
    return texts


def unmet(lost: Iterable[Wish]) -> NoPlanFound:
    """Why there is no plan: those that none of the plans found keeps to."""
    texts = [str(wish) for wish in lost]
    one = len(texts) == 1
    return NoPlanFound(
        f"joined: none of the plans found keeps to {' and '.join(map(repr, texts))}, which does "
        f"not prove that there is none: drop {'it' if one else 'one of them'}, or give it more "
        "memory or time"
    )
