"""Options as the first version of links named them; such links still open."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any

Read = Callable[[str], Any]


def option(name: str, text: str) -> tuple[str, Any] | None:
    """The key and the value of a former option; None for any other field.

    Raises `ValueError` for what could not be used.
    """
    if name not in OLD:
        return None
    key, read = OLD[name]
    return key, read(text)


def _one_of(*choices: Any) -> Read:
    def read(text: str) -> Any:
        value = type(choices[0])(text)
        if value not in choices:
            raise ValueError(text)
        return value

    return read


def _whole(least: int, most: int | None = None) -> Read:
    def read(text: str) -> int:
        value = int(text)
        if value < least or (most is not None and value > most):
            raise ValueError(text)
        return value

    return read


def _flag(text: str) -> bool:
    if text not in ("0", "1"):
        raise ValueError(text)
    return text == "1"


def _share(text: str) -> float:
    value = float(text)
    if not (isfinite(value) and 0 <= value <= 1e3):
        raise ValueError(text)
    return value


def _names(text: str) -> Any:
    if text == "auto":
        return text
    if not isinstance(names := json.loads(text), list):
        raise ValueError(text)
    return names


PIPELINES = ("exact", "pre", "seq", "sync", "async", "async-md", "2s", "2s-md")
FUSERS = ("no_fusion", "fused_layer", "dnnvm", "efficient_s")
SCHEMES = ("optimal", "belady", "greedy", "size_ordered", "hill_climb")
OLD: Mapping[str, tuple[str, Read]] = {
    "schedule": ("cosma.schedule", _one_of("default", "mpmf", "joint", "dnc")),
    "objective": ("cosma.objective", _one_of("traffic", "peak", "traffic_then_latency")),
    "break_nodes": ("cosma.break_nodes", _names),
    "replacement": ("cosma.replacement", _one_of(*SCHEMES)),
    "method": ("cosma.method", _one_of("search", "ilp")),
    "solver": ("cosma.solver", str),
    "paper_strict": ("cosma.paper_strict", _flag),
    "joint": ("fusion.joint", _flag),
    "online": ("fusion.online", _flag),
    "baseline": ("fusion.baseline", _one_of("", *FUSERS)),
    "bands": ("fusion.bands", _one_of(1, 2, 4, 8, 16)),
    "channel_tile": ("fusion.channel_tile", _whole(1, 65536)),
    "double_buffer": ("fusion.double_buffer", _flag),
    "free_local_layers": ("fusion.free_local_layers", _flag),
    "pool_objective": ("overlap.objective", _one_of("macs", "ram", "latency")),
    "fuse": ("overlap.fuse", _flag),
    "goal": ("auto.objective", _one_of("latency", "traffic", "energy", "memory")),
    "pipeline": ("streaming.pipeline", _one_of(*PIPELINES)),
    "stages": ("streaming.stages", _one_of(0, 2, 3)),
    "slices": ("streaming.slices", _whole(0, 4096)),
    "ring_bytes": ("streaming.ring", _whole(0)),
    "ring_step": ("streaming.step", _whole(1)),
    "twice": ("streaming.twice", _flag),
    "one_memory": ("streaming.joint", _flag),
    "times": ("streaming.times", _one_of("", "roofline")),
    "spread": ("streaming.spread", _share),
    "draws": ("streaming.draws", _whole(0, 100_000)),
}
"""The former name of each option, its name now, and which values a link could have."""
