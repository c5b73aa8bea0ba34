"""What every value of an ONNX graph is: shape, type, and its numbers where shapes need them.

One walk over the nodes: what is known of a node's operands goes to onnx's own shape inference,
node by node, so that sizes which a file computes (Shape, Gather, Concat, Reshape) are known when
the next node needs them. Such numbers are small; weights are never looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper
from onnx.shape_inference import InferenceError, infer_node_outputs

from planners.core.errors import BadInput
from planners.importers.onnx.branches import branch_nodes
from planners.importers.onnx.contributed import (
    BLOCKED,
    DOMAIN,
    SINCE,
    blocked_shape,
    channels_first,
    in_floats,
    is_channels_last,
    standard_form,
    type_of,
    with_type,
)
from planners.importers.onnx.file import (
    OnnxFile,
    check_location,
    external_bytes,
    external_file,
    label,
    reads_of,
    subgraphs,
)
from planners.importers.onnx.fold import FOLDS, Array
from planners.importers.onnx.fused import Fused, fused
from planners.importers.onnx.inputs import Value, dtype_of, input_values
from planners.importers.onnx.loop_rounds import (
    ended,
    goes_along_the_first_axis,
    kept_names,
    loop_round,
    rounds_done,
    scan_round,
)
from planners.importers.onnx.qonnx import is_fake_quantiser, quantised
from planners.importers.onnx.rules import (
    Shape,
    learned_values,
    not_inferred,
    require_believable,
    slid,
    with_default,
)

MOST_NUMBERS = 2**12
"""Elements of a value beyond which it is data, not a computed size."""
MOST_SIZES = 64
"""Elements of whole numbers beyond which they are no shape, axes or limits, but biases or such."""
MOST_IN_ROUNDS = 2**14
"""Nodes of rounds of loops, each round's again."""
MOST_AXES = 8
"""Elements of numbers with fractions that stand beside computed sizes, one an axis."""
MOST_HINTS = 32
"""Elements of a value with fractions beyond which it is no factors or limits of axes."""
STANDARD = ("", "ai.onnx")
_CONTROL = frozenset({"If", "Loop", "Scan", "SequenceMap"})
_WHOLE = frozenset("int64 int32 int16 int8 uint8 uint16 uint32 uint64 bool".split())
_NARROW = frozenset("int8 uint8 int16 uint16".split())
_FRACTIONS = frozenset({"float16", "float32", "float64"})
_LARGEST = 2**53
_UNSUITED = (LookupError, ValueError, TypeError, ArithmeticError)
"""What rules raise for operands and attributes that do not suit their operator."""


@dataclass(slots=True)
class Values:
    """Everything that is known of a graph's values.

    `of` maps a name to its value, `arrays` to the numbers in it where they are known, `folded` are
    those that nodes compute from other known numbers: no operator is left of such nodes. `hints`
    are few numbers with fractions, which may be a weight as well as the scales of a resize: they
    count where a size is inferred, and few of them beside numbers that were computed. `used`
    are the names that a node reads, and the outputs: nothing need be known of others. `nodes` are
    those of the file, with the branch that is taken in the place of an `If`, and each round in the
    place of a loop: `in_rounds` counts those.
    """

    of: dict[str, Value] = field(default_factory=dict)
    arrays: dict[str, Array] = field(default_factory=dict)
    hints: dict[str, Array] = field(default_factory=dict)
    folded: set[str] = field(default_factory=set)
    types: dict[str, Any] = field(default_factory=dict)
    parameters: set[str] = field(default_factory=set)
    used: frozenset[str] = frozenset()
    nodes: list[Any] = field(default_factory=list)
    in_rounds: int = 0

    def is_empty(self, name: str) -> bool:
        """Whether a value has no elements, as a cache has none before anything was said."""
        return not self.of[name].elements

    def known(self, name: str) -> Array | None:
        """The numbers in a value for computing sizes."""
        return self.arrays.get(name, self.hints.get(name))

    def number(self, name: str, beside_computed: bool) -> Array | None:
        """The numbers in an operand of arithmetic; of a few with fractions where it is on sizes."""
        hint = self.hints.get(name) if beside_computed else None
        few = hint is not None and hint.size <= MOST_AXES
        return self.arrays.get(name, hint if few else None)


