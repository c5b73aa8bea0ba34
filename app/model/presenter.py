"""The presenter's layouts: which views a hall sees at a time. No Panel here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Layout:
    """One or two views, by the names of their boxes, under the sentences of the step."""

    words: str
    boxes: tuple[str, ...]
    sentences: bool = True


USUAL = "memory"
LAYOUTS: Mapping[str, Layout] = {
    USUAL: Layout("Memory", ("memory",)),
    "network": Layout("Network", ("graph-box",)),
    "network-memory": Layout("Network + memory", ("graph-box", "memory")),
    "time": Layout("Timeline", ("lanes",)),
    "memory-time": Layout("Memory + timeline", ("memory", "lanes")),
    "pool": Layout("Circular pool", ("pool",)),
    "streams": Layout("Rings", ("streams",)),
    "front": Layout("Pareto front", ("pareto-box",), sentences=False),
    "planners": Layout("All planners", ("planners",), sentences=False),
    "compared": Layout("Two plans", ("memory", "split-views"), sentences=False),
}
"""What the keys 1 to 9 and the presenter's bar offer; what is not on the page is left out there."""


def layout_of(targets: tuple[str, ...]) -> str:
    """The first layout that shows one of these boxes or their views; the usual where none does."""
    view_of = {"address-map": "memory", "occupancy": "memory"}
    boxes = {view_of.get(target, target) for target in targets}
    return next((name for name, one in LAYOUTS.items() if boxes & {*one.boxes}), USUAL)
