"""A part of an operator from the part of its operands that it needs, windows with their padding.

A kernel runs on the whole of what it is given. For some rows of a convolution that is the window
of those rows, with zeros only where the window reaches past the input's edge. What is not known
here, or cut across a group of channels, is left to the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.nn import functional

from planners.graph.access import (
    BINARY,
    CONVOLUTIONS,
    FLATTENING,
    NORMS,
    POOLS,
    UNARY,
    is_local,
    needs,
)
from planners.graph.importers.source_model import SourceModel
from planners.graph.model import Graph, Operator
from planners.program import Box

WINDOWS = CONVOLUTIONS | POOLS
PLAIN = UNARY | BINARY | NORMS | {"cat", "layer_norm", "linear"}
REARRANGING = FLATTENING | {"transpose", "permute"}
Fetch = Callable[[str, Box], torch.Tensor]


class Unknown(Exception):
    """This part cannot be computed apart."""


def compute_part(
    model: SourceModel, graph: Graph, op: Operator, box: Box, fetch: Fetch
) -> torch.Tensor | None:
    """The box of an operator's output, or None where parts of it are not computed apart.

    `fetch` gives the elements of a box of an operand.
    """
    if not _known(graph, op, box):
        return None
    needed = dict(needs(graph, op, op.outputs[0], box))
    if any(start == stop for axes in needed.values() for start, stop in axes):
        return None
    known = {}
    for name in (*op.inputs, *op.parameters):
        shape = graph.tensors[name].shape
        if name in needed:
            known[name] = fetch(name, needed[name])
        else:  # a concatenation of which only other operands are wanted
            known[name] = torch.empty((*shape[:1], 0, *shape[2:]))
    kinds = {part.name: part.kind for part in op.parts}

    def run(name: str, target: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        kind = kinds.get(name)
        if kind == "cat":
            return torch.cat([item for item in args[0] if item.numel()], *args[1:], **kwargs)
        if kind in WINDOWS:
            given = _by_name(target, args, kwargs)
            return Window(graph, op, box, needed[op.inputs[0]]).run(kind, given)
        return target(*args, **kwargs)

    try:
        made = model.evaluate(list(kinds), known, run)[op.outputs[0]]
    except (Unknown, RuntimeError):  # A view may ask for sizes that a part has not.
        return None
    return _trimmed(made, graph.tensors[op.outputs[0]].shape, box)


def add_part(
    model: SourceModel, graph: Graph, op: Operator, box: Box, sums: tuple[int, int], fetch: Fetch
) -> torch.Tensor:
    """The products of these channels in a box of the output: a part of `access.reduced` sums."""
    needed = dict(needs(graph, op, op.outputs[0], box, sums, last=False))
    known = {name: fetch(name, part) for name, part in needed.items()}

    def run(name: str, target: Any, args: list[Any], kwargs: dict[str, Any]) -> torch.Tensor:
        given = {**_by_name(target, args, kwargs), "bias": None}
        if op.kind == "linear":
            return functional.linear(given["input"], given["weight"])
        return Window(graph, op, box, needed[op.inputs[0]]).run(op.kind, given)

    first = op.parts[0].name
    return model.evaluate([first], known, run)[first]


def finish_sum(
    model: SourceModel, graph: Graph, op: Operator, box: Box, total: torch.Tensor, fetch: Fetch
) -> torch.Tensor:
    """A box of the output from the sum of all parts: bias, norm and activation."""
    first, data = op.parts[0].name, op.inputs[0]
    # Nothing of the data or the weight is read again.
    known = {data: torch.empty(0)}
    for name, part in needs(graph, op, op.outputs[0], box, (0, 0)):
        empty = any(start == stop for start, stop in part)
        known[name] = torch.empty(0) if empty else fetch(name, part)

    def run(name: str, target: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if name != first:
            return target(*args, **kwargs)
        bias = _by_name(target, args, kwargs).get("bias")
        if bias is None:
            return total
        return total + bias.reshape(-1, *[1] * (0 if op.kind == "linear" else len(op.kernel)))

    return model.evaluate([part.name for part in op.parts], known, run)[op.outputs[0]]


def _known(graph: Graph, op: Operator, box: Box) -> bool:
    if len(op.outputs) > 1 or not op.parts:
        return False
    out, kinds = graph.tensors[op.outputs[0]], {part.kind for part in op.parts}
    if kinds & BINARY and op.parameters and not kinds <= UNARY | BINARY:
        return False  # A parameter may be the weight, or broadcast to the output.
    if is_local(graph, op, out):
        return kinds <= PLAIN | WINDOWS
    if op.kind == "adaptive_avg_pool2d":
        return _all_rows(out.shape, box) and kinds <= UNARY | {op.kind}
    if not kinds <= PLAIN | CONVOLUTIONS | REARRANGING:
        return False
    return op.kind in ("cat", "layer_norm", "linear") or _all_rows(out.shape, box)


def _all_rows(shape: tuple[int, ...], box: Box) -> bool:
    return all(axis == (0, n) for axis, n in zip(box[2:], shape[2:], strict=True))


def _by_name(target: Any, args: list[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call by the names of its schema, defaults included."""
    schema = getattr(target, "_schema", None)
    if schema is None:
        raise Unknown
    names = [argument.name for argument in schema.arguments]
    defaults = {a.name: a.default_value for a in schema.arguments if a.has_default_value()}
    return {**defaults, **dict(zip(names, args)), **kwargs}


def _trimmed(made: torch.Tensor, shape: tuple[int, ...], box: Box) -> torch.Tensor:
    """The box alone, where an axis came out whole."""
    cut = [
        slice(*axis) if size == full and axis != (0, full) else slice(None)
        for axis, size, full in zip(box, made.shape, shape, strict=True)
    ]
    return made[tuple(cut)]


class Window:
    """The window of a part: what its kernel must be padded with, along each spatial axis."""

    def __init__(self, graph: Graph, op: Operator, box: Box, data: Box) -> None:
        self.op, self.box = op, box
        self.sizes = graph.tensors[op.inputs[0]].shape[2:]
        self.channels = graph.tensors[op.outputs[0]].shape[1]
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
        made: torch.Tensor = run(data, weight, bias, op.stride, 0, op.dilation, self._groups())
        return made

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
        made: torch.Tensor = getattr(functional, kind)(data, op.kernel, op.stride, 0, op.dilation)
        return made

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


def _margins(
    rows: tuple[int, int], data: tuple[int, int], k: int, s: int, p: int, d: int
) -> tuple[int, int]:
    """Elements missing before and after the data for these rows."""
    start, stop = rows[0] * s - p, (rows[1] - 1) * s - p + d * (k - 1) + 1
    missing = stop - start - (data[1] - data[0])
    before = min(max(0, data[0] - start), missing)
    return before, missing - before
