"""Which of several memories each tensor goes to: the fastest as full as it can be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from planners.allocation.portfolio import pack
from planners.allocation.problem.model import Lifetime, live_peak
from planners.allocation.tightest import pack_tightest
from planners.core.errors import BadInput
from planners.core.progress import Clock

BankPlaces = Mapping[str, tuple[int, int]]
TRIES = 40  # packings of one bank before tensors are taken out for good
EACH_S = 1.0


def in_banks(
    lifetimes: Sequence[Lifetime],
    capacities: Mapping[int, int],
    pinned: Mapping[str, int],
    known: Sequence[BankPlaces] = (),
    time_limit_s: float = 20.0,
) -> BankPlaces:
    """The bank and the offset of each, by id; `capacities` are in bytes, the fastest bank first.

    What is `pinned` goes where it is told. Of the ways that are tried, and of those that are
    `known`, the one that leaves fewest bytes to the slowest bank is taken, then to the one before.
    Raises `BadInput` where none is found.
    """
    clock = Clock(time_limit_s)
    ways, refused = list(known), ""
    for order in _orders(lifetimes):
        try:
            ways.append(_filled(order, capacities, pinned, clock))
        except BadInput as error:
            refused = str(error)
    if not ways:
        raise BadInput(refused)
    return min(ways, key=lambda way: _slow(way, lifetimes, capacities))


def _slow(
    way: BankPlaces, lifetimes: Sequence[Lifetime], capacities: Mapping[int, int]
) -> list[int]:
    """Bytes of tensors in each bank, the slowest first."""
    held = dict.fromkeys(capacities, 0)
    for item in lifetimes:
        held[way[item.id][0]] += item.size_bytes
    return [held[bank] for bank in reversed(capacities)]


def _orders(lifetimes: Sequence[Lifetime]) -> Iterator[list[Lifetime]]:
    """Whom the fast bank is offered to first: the large, the short-lived, those with both."""
    yield sorted(lifetimes, key=lambda t: -t.size_bytes)
    yield sorted(lifetimes, key=lambda t: (t.upper - t.lower, -t.size_bytes))
    yield sorted(lifetimes, key=lambda t: -t.size_bytes / (t.upper - t.lower))


def _filled(
    order: Sequence[Lifetime],
    capacities: Mapping[int, int],
    pinned: Mapping[str, int],
    clock: Clock,
) -> BankPlaces:
    """Each bank in turn takes what its load allows; what cannot be packed goes on."""
    left = [item for item in order if item.id not in pinned]
    placed: dict[str, tuple[int, int]] = {}
    for bank, capacity in capacities.items():
        held = [item for item in order if pinned.get(item.id) == bank]
        if live_peak(held)[0] > capacity:
            raise _too_small(held, bank, capacity)
        fixed = {item.id for item in held}
        for item in left:
            if item.size_bytes <= capacity and _peak_with(held, item) <= capacity:
                held.append(item)
        offsets = _packed(held, fixed, bank, capacity, clock)
        placed |= {id: (bank, at) for id, at in offsets.items()}
        left = [item for item in left if item.id not in offsets]
    if left:
        bank, capacity = list(capacities.items())[-1]
        raise _too_small(left, bank, capacity)
    return placed


def _peak_with(held: Sequence[Lifetime], item: Lifetime) -> int:
    """The most bytes live at once while `item` is, with it."""
    beside = [t for t in held if t.lower < item.upper and item.lower < t.upper]
    cut = [
        Lifetime(t.id, max(t.lower, item.lower), min(t.upper, item.upper), t.size_bytes)
        for t in beside
    ]
    return live_peak(cut)[0] + item.size_bytes


def _packed(
    held: list[Lifetime], fixed: set[str], bank: int, capacity: int, clock: Clock
) -> Mapping[str, int]:
    """Offsets of all that can be packed; the last that came are the first to leave."""
    for _ in range(TRIES):
        limit = max(0.05, min(EACH_S, clock.left_s / 4))
        packing = pack(held, capacity, time_limit_s=limit, explain=False)
        if packing.status == "packed":
            return packing.offsets
        tight = pack_tightest(held, time_limit_s=limit)
        if tight.extent_bytes <= capacity:
            return tight.offsets
        loose = [item for item in held if item.id not in fixed]
        if not loose:
            raise _too_small(held, bank, capacity)
        above = {i.id for i in loose if tight.offsets[i.id] + i.size_bytes > capacity}
        held = [item for item in held if item.id not in (above or {loose[-1].id})]
    kept = [item for item in held if item.id in fixed]
    return pack_tightest(kept, time_limit_s=EACH_S).offsets


def _too_small(items: Sequence[Lifetime], bank: int, capacity: int) -> BadInput:
    need = live_peak(items)[0]
    return BadInput(
        f"bank {bank} has {capacity:,} bytes; {need:,} are live at once that can go nowhere else: "
        "give it more, or name another bank"
    )