def _used_names(file: OnnxFile) -> frozenset[str]:
    """The values that a node reads, and the outputs."""
    read = {name for node in file.nodes for name in reads_of(node)}
    return frozenset(read | {value.name for value in file.graph.output}) - {""}


def infer(file: OnnxFile, input_shape: Sequence[Any] | Mapping[str, int] | None) -> Values:
    """The values of a file for these input shapes. Raises `BadInput` naming what is not known."""
    values = Values()
    for name, tensor in file.constants.items():
        _add_constant(values, file, name, tensor)
    for name, value in input_values(file, input_shape).items():
        _add(values, file, name, value)
    values.used = _used_names(file)
    types = {v.name: v.type for v in (*file.graph.value_info, *file.graph.output)}
    names = {*values.of, *(name for node in file.nodes for name in node.output)}
    left = list(reversed(file.nodes))
    while left:
        node = left.pop()
        if node.op_type == "If" and node.domain in STANDARD:
            left += reversed(_branch(node, values, file, names))
            continue
        if node.op_type in ("Loop", "Scan") and node.domain in STANDARD:
            left += reversed(_round(node, values, file, names))
            continue
        try:
            plain = _rewritten(node, values, file, names)
            types |= _blocked(node, values, file)
        except _UNSUITED as error:
            raise BadInput(f"{file.path}: {label(node)} is malformed: {error!s:.80}") from error
        if plain:
            values.used |= {name for each in plain for name in reads_of(each)}
            left += reversed(plain)
            continue
        _node(node, values, file, types)
        values.nodes.append(node)
    return values


def _branch(node: Any, values: Values, file: OnnxFile, names: set[str]) -> list[Any]:
    """The nodes of the branch that a known condition takes. Raises `BadInput` for others."""
    condition = values.arrays.get(node.input[0]) if node.input else None
    if condition is None or condition.size != 1:
        raise BadInput(
            f"{file.path}: {label(node)} is control flow whose condition depends on data, which "
            "has no fixed schedule: export the model without it"
        )
    weights, nodes = branch_nodes(node, bool(condition.reshape(-1)[0]), names, file.path)
    for name, tensor in weights.items():
        check_location(tensor, file.path)
        _add_constant(values, file, name, tensor)
    values.used |= {name for each in nodes for name in reads_of(each)}
    return nodes


def _round(node: Any, values: Values, file: OnnxFile, names: set[str]) -> list[Any]:
    """The next round of a loop whose rounds are known, or what is left when they are over."""
    runs = _runs_on(node, values)
    if runs is None or not node.output:
        raise BadInput(
            f"{file.path}: {label(node)} is control flow whose rounds depend on data, which has no "
            "fixed schedule: export the model without it"
        )
    if not runs:
        next_round = ended(node, file.opset, names, file.path)
    else:
        next_round = (loop_round if node.op_type == "Loop" else scan_round)(node, names, file.path)
    values.in_rounds += len(next_round.nodes)
    if values.in_rounds > MOST_IN_ROUNDS:
        raise BadInput(f"{file.path}: its loops run more than {MOST_IN_ROUNDS} nodes")
    for name, tensor in next_round.constants.items():
        check_location(tensor, file.path)
        _add_constant(values, file, name, tensor)
    read = {name for each in next_round.nodes for name in reads_of(each)}
    values.used |= read | {name for each in next_round.nodes for name in kept_names(each)}
    return next_round.nodes


def _runs_on(node: Any, values: Values) -> bool | None:
    """Whether there is a next round; None where data decide."""
    done = rounds_done(node)
    if node.op_type == "Scan":
        rows = values.of.get(node.input[-1]) if node.input else None
        if rows is None or not rows.shape or not goes_along_the_first_axis(node):
            return None
        return done < rows.shape[0]
    given = [name or None for name in (*node.input[:2], "", "")[:2]]
    most, runs = (None if name is None else values.arrays.get(name) for name in given)
    if given == [None, None] or any(
        name is not None and (array is None or array.size != 1)
        for name, array in zip(given, (most, runs), strict=True)
    ):
        return None
    within = most is None or done < int(most.reshape(-1)[0])
    return within and (runs is None or bool(runs.reshape(-1)[0]))


