"""One thing that happened in a step, in words."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sentence:
    """`mark` says of what sort, `text` says it; a tap selects the `tensor` or the fused `group`."""

    mark: str
    text: str
    tensor: str = ""
    group: str = ""
