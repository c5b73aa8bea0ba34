"""What reading a file may take: one limit for all readers, on the command line, in Python and on
the page.

A small file can say that it is large: unpacked it is a thousand times as long, a list names the
same entries again and again, of a constant it holds the places of a few elements. What a reader
makes of a file is counted here before it is made, and nothing is measured while it runs.
"""

from __future__ import annotations

import os
import warnings
from typing import Any

from planners.core.errors import BadInput
from planners.core.units import parse_size

NAME = "SPILLWAY_READ_MEMORY"
"""The environment variable that sets the limit, for instance "4 GiB"."""
USUAL_BYTES = 2**30
MOST_RATIO, ALWAYS_UNPACKED = 100, 2**24
"""Texts are packed to a thirtieth at best; of so few bytes nobody asks how they were packed."""
MOST_NAMED, ALWAYS_NAMED = 3, 2**19
"""Bytes of lists that a file's tables may name, in its own bytes: some share a few of them."""
FAIR = 20
"""JSON of our own becomes a dozen times its bytes: a file that is large may become as large."""
TABLE = 16
"""Bytes of a table in a list, and of where it is: none has fewer."""
LIST, PLACE, NUMBER, DICT, TEXT = 64, 8, 32, 240, 56
"""Bytes of Python's lists, of a place in one, of numbers, dicts of an entry and short texts."""
TOML_SHARE = 32
"""No TOML becomes more than so many times its bytes, but for dotted names."""
DOTTED = 128
"""Bytes that TOML's reader keeps for each part of each beginning of a dotted name."""

_worker_bytes = 0


def limit_worker(memory_bytes: int) -> None:
    """Let readers of this process, which may hold so many bytes, take half of them at most."""
    global _worker_bytes
    _worker_bytes = memory_bytes // 2


def most_bytes() -> int:
    """Bytes that what is read of a file may take."""
    most = USUAL_BYTES
    if named := os.environ.get(NAME):
        try:
            most = parse_size(named)
        except BadInput as error:
            warnings.warn(f"{NAME}: {error}; the usual limit holds", stacklevel=2)
    return min(most, _worker_bytes) if _worker_bytes else most


def require_room(source: object, size_bytes: int) -> None:
    """Raise `BadInput` where what a file becomes takes more bytes than it may."""
    if size_bytes > (most := most_bytes()):
        raise BadInput(
            f"{source}: reading it takes about {size_bytes:,} bytes, and {most:,} are the most "
            f"({NAME}=8GiB in the environment lets it take more)"
        )


def most_unpacked(packed_bytes: int, most: int) -> int:
    """Bytes that so many packed ones may become: `most`, and fewer where they are few."""
    return min(most, max(ALWAYS_UNPACKED, MOST_RATIO * packed_bytes))


class NamedBytes:
    """Counts the bytes of all lists that the tables of a file name: tables may share them, and a
    file of a megabyte names as many as it likes."""

    def __init__(self, source: object, file_bytes: int) -> None:
        self.source, self.most = source, max(ALWAYS_NAMED, MOST_NAMED * file_bytes)
        self.named = 0

    def take(self, count_bytes: int) -> None:
        """Count them. Raises `BadInput` where they are more than any such file names."""
        self.named += count_bytes
        if self.named > self.most:
            raise BadInput(
                f"{self.source} is broken: its tables name lists of more than {self.most:,} bytes "
                "in all, the same ones again and again"
            )


def json_bytes(text: str | bytes) -> int:
    """Bytes that JSON takes once it is read, or some more."""
    data = text if isinstance(text, bytes) else text.encode("utf-8", "replace")
    lists, dicts, commas, quotes = map(data.count, (b"[", b"{", b",", b'"'))
    entries = commas + lists + dicts
    return len(data) + LIST * lists + DICT * dicts + (PLACE + NUMBER) * entries + TEXT // 2 * quotes


def parsed_json(text: str | bytes, source: object, **options: Any) -> Any:
    """The values in JSON. Raises `ValueError` or `RecursionError` where it is none, and `BadInput`
    where they take more memory than they may, and more than its bytes account for."""
    import json

    if (size_bytes := json_bytes(text)) > FAIR * len(text):
        require_room(source, size_bytes)
    return json.loads(text, **options)


def parsed_toml(text: str, source: object) -> dict[str, Any]:
    """The same of TOML."""
    import tomllib

    dots = sum(line.count(".") ** 2 for line in text.splitlines())
    require_room(source, DOTTED * dots + TOML_SHARE * len(text))
    return tomllib.loads(text)
