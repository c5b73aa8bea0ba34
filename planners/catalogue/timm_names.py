"""The names of timm's models, read from its sources: to import it takes seconds."""

from __future__ import annotations

import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path

REGISTERED = re.compile(r"@register_model\s*\ndef (\w+)")


@cache
def timm_names() -> frozenset[str]:
    """All models that timm registers under names of their own; empty where it is not installed."""
    spec = find_spec("timm")
    places = [Path(place) / "models" for place in (spec and spec.submodule_search_locations) or ()]
    files = [file for place in places for file in place.glob("*.py")]
    return frozenset(
        name for file in files for name in REGISTERED.findall(file.read_text(encoding="utf-8"))
    )
