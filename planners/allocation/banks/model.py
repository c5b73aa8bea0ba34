"""Lifetimes and the memories that may hold them; what is found, and what is proven of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from planners.allocation.problem.model import Lifetime
from planners.core.errors import BadInput

BankPlaces = Mapping[str, tuple[str, int]]
"""The memory's name and the offset in bytes of each lifetime, by id."""


@dataclass(frozen=True, slots=True)
class Bank:
    """A memory that tensors may lie in."""

    name: str
    size_bytes: int


@dataclass(frozen=True)
class BankProblem:
    """Lifetimes, each to lie in one of `banks`, the fastest first, for as long as it lives.

    `touched` has the bytes that are read and written of each while it lives, by id: those of its
    size where nothing is said. What is `pinned` goes to the bank of that name. Raises `BadInput`
    for banks without bytes, or of one name, and for what is larger than each of them or has gaps.
    """

    lifetimes: Sequence[Lifetime]
    banks: Sequence[Bank]
    touched: Mapping[str, int] = field(default_factory=dict)
    pinned: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        require_banks(self.banks)
        ids = [item.id for item in self.lifetimes]
        if len(set(ids)) < len(ids):
            twice = next(id for id in ids if ids.count(id) > 1)
            raise BadInput(f"two lifetimes have the id {twice!r}")
        for item in self.lifetimes:
            if item.gaps:
                raise BadInput(f"{item.id!r:.80} has gaps, which one memory alone can use")
            if not self.allowed(item):
                raise BadInput(self._too_large(item))

    def _too_large(self, item: Lifetime) -> str:
        begin = f"tensor {item.id!r:.80} has {item.size_bytes:,} bytes, more than "
        if item.id in self.pinned:
            return f"{begin}memory {self.pinned[item.id]!r:.80}, where it has to lie"
        largest = max(self.banks, key=lambda bank: bank.size_bytes)
        return f"{begin}each memory: {largest.name!r:.80} has {largest.size_bytes:,}"

    def allowed(self, item: Lifetime) -> tuple[int, ...]:
        """The banks by number that a lifetime may go to by itself, the fastest first."""
        wanted = self.pinned.get(item.id)
        return tuple(
            k
            for k, bank in enumerate(self.banks)
            if item.size_bytes <= bank.size_bytes and wanted in (None, bank.name)
        )

    def bytes_touched(self, item: Lifetime) -> int:
        return self.touched.get(item.id, item.size_bytes)

    def touched_in(self, places: BankPlaces) -> tuple[int, ...]:
        """Bytes read and written in each bank, in the order of the banks."""
        touched_bytes = {bank.name: 0 for bank in self.banks}
        for item in self.lifetimes:
            touched_bytes[places[item.id][0]] += self.bytes_touched(item)
        return tuple(touched_bytes.values())

    def cost(self, places: BankPlaces) -> tuple[int, ...]:
        """What is least, in this order: bytes touched in the slowest bank, in the one before, …"""
        return self.touched_in(places)[:0:-1]


def require_banks(banks: Sequence[Bank]) -> None:
    """Raise `BadInput` where memories are none, are without bytes, or share a name."""
    if not banks:
        raise BadInput("name at least one memory")
    names = [bank.name for bank in banks]
    for bank in banks:
        if bank.size_bytes < 1:
            raise BadInput(f"memory {bank.name!r:.80} has {bank.size_bytes} bytes: give it some")
        if names.count(bank.name) > 1:
            raise BadInput(f"two memories have the name {bank.name!r:.80}")


@dataclass(frozen=True, slots=True)
class Banked:
    """Where lifetimes lie; `unknown` means that time ended before a place for all was found.

    `touched` and `bounds` have bytes for each bank in the order of the banks: read and written, and
    proven to be no fewer in any plan that has no more in the slower ones. The fastest bank's bound
    is 0. Where infeasible, `conflict` names lifetimes that fit in no way, as far as it is known.
    """

    status: Literal["placed", "infeasible", "unknown"]
    places: BankPlaces
    touched: tuple[int, ...]
    bounds: tuple[int, ...]
    solver: str
    seconds: float
    conflict: tuple[str, ...] = ()

    @property
    def slow_bytes(self) -> int:
        """Bytes read and written in all banks but the fastest."""
        return sum(self.touched[1:])

    @property
    def bound_bytes(self) -> int:
        """What these are proven not to be below, slower banks first."""
        return sum(self.bounds[1:])

    @property
    def proven(self) -> bool:
        return self.status == "placed" and self.touched[1:] == self.bounds[1:]
