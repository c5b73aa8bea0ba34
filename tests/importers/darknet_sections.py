"""Which section of a Darknet file each operator of its graph computes."""

from __future__ import annotations

import re

from planners.core.graph import Operator


def section_of(operator: Operator) -> tuple[int, str] | None:
    """Number and kind of the Darknet section that an operator computes; None without one.

    A section has one operator or several, or none: routes of one layer, heads, dropout.
    """
    match = re.match(r"(\d+)_([a-z]+)", operator.block)
    return (int(match.group(1)), match.group(2)) if match else None
