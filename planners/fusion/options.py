"""The options of the planner: their defaults, and what they may be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planners.errors import BadInput
from planners.fusion.baselines import BASELINES

DEFAULTS: Mapping[str, Any] = {
    "online": False,
    "baseline": "",
    "joint": False,
    "bands": 8,
    "channel_tile": 1,
    "double_buffer": True,
    "free_local_layers": False,
    "wishes": (),
    "parameters": True,
    "time_limit": 60.0,
}


def checked(options: Mapping[str, Any]) -> dict[str, Any]:
    """All options, with defaults for those not given. Raises `BadInput` that says what to do."""
    for name in options:
        if name not in DEFAULTS:
            raise BadInput(f"fusion has no option {name!r}; it has {', '.join(DEFAULTS)}")
    chosen = {**DEFAULTS, **options}
    for name in ("online", "joint", "double_buffer", "free_local_layers", "parameters"):
        if not isinstance(chosen[name], bool):
            raise BadInput(f"{name} must be True or False, not {chosen[name]!r:.40}")
    if not chosen["parameters"]:
        raise BadInput("fusion plans always count parameters: leave parameters as it is")
    if chosen["baseline"] not in ("", *BASELINES):
        raise BadInput(f"baseline={chosen['baseline']!r:.40}: choose one of {', '.join(BASELINES)}")
    if chosen["baseline"] and chosen["online"]:
        raise BadInput("online is a search of its own: leave baseline out")
    if chosen["wishes"] and (chosen["baseline"] or chosen["online"]):
        scheme = chosen["baseline"] or "online"
        raise BadInput(f"wishes: {scheme} goes by its own rules: leave it out, or have no wishes")
    if chosen["joint"] and (chosen["baseline"] or chosen["online"] or chosen["free_local_layers"]):
        raise BadInput("joint is a search of its own: leave baseline, online and free layers out")
    tile = chosen["channel_tile"]
    if not isinstance(tile, int) or isinstance(tile, bool) or tile < 1:
        raise BadInput(f"channel_tile must be whole channels above zero, not {tile!r:.40}")
    most = chosen["bands"]
    if not isinstance(most, int) or isinstance(most, bool) or most < 1 or most & (most - 1):
        raise BadInput(f"bands must be 1, 2, 4, 8 or so on, not {most!r:.40}")
    # Written so that NaN and what is no number at all fail.
    if not (isinstance(chosen["time_limit"], (int, float)) and chosen["time_limit"] > 0):
        raise BadInput(f"time_limit must be above zero seconds, not {chosen['time_limit']!r:.40}")
    return chosen
