"""C identifiers for the names of tensors and operators."""

from __future__ import annotations

import re
from collections.abc import Iterable


def identifiers(names: Iterable[str]) -> dict[str, str]:
    """A distinct identifier for each name, to stand behind a prefix such as `op_`.

    >>> identifiers(["features.0", "features_0", "x"])
    {'features.0': 'features_0', 'features_0': 'features_0_2', 'x': 'x'}
    """
    identifier_of: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        plain = re.sub(r"\W", "_", name, flags=re.ASCII) or "_"
        word, number = plain, 1
        while word in taken:
            number += 1
            word = f"{plain}_{number}"
        taken.add(word)
        identifier_of[name] = word
    return identifier_of


def comment(text: str) -> str:
    """Text that cannot end the comment it stands in, on one line, and reads as it is written: what
    turns the direction of writing, or is not seen, is shown by its number."""
    seen = "".join(c if c.isprintable() or c.isspace() else f"\\u{ord(c):04x}" for c in text)
    return " ".join(seen.split()).replace("*/", "* /").replace("/*", "/ *")
