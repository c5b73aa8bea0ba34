"""One thing that happened in a step, in words."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sentence:
    """`mark` says of what sort, `text` is the sentence; a tap selects the `tensor` or fused
    `group`."""

    mark: str
    text: str
    tensor: str = ""
    group: str = ""
