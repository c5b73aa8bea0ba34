"""The solver's progress as it is kept for a plot. No Panel here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Moment = dict[str, Any]
MOMENTS = 2000


def best_so_far(before: Mapping[str, Any], now: Moment) -> Moment:
    """A moment with the best plan and bound so far: each stage reports only its own."""
    best = [m["incumbent_bytes"] for m in (before, now) if m.get("incumbent_bytes") is not None]
    bound = [m["bound_bytes"] for m in (before, now) if m.get("bound_bytes") is not None]
    moment = {**now, "incumbent_bytes": min(best, default=None)}
    return {**moment, "bound_bytes": max(bound, default=None)}


def remembered(history: list[Moment], now: Moment) -> list[Moment]:
    """The recorded moments with what is new in one more."""
    moment = {"stage": now["stage"], "at_s": now["at_s"]}
    moment["best"], moment["bound"] = now.get("incumbent_bytes"), now.get("bound_bytes")
    last = history[-1] if history else {}
    if all(moment[name] == last.get(name) for name in ("stage", "best", "bound")):
        return history
    return [*history[-MOMENTS:], moment]
