"""Names of blocks as one short text for a link: the prefix shared with the name before is a number.

`layer1, layer1.0, layer1.1, fc` is `0.layer1~1.0~1.1~0.fc`, once they are sorted.
"""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import unquote

MARK, ESCAPED = "~", (("%", "%25"), ("~", "%7E"))


def blocks_text(names: Collection[str]) -> str:
    """The text of some names, sorted and without duplicates."""
    items: list[str] = []
    before: list[str] = []
    for name in sorted(set(names)):
        parts = name.split(".")
        shared = 0
        while shared < min(len(before), len(parts) - 1) and before[shared] == parts[shared]:
            shared += 1
        rest = ".".join(parts[shared:])
        for sign, code in ESCAPED:
            rest = rest.replace(sign, code)
        items.append(f"{shared}.{rest}")
        before = parts
    return MARK.join(items)


def blocks_named(text: str) -> list[str]:
    """The names in a text that `blocks_text` wrote. Raises `ValueError` for anything else."""
    names: list[str] = []
    before: list[str] = []
    for item in text.split(MARK) if text else ():
        shared, _, rest = item.partition(".")
        if not 0 <= int(shared) <= len(before):
            raise ValueError(text)
        before = [*before[: int(shared)], *unquote(rest).split(".")]
        names.append(".".join(before))
    return names
