"""Places at once: each bank in turn takes, in some order, what its load allows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from planners.allocation.banks.model import Bank, BankPlaces, BankProblem
from planners.allocation.portfolio import pack
from planners.allocation.problem.model import Lifetime, live_peak
from planners.allocation.tightest import pack_tightest
from planners.core.errors import BadInput
from planners.core.progress import Clock

TRIES = 40  # packings of one bank before tensors are taken out for good
EACH_S = 1.0


def orders(problem: BankProblem) -> Iterator[list[Lifetime]]:
    """Whom the fast bank is offered to first: the busy, the short-lived, those with both."""
    busy = problem.bytes_touched
    keys: tuple[Callable[[Lifetime], Any], ...] = (
        lambda t: -t.size_bytes,
        lambda t: (t.upper - t.lower, -t.size_bytes),
        lambda t: -busy(t) / (t.upper - t.lower),
        lambda t: -busy(t) / ((t.upper - t.lower) * max(1, t.size_bytes)),
    )
    for key in keys:
        yield sorted(problem.lifetimes, key=key)


def filled(problem: BankProblem, order: Sequence[Lifetime], clock: Clock) -> BankPlaces:
    """Places with the first of `order` in the fast banks; what cannot be packed goes on.

    Raises `BadInput` where what is left does not fit in the last bank.
    """
    pinned = problem.pinned
    left = [item for item in order if item.id not in pinned]
    placed: dict[str, tuple[str, int]] = {}
    for bank in problem.banks:
        held = [item for item in order if pinned.get(item.id) == bank.name]
        if live_peak(held)[0] > bank.size_bytes:
            raise _too_small(held, bank)
        fixed = {item.id for item in held}
        for item in left:
            if item.size_bytes <= bank.size_bytes and _peak_with(held, item) <= bank.size_bytes:
                held.append(item)
        offsets = _packed(held, fixed, bank, clock)
        placed |= {id: (bank.name, at) for id, at in offsets.items()}
        left = [item for item in left if item.id not in offsets]
    if left:
        raise _too_small(left, problem.banks[-1])
    return placed


def _peak_with(held: Sequence[Lifetime], item: Lifetime) -> int:
    """The most bytes live at once while `item` is, with it."""
    beside = [t for t in held if t.lower < item.upper and item.lower < t.upper]
    cut = [
        Lifetime(t.id, max(t.lower, item.lower), min(t.upper, item.upper), t.size_bytes)
        for t in beside
    ]
    return live_peak(cut)[0] + item.size_bytes


def _packed(held: list[Lifetime], fixed: set[str], bank: Bank, clock: Clock) -> Mapping[str, int]:
    """Offsets of all that can be packed; the last that came are the first to leave."""
    for _ in range(TRIES):
        limit = max(0.05, min(EACH_S, clock.left_s / 4))
        packing = pack(held, bank.size_bytes, time_limit_s=limit, explain=False)
        if packing.status == "packed":
            return packing.offsets
        tight = pack_tightest(held, time_limit_s=limit)
        if tight.extent_bytes <= bank.size_bytes:
            return tight.offsets
        loose = [item for item in held if item.id not in fixed]
        if not loose:
            raise _too_small(held, bank)
        above = {i.id for i in loose if tight.offsets[i.id] + i.size_bytes > bank.size_bytes}
        held = [item for item in held if item.id not in (above or {loose[-1].id})]
    kept = [item for item in held if item.id in fixed]
    return pack_tightest(kept, time_limit_s=EACH_S).offsets


def _too_small(items: Sequence[Lifetime], bank: Bank) -> BadInput:
    need = live_peak(items)[0]
    return BadInput(
        f"memory {bank.name!r:.80} has {bank.size_bytes:,} bytes; {need:,} are live at once that "
        "can go nowhere else: give it more, or name another memory"
    )
