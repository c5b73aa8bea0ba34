"""Convolutions and pools on a part of their data, with padding only where the whole has some."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch.nn import functional

from planners.core.access import CONVOLUTIONS, POOLS
from planners.core.graph import Operator
from planners.core.program import Box

WINDOWS = CONVOLUTIONS | POOLS


class Unknown(Exception):
    """This part cannot be computed apart."""


def by_name(target: Any, args: list[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call by the names of its schema, defaults included."""
    schema = getattr(target, "_schema", None)
    if schema is None:
        raise Unknown
    names = [argument.name for argument in schema.arguments]
    defaults = {a.name: a.default_value for a in schema.arguments if a.has_default_value()}
    return {**defaults, **dict(zip(names, args)), **kwargs}


class PaddedWindow:
    """The window of a part: what its kernel must be padded with, along each spatial axis.

    `channels` and `sizes` are the whole output's and the whole input's.
    """

    def __init__(
        self, op: Operator, channels: int, sizes: tuple[int, ...], box: Box, data: Box
    ) -> None:
        self.op, self.channels, self.sizes, self.box = op, channels, sizes, box
        self.margins = [
            _margins(*item)
            for item in zip(
                box[2:], data[2:], op.kernel, op.stride, op.padding, op.dilation, strict=True
            )
        ]

    def run(self, kind: str, given: Mapping[str, Any]) -> torch.Tensor:
        """The kernel of this kind on the window. Raises `Unknown`."""
        if kind in CONVOLUTIONS:
            return self._convolve(given)
        return self._largest(kind, given) if kind.startswith("max") else self._mean(kind, given)

    def _padded(self, data: torch.Tensor, value: float = 0.0) -> torch.Tensor:
        pads = [margin for pair in reversed(self.margins) for margin in pair]
        return functional.pad(data, pads, value=value) if any(pads) else data

    def _convolve(self, given: Mapping[str, Any]) -> torch.Tensor:
        op = self.op
        run = getattr(functional, f"conv{len(op.kernel)}d")
        data, weight, bias = self._padded(given["input"]), given["weight"], given.get("bias")
        result: torch.Tensor = run(data, weight, bias, op.stride, 0, op.dilation, self._groups())
        return result

    def _groups(self) -> int:
        """The groups that the box's channels touch, where it has all channels of each or of one."""
        each = self.channels // self.op.groups
        start, stop = self.box[1]
        count = (stop - 1) // each - start // each + 1
        if count > 1 and (start % each or stop % each):
            raise Unknown
        return count

    def _largest(self, kind: str, given: Mapping[str, Any]) -> torch.Tensor:
        op = self.op
        data = self._padded(given["self"], -torch.inf)
        result: torch.Tensor = getattr(functional, kind)(data, op.kernel, op.stride, 0, op.dilation)
        return result

    def _mean(self, kind: str, given: Mapping[str, Any]) -> torch.Tensor:
        """Sums over how many elements count: a window past the padding has fewer."""
        op, axes = self.op, len(self.op.kernel)
        if axes == 1:
            raise Unknown
        data = self._padded(given["self"])
        total: torch.Tensor = getattr(functional, kind)(
            data, op.kernel, op.stride, divisor_override=1
        )
        if given.get("divisor_override"):
            return total / float(given["divisor_override"])
        beyond = bool(given.get("count_include_pad", True))
        counts = torch.ones(())
        for axis in range(axes):
            line = self._counted(axis, beyond)
            counts = counts.unsqueeze(-1) * line
        return total / counts

    def _counted(self, axis: int, beyond: bool) -> torch.Tensor:
        op, size = self.op, self.sizes[axis]
        low, high = (-op.padding[axis], size + op.padding[axis]) if beyond else (0, size)
        starts = [y * op.stride[axis] - op.padding[axis] for y in range(*self.box[2 + axis])]
        spans = [min(s + op.kernel[axis], high) - max(s, low) for s in starts]
        return torch.tensor(spans, dtype=torch.float32)


class TransposedWindow:
    """The window of a transposed convolution: what of it lies in a box, from the data seen there.

    `channels` are the whole output's, `data` the box of what is seen.
    """

    def __init__(self, op: Operator, channels: int, box: Box, data: Box) -> None:
        self.op, self.box, self.data = op, box, data
        self.first = box[1][0] // (channels // op.groups)
        self.each = channels // op.groups
        self.groups = (box[1][1] - 1) // self.each - self.first + 1

    def run(self, given: Mapping[str, Any]) -> torch.Tensor:
        """The kernel without a bias."""
        op = self.op
        run = getattr(functional, f"conv_transpose{len(op.kernel)}d")
        result: torch.Tensor = run(
            given["input"],
            given["weight"],
            None,
            op.stride,
            groups=self.groups,
            dilation=op.dilation,
        )
        if self.groups > 1:  # Of one group there are the channels that are wanted.
            start, stop = (at - self.first * self.each for at in self.box[1])
            result = result[:, start:stop]
        amounts: list[int] = []
        for (start, stop), (low, _), s, p, n in zip(
            self.box[2:], self.data[2:], op.stride, op.padding, result.shape[2:], strict=True
        ):
            before = low * s - p - start
            amounts[:0] = [before, stop - start - before - n]
        return functional.pad(result, amounts)


def _margins(
    rows: tuple[int, int], data: tuple[int, int], k: int, s: int, p: int, d: int
) -> tuple[int, int]:
    """Elements missing before and after the data for these rows."""
    start, stop = rows[0] * s - p, (rows[1] - 1) * s - p + d * (k - 1) + 1
    missing = stop - start - (data[1] - data[0])
    before = min(max(0, data[0] - start), missing)
    return before, missing - before
