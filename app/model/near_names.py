"""Names that people type: the one that is meant, or the nearest. No Panel here."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches

from planners.catalogue.names import timm_names

TIMM = "timm:"


def plain(name: str) -> str:
    """A name without what people leave out or add: capitals, blanks, dots, hyphens, underscores."""
    return "".join(letter for letter in name.lower() if letter.isalnum())


def meant(name: str, names: Collection[str]) -> str | None:
    """The known name of the same letters and digits; None where there is none, or more than one."""
    if name in names:
        return name
    same = [other for other in names if plain(other) == plain(name)]
    return same[0] if len(same) == 1 and plain(name) else None


def meant_model(name: str, names: Collection[str]) -> str | None:
    """The same of models: a name that only timm has gets its prefix."""
    if model := meant(name, names):
        return model
    bare = name.strip().removeprefix(TIMM)
    return TIMM + bare if bare in timm_names() else None


def nearest(name: str, names: Collection[str]) -> str:
    """A question with the nearest known name; empty where none is near."""
    by_plain = {plain(other): other for other in names}
    near = get_close_matches(plain(name), by_plain, n=1, cutoff=0.6)
    return f" Did you mean {by_plain[near[0]]}?" if near else ""
