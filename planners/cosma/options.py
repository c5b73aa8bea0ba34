"""The options of the planner: their defaults, their values, and which go together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planners.cosma.baselines import BASELINES
from planners.errors import BadInput

AUTO = "auto"
DEFAULTS: Mapping[str, Any] = {
    "schedule": "default",
    "objective": "traffic",
    "replacement": "optimal",
    "method": "search",
    "solver": "HiGHS",
    "paper_strict": False,
    "break_nodes": AUTO,
    "parameters": False,
    "alignment": 64,
    "wishes": (),
    "time_limit": 60.0,
}
CHOICES = {
    "schedule": ("default", "mpmf", "joint", "dnc"),
    "objective": ("traffic", "peak", "traffic_then_latency"),
    "replacement": ("optimal", *BASELINES),
    "method": ("search", "ilp"),
}


def checked(options: Mapping[str, Any]) -> dict[str, Any]:
    """All options, with defaults for those not given. Raises `BadInput` that says what to do."""
    for name in options:
        if name not in DEFAULTS:
            raise BadInput(f"cosma has no option {name!r}; it has {', '.join(DEFAULTS)}")
    chosen = {**DEFAULTS, **options}
    for name, values in CHOICES.items():
        if chosen[name] not in values:
            raise BadInput(f"{name}={chosen[name]!r:.40}: choose one of {', '.join(values)}")
    chosen["break_nodes"] = _break_nodes(chosen["break_nodes"])
    _check_values(chosen)
    _check_pairs(chosen)
    _check_wishes(chosen)
    return chosen


def _break_nodes(given: Any) -> str | list[str]:
    """`auto`, or names: a list of them or one text with commas between."""
    if given == AUTO:
        return AUTO
    names = [name.strip() for name in given.split(",")] if isinstance(given, str) else given
    if not isinstance(names, (list, tuple)) or not all(isinstance(n, str) and n for n in names):
        raise BadInput(f"break_nodes must be {AUTO!r} or names of operators, not {given!r:.60}")
    return list(names)


def _check_values(chosen: Mapping[str, Any]) -> None:
    if not isinstance(chosen["solver"], str):
        raise BadInput(f"solver must be a name, not {chosen['solver']!r:.40}")
    # Written so that NaN and what is no number at all fail.
    if not (isinstance(chosen["time_limit"], (int, float)) and chosen["time_limit"] > 0):
        raise BadInput(f"time_limit must be above zero seconds, not {chosen['time_limit']!r:.40}")
    if not (isinstance(chosen["alignment"], int) and chosen["alignment"] > 0):
        raise BadInput(f"alignment must be whole bytes above zero, not {chosen['alignment']!r:.40}")
    for name in ("parameters", "paper_strict"):
        if not isinstance(chosen[name], bool):
            raise BadInput(f"{name} must be True or False, not {chosen[name]!r:.40}")


def _check_wishes(chosen: Mapping[str, Any]) -> None:
    """What can be seen of wishes without a graph."""
    if chosen["wishes"] and chosen["replacement"] != "optimal":
        scheme = f"replacement={chosen['replacement']!r} goes by its own rule"
        raise BadInput(f"wishes: {scheme}: use replacement='optimal', or no wishes")


def _check_pairs(chosen: Mapping[str, Any]) -> None:
    schedule, method = chosen["schedule"], chosen["method"]
    if chosen["replacement"] != "optimal":
        for name in ("schedule", "method", "objective"):
            if chosen[name] not in ("default", "mpmf", "search", "traffic"):
                choice = f"{name}={chosen[name]!r} chooses the replacement too"
                raise BadInput(f"{choice}: use replacement='optimal'")
    if schedule == "dnc" and method == "ilp":
        raise BadInput("schedule='dnc' has a search of its own: use method='search'")
    if schedule != "dnc" and chosen["break_nodes"] != AUTO:
        raise BadInput("break_nodes are for divide and conquer: use schedule='dnc'")
    if chosen["solver"] != DEFAULTS["solver"] and method != "ilp":
        raise BadInput("solver is for the paper's ILP: use method='ilp'")
    if chosen["paper_strict"] and method != "ilp":
        raise BadInput("paper_strict is for the paper's ILP: use method='ilp'")
