"""A part of an operator from the part of its operands that it needs, windows with their padding.

A kernel runs on the whole of what it is given. For some rows of a convolution that is the window
of those rows, with zeros only where the window reaches past the input's edge. What is not known
here, or cut across a group of channels, is left to the caller.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import torch
from torch.nn import functional

from planners.core.access import BINARY, UNARY, detailed, is_local, needs
from planners.core.graph import Graph, Operator
from planners.core.program import Box
from planners.executor.calls import compute_calls
from planners.executor.windows import WINDOWS, PaddedWindow, Unknown, by_name
from planners.importers.torch.source_model import SourceModel

Fetch: TypeAlias = Callable[[str, Box], torch.Tensor]


def compute_part(
    model: SourceModel, graph: Graph, op: Operator, box: Box, fetch: Fetch
) -> torch.Tensor | None:
    """The box of an operator's output, or None where parts of it are not computed apart.

    `fetch` gives the elements of a box of an operand.
    """
    if detailed(op):
        return compute_calls(model, graph, op, box, fetch)
    if not _known(graph, op):
        return None
    needed = dict(needs(graph, op, op.outputs[0], box))
    if any(start == stop for axes in needed.values() for start, stop in axes):
        return None
    known = {name: fetch(name, part) for name, part in needed.items()}
    kinds = {part.name: part.kind for part in op.parts}

    def run(name: str, target: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if kinds[name] not in WINDOWS:
            return target(*args, **kwargs)
        given = by_name(target, args, kwargs)
        return _window(graph, op, box, needed[op.inputs[0]]).run(kinds[name], given)

    try:
        return model.evaluate(list(kinds), known, run)[op.outputs[0]]
    except Unknown:
        return None


def add_part(
    model: SourceModel, graph: Graph, op: Operator, box: Box, sums: tuple[int, int], fetch: Fetch
) -> torch.Tensor:
    """The products of these channels in a box of the output: a part of `access.reduced` sums."""
    needed = dict(needs(graph, op, op.outputs[0], box, sums, last=False))
    known = {name: fetch(name, part) for name, part in needed.items()}

    def run(name: str, target: Any, args: list[Any], kwargs: dict[str, Any]) -> torch.Tensor:
        given = {**by_name(target, args, kwargs), "bias": None}
        if op.kind == "linear":
            return functional.linear(given["input"], given["weight"])
        return _window(graph, op, box, needed[op.inputs[0]]).run(op.kind, given)

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
        bias = by_name(target, args, kwargs).get("bias")
        if bias is None:
            return total
        return total + bias.reshape(-1, *[1] * (0 if op.kind == "linear" else len(op.kernel)))

    return model.evaluate([part.name for part in op.parts], known, run)[op.outputs[0]]


def _known(graph: Graph, op: Operator) -> bool:
    if len(op.outputs) > 1 or not op.parts:
        return False
    kinds = {part.kind for part in op.parts}
    if kinds & BINARY and op.parameters and not kinds <= UNARY | BINARY:
        return False  # A parameter may be the weight, or broadcast to the output.
    return is_local(graph, op, graph.tensors[op.outputs[0]])


def _window(graph: Graph, op: Operator, box: Box, data: Box) -> PaddedWindow:
    sizes = graph.tensors[op.inputs[0]].shape[2:]
    return PaddedWindow(op, graph.tensors[op.outputs[0]].shape[1], sizes, box, data)
