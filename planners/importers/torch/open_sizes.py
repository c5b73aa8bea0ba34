"""Exported programs in memory whose sizes are open, at the sizes of one run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import sympy  # type: ignore[import-untyped]
import torch
from torch.export.graph_signature import ConstantArgument, InputKind

from planners.core.errors import BadInput
from planners.importers.torch.size_expressions import GivenSize, Size, evaluated, solved

_NUMBERS = (torch.SymInt, torch.SymFloat, torch.SymBool)


def symbols_of(program: torch.export.ExportedProgram, label: str, inputs: Any) -> dict[str, int]:
    """The number of each symbol of a program: of its example, or of the arguments of a call.

    Raises `BadInput` for arguments that the program does not take.
    """
    nodes = {node.name: node for node in program.graph.nodes if node.op == "placeholder"}
    specs = [s for s in program.graph_signature.input_specs if s.kind == InputKind.USER_INPUT]
    leaves = [None] * len(specs) if inputs is None else torch.utils._pytree.tree_leaves(inputs)
    if len(leaves) != len(specs):
        names = ", ".join(spec.arg.name for spec in specs)
        raise BadInput(f"{label} takes {len(specs)} inputs ({names}), not {len(leaves)}")
    sizes: list[GivenSize] = []
    for spec, leaf in zip(specs, leaves, strict=True):
        name, value = spec.arg.name, nodes[spec.arg.name].meta.get("val")
        if isinstance(spec.arg, ConstantArgument):
            value = spec.arg.value
        sizes += _given(label, name, value, value if leaf is None else leaf)
    limits: Mapping[Any, Any] = program.range_constraints
    ranges = {str(key): (_end(one.lower), _end(one.upper)) for key, one in limits.items()}
    return solved(label, sizes, ranges)


def _end(bound: Any) -> int | None:
    return int(bound) if isinstance(bound, (int, sympy.Integer)) else None


def _given(label: str, name: str, value: Any, leaf: Any) -> Iterator[GivenSize]:
    """The sizes of an input; a number is its own size."""
    if isinstance(value, torch.Tensor):
        shape = tuple(getattr(leaf, "shape", ()))
        if len(shape) != value.dim():
            raise BadInput(f"{label}: {name} has {value.dim()} axes, not {len(shape)}")
        for axis, (size, dimension) in enumerate(zip(value.shape, shape, strict=True)):
            yield GivenSize(f"axis {axis} of {name}", _size(size), _hint(dimension))
    elif isinstance(value, (int, torch.SymInt)) and isinstance(leaf, (int, torch.SymInt)):
        yield GivenSize(name, _size(value), _hint(leaf))


def _size(size: Any) -> Size:
    return str(sympy.srepr(size.node.expr)) if isinstance(size, torch.SymInt) else int(size)


def _hint(size: Any) -> int | None:
    if not isinstance(size, torch.SymInt):
        return int(size)
    return int(size.node.hint) if size.node.has_hint() else None


def _is_open(size: Any) -> bool:
    return isinstance(size, torch.SymInt)


def number_at(value: Any, symbols: Mapping[str, int]) -> Any:
    """A size as a number; itself where the values of the input decide."""
    if not isinstance(value, _NUMBERS):
        return value
    try:
        return evaluated(sympy.srepr(value.node.expr), symbols)
    except KeyError:
        return value


def at_sizes(graph: Any, symbols: Mapping[str, int]) -> tuple[Any, dict[str, Any]]:
    """A graph whose values have numbers for sizes, and the numbers that its calls compute."""
    if not symbols:
        return graph, {}
    fixed = torch.fx.Graph()
    copies: dict[torch.fx.Node, torch.fx.Node] = {}
    numbers: dict[str, Any] = {}
    fixed.output(fixed.graph_copy(graph, copies))
    for old, new in copies.items():
        new.name = old.name  # fx would change those that Python has too
        value = old.meta.get("val")
        new.meta["val"] = torch.utils._pytree.tree_map(lambda v: with_numbers(v, symbols), value)
        number = number_at(value, symbols)
        if number is not value:
            numbers[new.name] = number
    return fixed, numbers


def with_numbers(value: Any, symbols: Mapping[str, int]) -> Any:
    """A tensor without data whose sizes are numbers, as far as they are known."""
    if not isinstance(value, torch.Tensor):
        return value
    sizes = [*value.shape, *value.stride()]
    numbers = [number_at(size, symbols) for size in sizes]
    if not any(map(_is_open, sizes)) or any(map(_is_open, numbers)):
        return value
    shape, strides = numbers[: value.dim()], numbers[value.dim() :]
    return torch.empty_strided(shape, strides, dtype=value.dtype, device="meta")
