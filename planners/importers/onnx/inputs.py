"""The inputs of an ONNX graph: shapes and types, in the file and as they are asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import onnx

from planners.core.element_types import ONNX_TYPES
from planners.core.errors import BadInput
from planners.importers.onnx.file import OnnxFile
from planners.importers.torch.aten_calls import NodeValue

LARGEST_INPUT = 2**28
"""Elements of an input beyond which its shape is taken for a slip."""
NAMELESS = frozenset({"none", "null", "unk", "unknown", "undefined", "dynamic"})
"""What exporters write for any open axis: such axes need not be of one size."""


@dataclass(frozen=True, slots=True)
class Value(NodeValue):
    """Shape and type of a value, and onnx's number of that type."""

    code: int


def input_values(
    file: OnnxFile, given: Sequence[Any] | Mapping[str, int] | None
) -> dict[str, Value]:
    """The inputs of the graph in the shapes given, where they agree with the file."""
    inputs = [value for value in file.graph.input if value.name not in file.constants]
    by_name, names = isinstance(given, Mapping), _names(inputs)
    shapes = _given(None if by_name else given, len(inputs), file)
    sizes = _sizes(given, names, file) if by_name else {}
    values = {}
    for value, shape in zip(inputs, shapes, strict=True):
        tensor = value.type.tensor_type
        if not value.type.HasField("tensor_type") or not tensor.elem_type:
            raise BadInput(f"{file.path}: the input {value.name!r:.80} is not a tensor")
        dtype = dtype_of(tensor.elem_type, value.name, file)
        if not tensor.HasField("shape") and shape is None:
            raise BadInput(f"{file.path}: the input {value.name!r:.80} has no shape; give one")
        axes = list(tensor.shape.dim) if tensor.HasField("shape") else []
        if shape is not None and tensor.HasField("shape") and len(shape) != len(axes):
            text = "x".join(map(str, shape))
            raise BadInput(
                f"{file.path}: the input {value.name!r:.80} has {len(axes)} axes, and {text} has "
                f"{len(shape)}"
            )
        if shape is not None and not axes:
            sized = shape
        else:
            named = [_axis(axis) for axis in axes]
            sized = _sized(named, shape, sizes, f"{file.path}: the input {value.name!r:.80}", names)
        if prod(sized) > LARGEST_INPUT:
            raise BadInput(
                f"{file.path}: the input {value.name!r:.80} has more than {LARGEST_INPUT} elements"
            )
        values[value.name] = Value(sized, dtype, tensor.elem_type)
    return values


def _given(given: Any, count: int, file: OnnxFile) -> list[tuple[int, ...] | None]:
    if given is None:
        return [None] * count
    wants = f"{file.path} takes {count} input shapes such as 1x3x224x224, not {given!r:.60}"
    if not isinstance(given, (list, tuple)) or not given:
        raise BadInput(wants)
    several = all(isinstance(shape, (list, tuple)) for shape in given)
    shapes = [tuple(shape) for shape in given] if several else [tuple(given)]
    if not all(type(n) is int and n >= 0 for shape in shapes for n in shape):
        raise BadInput(f"{wants}: a shape is whole numbers, none below zero")
    if len(shapes) > count:
        raise BadInput(wants)
    return [*shapes, *[None] * (count - len(shapes))]


def _names(inputs: list[onnx.ValueInfoProto]) -> list[str]:
    """What the file calls the axes that it leaves open."""
    axes = (_axis(axis) for value in inputs for axis in value.type.tensor_type.shape.dim)
    return list(dict.fromkeys(axis for axis in axes if isinstance(axis, str) and axis))


def _sizes(given: Any, names: list[str], file: OnnxFile) -> dict[str, int]:
    """Sizes of axes by the names that the file has for them."""
    for name, size in given.items():
        if name not in names:
            axes = ", ".join(map(repr, names)) or "no names"
            raise BadInput(f"{file.path}: no axis of its inputs is {name!r:.60}; it has {axes}")
        if type(size) is not int or size < 0:
            raise BadInput(f"{file.path}: {name!r:.60} is a whole number, not {size!r:.60}")
    return dict(given)


def _axis(axis: Any) -> int | str:
    """The size of an axis, or its name where the file leaves it open; empty for `?` and such."""
    if axis.dim_value > 0:
        return int(axis.dim_value)
    name = str(axis.dim_param)
    return "" if name.lower() in NAMELESS or not any(map(str.isalpha, name)) else name


def _sized(
    axes: list[int | str],
    shape: tuple[int, ...] | None,
    sizes: dict[str, int],
    what: str,
    names: list[str],
) -> tuple[int, ...]:
    """Sizes for all axes: those of the file, those given; a name stands for one size."""
    axis_sizes = []
    for at, axis in enumerate(axes):
        size = shape[at] if shape is not None else None
        if isinstance(axis, int):
            if size not in (None, axis):
                raise BadInput(f"{what} has {axis} as its axis {at} in the file, not {size}")
            axis_sizes.append(axis)
            continue
        size = sizes.get(axis) if size is None and axis else size
        if size is None:
            named = f"{axis!r:.60} (axis {at})" if axis else f"axis {at}"
            example = ", ".join(f"{name}=1" for name in names[:6])
            by_name = f", or sizes by name: {example}" if names else ""
            raise BadInput(f"{what} leaves {named} open: give input_shape (--input){by_name}")
        if axis and sizes.setdefault(axis, size) != size:
            raise BadInput(f"{what}: {axis!r:.60} is {sizes[axis]} elsewhere, not {size}")
        axis_sizes.append(size)
    return tuple(axis_sizes)


def dtype_of(code: int, name: str, file: OnnxFile) -> str:
    try:
        text = str(onnx.TensorProto.DataType.Name(code))
    except ValueError:
        text = "UNDEFINED"
    if text in ("UNDEFINED", "STRING"):
        raise BadInput(f"{file.path}: {name!r:.80} holds no numbers, which cannot be planned")
    return ONNX_TYPES.get(text, text.lower())