def _rewritten(node: Any, values: Values, file: OnnxFile, names: set[str]) -> list[Any]:
    """The standard nodes that one of another domain stands for; none where it is none such."""
    if not node.input or node.input[0] not in values.of or not node.output:
        return []
    if is_channels_last(node):
        return channels_first(node, len(values.of[node.input[0]].shape), names)
    return _quantised(node, values, file, names) if is_fake_quantiser(node) else []


def _quantised(node: Any, values: Values, file: OnnxFile, names: set[str]) -> list[Any]:
    """The nodes of a fake quantiser; what it makes of a constant is one."""
    data = node.input[0]
    shape = values.of[data].shape if data in values.parameters else None
    numbers = {name: array for name in node.input if (array := values.known(name)) is not None}
    standard = quantised(node, shape, numbers, names)
    for name, (size, code) in standard.constants.items():
        _add(values, file, name, Value(size, dtype_of(code, name, file), code))
        values.parameters.add(name)
        if not size:
            values.arrays[name] = np.zeros((), values.of[name].dtype)
    return standard.nodes


def _blocked(node: Any, values: Values, file: OnnxFile) -> dict[str, Any]:
    """The type of an image that a node lays out in blocks of channels; nothing for other nodes."""
    if (node.domain, node.op_type) != (BLOCKED, "ReorderInput"):
        return {}
    value = values.of[node.input[0]]
    shape = blocked_shape(node, value.shape, file.nodes, values.types)
    return {node.output[0]: onnx.helper.make_tensor_type_proto(value.code, shape)}


def _add(values: Values, file: OnnxFile, name: str, value: Value) -> None:
    if value.elements > _LARGEST:
        raise BadInput(f"{file.path}: {name!r:.80} has more than 2**53 elements")
    values.of[name] = value
    values.types[name] = onnx.helper.make_tensor_type_proto(value.code, value.shape)


def _add_constant(values: Values, file: OnnxFile, name: str, tensor: Any) -> None:
    """A weight, or the number it holds where sizes may be computed from it."""
    shape = tuple(int(n) for n in tensor.dims)
    if any(n < 0 for n in shape):
        raise BadInput(f"{file.path}: {name!r:.80} has an axis of negative size")
    value = Value(shape, dtype_of(tensor.data_type, name, file), tensor.data_type)
    _add(values, file, name, value)
    values.parameters.add(name)
    if tensor.data_location == onnx.TensorProto.EXTERNAL and _may_stay_unread(tensor, value, file):
        return
    if value.dtype in _WHOLE and value.elements <= MOST_NUMBERS:
        values.arrays[name] = _array(tensor, value, file)
    elif value.dtype in _FRACTIONS and value.elements <= MOST_HINTS:
        place = values.arrays if value.elements == 1 else values.hints
        place[name] = _array(tensor, value, file)


def _may_stay_unread(tensor: Any, value: Value, file: OnnxFile) -> bool:
    """Whether what lies in another file is no size: quantised weights, and, where that file was
    left behind, biases and the like."""
    if value.dtype in _NARROW and value.elements > 1:
        return True
    return value.elements > MOST_SIZES and external_file(tensor, file.path) is None


def _array(tensor: Any, value: Value, file: OnnxFile) -> Array:
    try:
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            kind = np.dtype(value.dtype)
            data = external_bytes(tensor, file.path, value.elements * kind.itemsize)
            array: Array = np.frombuffer(data, kind.newbyteorder("<")).astype(kind)
        else:
            array = numpy_helper.to_array(tensor)
        return array.reshape(value.shape)
    except (ValueError, TypeError) as error:
        raise BadInput(f"{file.path}: {tensor.name!r:.80} does not hold what it says") from error


