"""Memories of a plan's file, byte by byte: whose a byte is, and which element it holds."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from tests.replay.needs import Array, Box, Refused, number, require, text

UNMADE = -1
"""What a byte holds that a piece has taken, while the piece is not complete."""


@dataclass(frozen=True)
class Operand:
    """A piece, a box of a tensor, in a region of a memory."""

    tensor: str
    box: Box
    memory: str
    offset: int | None
    size: int

    @property
    def elements(self) -> int:
        return prod(b - a for a, b in self.box)

    @property
    def piece(self) -> tuple[str, Box]:
        return self.tensor, self.box


@dataclass(frozen=True)
class Memory:
    """A memory of a program, as `docs/program.md` has it."""

    name: str
    size_bytes: int | None
    circular: bool = False
    offchip: bool = False
    addressed: bool = True
    parent: str | None = None
    base: int = 0
    level: str | None = None


class Memories:
    """All memories of a program, and the bytes that regions of them really are."""

    def __init__(self, data: Any) -> None:
        self.by_name = {item["name"]: Memory(**item) for item in data}
        require(len(self.by_name) == len(data), "two memories share a name")
        for memory in self.by_name.values():
            self._require_sense(memory)
        self._known: dict[tuple[str, int, int], Array] = {}

    def _require_sense(self, m: Memory) -> None:
        text(m.name), text(m.level or ""), number(m.base, 0)
        require({type(m.circular), type(m.offchip), type(m.addressed)} == {bool}, "no flag")
        size = None if m.size_bytes is None else number(m.size_bytes, 1 if m.circular else 0)
        require(size is not None or not m.circular, "a ring without end")
        require((size or 0) < 1 << 63, "a size that makes no sense")
        require(m.addressed or (m.offchip and m.parent is None), "a home on chip")
        if m.parent is None:
            require(size is not None or m.offchip or not m.addressed, "endless on chip")
            return
        above = self.root(m.name) and self.by_name[m.parent]
        require((m.offchip, m.addressed) == (above.offchip, above.addressed), "no such window")
        if above.size_bytes is not None:
            start = 0 if above.circular else m.base
            require(size is not None and start + size <= above.size_bytes, "no window within")

    def __getitem__(self, name: str) -> Memory:
        require(name in self.by_name, f"there is no memory {name!r:.40}")
        return self.by_name[name]

    def root(self, name: str) -> Memory:
        """The memory that a window is a window of, at last."""
        for _ in self.by_name:
            memory = self[name]
            if memory.parent is None:
                return memory
            name = memory.parent
        raise Refused(f"memory {name!r:.40} is above itself")

    def level(self, name: str) -> str:
        """The machine's memory that a memory is a part of."""
        return self.root(name).level or self.root(name).name

    def sizes(self) -> Counter[str]:
        """Bytes on chip by the machine's memories."""
        found: Counter[str] = Counter()
        for m in self.by_name.values():
            if m.parent is None and not m.offchip:
                found[m.level or m.name] += m.size_bytes or 0
        return found

    def addresses(self, where: Operand) -> Array:
        """Each byte of a region, by its address in the root memory."""
        name, offset, size = where.memory, where.offset, where.size
        require(self[name].addressed and offset is not None, f"no address in {name}")
        assert offset is not None
        key = (name, offset, size)
        if key not in self._known:
            require(offset >= 0 and size >= 0, f"{name}@{offset} is out of range")
            end = self[name].size_bytes
            inside = end is None or (size if self[name].circular else offset + size) <= end
            require(inside, f"{size} bytes at {offset} are out of range in {name}")
            at, memory = offset + np.arange(size), self[name]
            while True:
                if memory.circular and memory.size_bytes:
                    at = at % memory.size_bytes
                if memory.parent is None:
                    break
                at, memory = at + memory.base, self[memory.parent]
            self._known[key] = at
        return self._known[key]


@dataclass
class Stay:
    """A piece that lies in a memory: its bytes, and what of it is still to be made or added."""

    operand: Operand
    at: Array
    left: Array | None = None
    sums: bool = False


class Bytes:
    """A memory without a parent: of each byte whose it is, and which element it holds."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.stays: dict[int, Stay] = {}
        self.places: dict[tuple[str, Box], int] = {}
        self.owner, self.element = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self.held = self.most = self.extent = self.turn = 0

    def reach(self, at: Array) -> None:
        """Have an array entry for each address."""
        more = int(at.max()) + 1 - len(self.owner)
        if more > 0:
            self.owner = np.concatenate([self.owner, np.zeros(more, np.int64)])
            self.element = np.concatenate([self.element, np.full(more, UNMADE)])

    def take(self, stay: Stay) -> Stay:
        """Have a piece lie in bytes that are free, and nowhere else in this memory."""
        self.reach(stay.at)
        piece = stay.operand.piece
        require(not self.owner[stay.at].any(), f"{piece} overwrites what is there")
        require(piece not in self.places, f"{piece} is there already")
        self.turn += 1
        self.stays[self.turn], self.places[piece] = stay, self.turn
        self.owner[stay.at], self.element[stay.at] = self.turn, UNMADE
        self.held += len(stay.at)
        self.most = max(self.most, self.held)
        self.extent = max(self.extent, int(stay.at.max()) + 1)
        return stay

    def find(self, piece: Operand, at: Array) -> int:
        """The number of the residency of just this piece in just these bytes."""
        self.reach(at)
        turn = int(self.owner[at[0]])
        require(turn > 0 and bool((self.owner[at] == turn).all()), f"{piece.piece} is not there")
        stay = self.stays[turn]
        there = stay.operand.piece == piece.piece and np.array_equal(stay.at, at)
        require(there, f"{stay.operand.piece} is there, not {piece.piece}")
        return turn

    def free(self, at: Array) -> None:
        self.owner[at], self.element[at] = 0, UNMADE
        self.held -= len(at)
