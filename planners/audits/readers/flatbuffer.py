"""Tables of a flatbuffer by the numbers of their fields; references are measured before use.

For formats whose schema is published and whose own reader is not installed.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from planners.core.errors import BadInput
from planners.core.reading_limits import TABLE, NamedBytes


@dataclass(frozen=True, slots=True)
class FlatTable:
    """A table in `data` at `at`; a field that is left out is None or its default.

    Raises `BadInput` with `source` for whatever lies outside the file, and where tables name far
    more bytes than it has.
    """

    source: str
    data: bytes
    at: int
    named: NamedBytes

    @classmethod
    def root(cls, source: str, data: bytes) -> FlatTable:
        """The table that the first four bytes lead to."""
        start = cls(source, data, 0, NamedBytes(source, len(data)))
        return start._at(start._led(0))

    def number(self, field: int, kind: str, default: int = 0) -> int:
        """A scalar, `kind` as `struct` has it: `i`, `I`, `q`, `b`."""
        place = self._place(field)
        return default if place is None else self._unpacked(kind, place)

    def table(self, field: int) -> FlatTable | None:
        place = self._place(field)
        return None if place is None else self._at(self._led(place))

    def text(self, field: int) -> str:
        """A string; what is no UTF-8 in it is replaced."""
        place = self._place(field)
        if place is None:
            return ""
        start, count = self._vector(self._led(place), 1)
        return self.data[start : start + count].decode(errors="replace")

    def numbers(self, field: int, kind: str, most: int | None = None) -> tuple[int, ...]:
        """A vector of scalars, `most` of them. Raises `BadInput` for a longer one."""
        place = self._place(field)
        if place is None:
            return ()
        start, count = self._vector(self._led(place), struct.calcsize(f"<{kind}"))
        if most is not None and count > most:
            raise BadInput(f"{self.source}: a list of {count:,} entries is longer than {most}")
        return struct.unpack_from(f"<{count}{kind}", self.data, start)

    def tables(self, field: int) -> Iterator[FlatTable]:
        """A vector of tables."""
        place = self._place(field)
        if place is None:
            return
        start, count = self._vector(self._led(place), 4, TABLE)
        for k in range(count):
            yield self._at(self._led(start + 4 * k))

    def _at(self, at: int) -> FlatTable:
        return FlatTable(self.source, self.data, at, self.named)

    def _place(self, field: int) -> int | None:
        """Where a field lies, by the list of places in front of or behind the table."""
        tags = self.at - self._unpacked("i", self.at)
        if 4 + 2 * field >= self._unpacked("H", tags):
            return None
        place = self._unpacked("H", tags + 4 + 2 * field)
        return self.at + place if place else None

    def _led(self, place: int) -> int:
        return place + self._unpacked("I", place)

    def _vector(self, at: int, width: int, least: int = 0) -> tuple[int, int]:
        """Where the entries of a vector begin, and how many they are, of `least` bytes or more."""
        count = self._unpacked("I", at)
        if at + 4 + count * width > len(self.data):
            raise BadInput(f"{self.source} is broken: a list of {count:,} entries ends behind it")
        self.named.take(count * max(width, least))
        return at + 4, count

    def _unpacked(self, kind: str, at: int) -> int:
        if not 0 <= at <= len(self.data) - struct.calcsize(f"<{kind}"):
            raise BadInput(f"{self.source} is broken, or is cut short")
        value: int = struct.unpack_from(f"<{kind}", self.data, at)[0]
        return value
