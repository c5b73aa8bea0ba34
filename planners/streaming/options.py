"""The options of the planner: their defaults, and what they may be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planners.errors import BadInput
from planners.streaming.pipelines import PIPELINES, STEP_BYTES
from planners.units import parse_size

DEFAULTS: Mapping[str, Any] = {
    "pipeline": "exact",
    "stages": 0,
    "ring": 0,
    "twice": False,
    "step": STEP_BYTES,
    "times": "",
    "slices": 1,
    "joint": False,
    "spread": 0.0,
    "draws": 0,
    "seed": 0,
    "parameters": True,
    "time_limit": 60.0,
}
_FLAGS = ("twice", "joint", "parameters")


def checked(options: Mapping[str, Any]) -> dict[str, Any]:
    """All options, with defaults for those not given. Raises `BadInput` that says what to do."""
    for name in options:
        if name not in DEFAULTS:
            raise BadInput(f"streaming has no option {name!r}; it has {', '.join(DEFAULTS)}")
    chosen = {**DEFAULTS, **options}
    for name in _FLAGS:
        if not isinstance(chosen[name], bool):
            raise BadInput(f"{name} must be True or False, not {chosen[name]!r:.40}")
    if not chosen["parameters"]:
        raise BadInput("streaming plans always count parameters: leave parameters as it is")
    if chosen["pipeline"] not in PIPELINES:
        raise BadInput(f"pipeline={chosen['pipeline']!r:.40}: choose one of {', '.join(PIPELINES)}")
    if not isinstance(chosen["times"], str):
        raise BadInput(f"times must be 'roofline' or a path, not {chosen['times']!r:.40}")
    for name in ("ring", "step"):
        chosen[name] = _size(name, chosen[name])
    if not chosen["step"]:
        raise BadInput("step must be above zero bytes")
    _check_counts(chosen)
    _check_combination(chosen)
    return chosen


def _size(name: str, value: Any) -> int:
    try:
        return 0 if value in (0, "") else parse_size(value)
    except BadInput as error:
        raise BadInput(f"{name}: {error}") from error


def _check_counts(chosen: Mapping[str, Any]) -> None:
    for name, least in (("stages", 0), ("slices", 0), ("draws", 0), ("seed", 0)):
        value = chosen[name]
        if type(value) is not int or value < least:
            raise BadInput(f"{name} must be a whole number from {least} on, not {value!r:.40}")
    if chosen["stages"] not in (0, 2, 3):
        raise BadInput(f"stages must be 2, 3, or 0 for the better, not {chosen['stages']}")
    spread = chosen["spread"]
    # Written so that NaN fails.
    if isinstance(spread, bool) or not isinstance(spread, (int, float)) or not 0 <= spread < 1e6:
        raise BadInput(f"spread must be a share, zero or above, not {spread!r:.40}")
    limit = chosen["time_limit"]
    if isinstance(limit, bool) or not isinstance(limit, (int, float)) or not limit > 0:
        raise BadInput(f"time_limit must be seconds above zero, not {limit!r:.40}")


def _check_combination(chosen: Mapping[str, Any]) -> None:
    pipeline = chosen["pipeline"]
    has_ring = pipeline in ("async", "2s")
    if chosen["ring"] and not has_ring:
        raise BadInput(f"pipeline {pipeline} finds its rings: a ring size goes with async or 2s")
    if chosen["twice"] and pipeline in ("pre", "seq", "sync"):
        raise BadInput(f"pipeline {pipeline} has no rings that could be mapped twice")
    if chosen["stages"] and pipeline != "exact":
        raise BadInput("stages goes with pipeline exact: the others say theirs")
    if chosen["joint"] and (pipeline != "exact" or chosen["stages"] == 3 or chosen["twice"]):
        raise BadInput("joint goes with pipeline exact in two stages, without rings mapped twice")
