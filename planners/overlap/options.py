"""The options of the planner: their defaults, and what they may be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planners.errors import BadInput
from planners.overlap.pitch import RULES

OBJECTIVES = ("macs", "ram", "latency")
CHOICES: Mapping[str, tuple[str, ...]] = {"objective": OBJECTIVES, "segment": RULES}
DEFAULTS: Mapping[str, Any] = {
    **{name: words[0] for name, words in CHOICES.items()},
    "fuse": True,
    "parameters": False,
}


def checked(options: Mapping[str, Any]) -> dict[str, Any]:
    """All options with their defaults. Raises `BadInput` for one that does not exist."""
    known = {**DEFAULTS, "time_limit": 60.0}
    for name, value in options.items():
        if name not in known:
            raise BadInput(f"overlap has no option {name!r}: it has {', '.join(known)}")
        if isinstance(known[name], bool) and not isinstance(value, bool):
            raise BadInput(f"option {name!r} is yes or no, not {value!r:.40}")
    chosen = known | dict(options)
    for name, words in CHOICES.items():
        if chosen[name] not in words:
            raise BadInput(f"{name} {chosen[name]!r:.40} is none of {', '.join(words)}")
    if chosen["objective"] == "latency" and chosen["segment"] != "pixel":
        raise BadInput("objective latency has segments of its own: leave segment at pixel")
    limit = chosen["time_limit"]
    if isinstance(limit, bool) or not isinstance(limit, (int, float)) or not limit > 0:
        raise BadInput(f"time_limit must be seconds above zero, not {limit!r:.40}")
    return chosen
