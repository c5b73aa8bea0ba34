"""Plans in several memories: each tensor lies in one of them, and slow ones are used least."""

from __future__ import annotations

from collections.abc import Sequence

import planners as sp
from app.display.banks import banks_of, regions_of, room_in, several
from app.display.displayed_plan import DisplayedPlan
from app.display.stream import ShownRegion
from app.kinds.kind import Card
from app.kinds.whole_tensors import WholeKind, latency_card, traffic_card
from planners.core.units import format_bytes

THROUGH = "bytes that operators and transfers read and write there: the fewer, the faster"


class BanksKind(WholeKind):
    """One memory is on the map at a time; cards say what goes through each."""

    def made(self, shown: DisplayedPlan) -> bool:
        return several(shown)

    def aim(self, plan: sp.Plan) -> str:
        return f"bytes through {' and '.join(plan.slow_memories)}"

    def cards(self, shown: DisplayedPlan) -> list[Card]:
        return cards_of(shown)

    def regions(self, shown: DisplayedPlan) -> Sequence[ShownRegion]:
        return regions_of(shown)

    def room(self, shown: DisplayedPlan, memory: str) -> int:
        return room_in(shown, memory)


def cards_of(shown: DisplayedPlan) -> list[Card]:
    """What goes through each slow memory, and how much of the fast one is used."""
    fast, *slow = banks_of(shown)
    used = f"{fast.name}, {fast.extent_bytes / fast.size_bytes:.0%}"
    all_of_it = f"highest address in use, of {format_bytes(fast.size_bytes)}"
    return [
        *(
            Card(format_bytes(bank.touched_bytes), f"through {bank.name}", "through", THROUGH)
            for bank in slow
        ),
        traffic_card(shown),
        Card(format_bytes(fast.extent_bytes), f"peak of {used}", "peak", all_of_it),
        latency_card(shown),
    ]