def _node(node: Any, values: Values, file: OnnxFile, types: Mapping[str, Any]) -> None:
    """The values that one node gives."""
    if node.op_type in _CONTROL or subgraphs(node):
        raise BadInput(
            f"{file.path}: {label(node)} is control flow, which has no fixed schedule: export "
            "the model without it"
        )
    if node.op_type == "Constant" and node.domain in STANDARD:
        return _constant_node(node, values, file)
    inferred = _inferred(node, values, file)
    operands = [(v.shape, v.code) for v in map(values.of.get, node.input) if v is not None]
    standard = node.domain in STANDARD
    by_rule = not_inferred(node.op_type, operands) if standard else None
    window = _slid(node, operands, file) if standard and operands else None
    ruled = learned_values(node, operands) | _fused_values(node, values, file, types)
    for name in filter(None, node.output):
        value = _complete((inferred or {}).get(name)) or ruled.get(name) or by_rule
        value = value or _complete(types.get(name))
        if window is not None:
            value = window, (value or operands[0])[1]
        if value is None:
            if name not in values.used:
                continue
            raise BadInput(
                f"{file.path}: the shape of {name!r:.80} is not known: {label(node)} "
                + ("is no standard operator" if inferred is None else "computes it from data")
                + "; if it is fixed, write it into the file (value_info)"
            )
        if any(n < 0 for n in value[0]):
            raise BadInput(f"{file.path}: {label(node)} gives {name!r:.80} a negative size")
        _add(values, file, name, Value(value[0], dtype_of(value[1], name, file), value[1]))
    if node.op_type == "Split" and node.domain in STANDARD:
        _fold_pieces(node, values)
    else:
        _fold(node, values, file)


def fused_node(node: Any, values: Values, file: Path) -> Fused | None:
    """What an operator that computes several at once gives. Raises `BadInput` naming it."""
    operands = [(v.shape, v.code) if v else None for v in map(values.of.get, node.input)]
    try:
        return fused(node, operands)
    except _UNSUITED as error:
        raise BadInput(f"{file}: {label(node)} does not suit its operands: {error}") from error


def _fused_values(
    node: Any, values: Values, file: OnnxFile, stated: Mapping[str, Any]
) -> dict[str, tuple[Shape, int]]:
    """Shape and type of all that such a node gives: those in the file before those of the rule,
    for some depend on data."""
    operator = fused_node(node, values, file.path)
    pairs = zip(node.output, operator.values, strict=False) if operator else ()
    types = {name: _complete(stated.get(name)) or value for name, value in pairs if name}
    return {name: value for name, value in types.items() if value is not None}


def _slid(node: Any, operands: list[tuple[Shape, int]], file: OnnxFile) -> Shape | None:
    attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    try:
        return slid(node.op_type, attributes, [shape for shape, _ in operands])
    except (KeyError, ValueError, IndexError, TypeError, ZeroDivisionError) as error:
        raise BadInput(f"{file.path}: {label(node)} has a window that does not suit it") from error


def _constant_node(node: Any, values: Values, file: OnnxFile) -> None:
    """A constant that is written as a node: a weight like any other."""
    attributes = {a.name: a for a in node.attribute}
    name = node.output[0] if len(node.output) == 1 else ""
    if "value" in attributes and name:
        tensor = attributes["value"].t
        check_location(tensor, file.path)
    elif "sparse_value" in attributes and name:
        sparse = attributes["sparse_value"].sparse_tensor
        tensor = onnx.TensorProto(name=name, data_type=sparse.values.data_type)
        tensor.dims.extend(sparse.dims)
    else:
        tensor = _plain(attributes, name)
    if tensor is None:
        raise BadInput(f"{file.path}: {label(node)} holds no numbers")
    _add_constant(values, file, name, tensor)


def _plain(attributes: Mapping[str, Any], name: str) -> Any:
    forms: dict[str, Callable[[Any], Array]] = {
        "value_int": lambda a: np.array(a.i, np.int64),
        "value_ints": lambda a: np.array(a.ints, np.int64),
        "value_float": lambda a: np.array(a.f, np.float32),
        "value_floats": lambda a: np.array(a.floats, np.float32),
    }
    for form, read in forms.items():
        if form in attributes and name:
            return numpy_helper.from_array(read(attributes[form]), name)
    return None


