"""How a joined plan runs its network: stretches of operators, each in one way, and why."""

from __future__ import annotations

from dataclasses import dataclass

POOL, FUSED, SPILLED = "pool", "fused groups", "whole tensors"


@dataclass(frozen=True, slots=True)
class JoinedStretch:
    """Operators from `first` to `last` of the default order, how they run, and why so."""

    first: str
    last: str
    how: str
    why: str
