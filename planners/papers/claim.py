"""What a paper states, beside what comes out here, and whether the two agree."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement, the paper's number and ours as they are written, and whether they agree.

    `remark`: why they differ, or how they are compared.
    """

    what: str
    paper: str
    ours: str
    agrees: bool
    remark: str = ""

    @property
    def verdict(self) -> str:
        return "reproduced" if self.agrees else f"differs: {self.remark}"


def yes(value: bool) -> str:
    """What does not hold is marked."""
    return "yes" if value else "**no**"