def _inferred(
    node: Any, values: Values, file: OnnxFile, standard: bool = True
) -> dict[str, Any] | None:
    """The types that onnx infers; None for an operator that it does not know.

    Where it is only like a `standard` one, bytes are taken for the numbers they stand for.
    """
    plain = standard_form(node)
    if plain is not None and plain.op_type == node.op_type and node.domain == DOMAIN:
        return _inferred(plain, values, file)
    if plain is not None:
        if not plain.input or plain.input[0] not in values.of:
            raise BadInput(f"{file.path}: {label(node)} is malformed: it reads nothing")
        first = values.of[plain.input[0]].code
        types = _inferred(plain, values, file, standard=False) or {}
        return {name: with_type(value, type_of(node, first)) for name, value in types.items()}
    domain = "" if node.domain in STANDARD else node.domain
    version = max(file.opsets.get(domain, 1), SINCE.get(node.op_type, 1))
    try:
        schema = onnx.defs.get_schema(node.op_type, version, domain)
    except onnx.defs.SchemaError:
        return None
    names = list(dict.fromkeys(filter(None, node.input)))
    require_believable(node, [len(values.of[name].shape) for name in names], file.path)
    numbers = ((name, values.known(name)) for name in names)
    data = {n: numpy_helper.from_array(array, n) for n, array in numbers if array is not None}
    try:
        return infer_node_outputs(
            schema,
            with_default(node),
            {n: values.types[n] if standard else in_floats(values.types[n], node) for n in names},
            data if standard else {},
            opset_imports=[onnx.helper.make_opsetid(d, v) for d, v in file.opsets.items()],
            ir_version=file.ir_version,
        )
    except (
        InferenceError,
        onnx.checker.ValidationError,
        RuntimeError,
        ValueError,
        TypeError,
        MemoryError,
    ) as error:
        lines = [line for line in str(error).splitlines() if line.strip()] or ["it is malformed"]
        raise BadInput(f"{file.path}: {label(node)} does not do: {lines[0].strip()}") from error


def _complete(inferred: Any) -> tuple[tuple[int, ...], int] | None:
    """Shape and type, where all of both is known."""
    if inferred is None or not inferred.HasField("tensor_type"):
        return None
    tensor = inferred.tensor_type
    if not tensor.elem_type or not tensor.HasField("shape"):
        return None
    if not all(axis.HasField("dim_value") for axis in tensor.shape.dim):
        return None
    return tuple(int(axis.dim_value) for axis in tensor.shape.dim), tensor.elem_type


def _fold_pieces(node: Any, values: Values) -> None:
    """The pieces of numbers that sizes are computed from, as paddle2onnx takes a padding apart."""
    array = values.arrays.get(node.input[0])
    if array is None or array.dtype not in (np.int64, np.int32):
        return
    if not all(name in values.of for name in node.output):
        return
    axis = next((int(a.i) for a in node.attribute if a.name == "axis"), 0)
    ends = np.cumsum([values.of[name].shape[axis] for name in node.output])
    for name, piece in zip(node.output, np.split(array, ends[:-1], axis), strict=True):
        values.arrays[name] = piece
        values.folded.add(name)


def _fold(node: Any, values: Values, file: OnnxFile) -> None:
    """Compute what a node gives where it is small and all that it needs is known."""
    fold = FOLDS.get(node.op_type) if node.domain in STANDARD else None
    names = [name for name in node.output if name]
    if fold is None or len(names) != 1 or names[0] not in values.of:
        return
    if values.of[names[0]].elements > MOST_NUMBERS:
        return
    shapes = [values.of[name].shape if name else None for name in node.input]
    computed = not values.folded.isdisjoint(node.input)
    arrays = [values.number(n, computed) for n in node.input]
    lacking = any(array is None and name for array, name in zip(arrays, node.input))
    if lacking and node.op_type not in ("Shape", "Size"):
        return
    value = values.of[names[0]]
    if value.dtype not in _WHOLE | _FRACTIONS:
        return
    attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    try:
        with np.errstate(all="ignore"):
            result = np.asarray(fold(arrays, attributes, shapes, value))
            array: NDArray[Any] = result.astype(value.dtype).reshape(value.shape)
    except (ValueError, IndexError, TypeError, OverflowError, KeyError, AttributeError) as error:
        raise BadInput(f"{file.path}: {label(node)} cannot be computed: {error}") from error
    values.arrays[names[0]] = array
    values.folded.add(names[0])
