"""What onnx's own inference believes of a node, refused before it is asked.

It makes as many outputs as an attribute says, goes to an axis that no operand has, and takes an
equation apart for as long as that lasts: of a file of a few bytes it takes all memory and time that
there is, or ends the process (onnx 1.23.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from planners.core.errors import BadInput
from planners.importers.onnx.file import label

AXES = frozenset({"axis", "axes", "batch_axis", "time_axis"})
MOST_LETTERS = 1000
"""Of an equation: each axis of an operand is one."""


def require_believable(node: Any, ranks: Sequence[int], path: Path) -> None:
    """Raise `BadInput` for what onnx's inference is not to see; `ranks` are the operands'."""
    for attribute in node.attribute:
        if attribute.name == "num_outputs" and node.op_type == "Split":
            _require_outputs(node, attribute.i, path)
        elif attribute.name in AXES:
            _require_axes(node, [attribute.i, *attribute.ints], ranks, path)
        elif attribute.name == "batch_dims" and not 0 <= attribute.i <= max(ranks, default=0):
            raise BadInput(f"{path}: {label(node)} has {attribute.i} axes of batches")
        elif attribute.name == "equation":
            _require_equation(node, attribute.s, path)


def _require_outputs(node: Any, said: int, path: Path) -> None:
    if said != len(node.output):
        raise BadInput(
            f"{path}: {label(node)} says that it has {said} outputs and has {len(node.output)}"
        )


def _require_axes(node: Any, axes: Sequence[int], ranks: Sequence[int], path: Path) -> None:
    """Each an axis of an operand, or one that the node adds."""
    most = max(ranks, default=0) + len(axes)
    for axis in axes:
        if not -most <= axis <= most:
            raise BadInput(f"{path}: {label(node)} goes along axis {axis}, which nothing has")


def _require_equation(node: Any, equation: bytes, path: Path) -> None:
    """With one ellipsis an operand at most, and no longer than the operands have axes."""
    parts = equation.replace(b"->", b",").split(b",")
    if len(equation) > MOST_LETTERS or any(part.count(b".") > 3 for part in parts):
        raise BadInput(f"{path}: {label(node)} has an equation that no operands suit")
