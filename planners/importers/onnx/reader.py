"""ONNX files as graphs; nothing in a file is executed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from planners.core.element_types import Width, width_of_file
from planners.core.errors import BadInput
from planners.core.graph import GRANULARITIES, Graph, Tensor
from planners.importers.padding import graph_of
from planners.importers.passes import CallTrace


def from_onnx(
    path: str | Path,
    input_shape: Sequence[Any] | Mapping[str, int] | None = None,
    granularity: str = "fused",
    bytes_per_element: Width | None = None,
    fold_padding: bool = True,
) -> Graph:
    """The graph of an ONNX file, its default schedule the order of its nodes.

    `input_shape` (one shape, one an input, or sizes by the names that the file has for its axes:
    `{"batch": 1, "sequence": 16}`) gives the sizes that the file leaves open. A value without
    elements, as a cache is at first, is not in the graph. Shapes that the file computes from shapes
    are followed. Tensors keep their names; weights are parameters, but for operands of arithmetic
    that are one number. Patterns that exporters write out (SiLU, GELU, layer norm, attention) are
    one operator, as in the model that they came from.
    With `fold_padding` a `Pad` in front of convolutions and pools alone is their padding.
    What has no counterpart in PyTorch's words is an opaque operator that needs all of its operands
    and counts no MACs: the graph's source lists them under `opaque`. Weights in files of their own
    stay unread.

    Raises `BadInput` with file and node for what is no ONNX file or cannot be planned: control
    flow, sizes that depend on data, unknown sizes, cycles.
    """
    if granularity not in GRANULARITIES:
        raise BadInput(f"granularity {granularity!r} is not one of {', '.join(GRANULARITIES)}")
    from planners.importers.torch.ops import opaque_named

    try:
        trace, source, opaque = _trace(path, input_shape)
    except UnicodeDecodeError as error:
        raise BadInput(f"{path} is not an ONNX file: it has names that are not text") from error
    try:
        graph = graph_of(
            trace,
            granularity,
            bytes_per_element=width_of_file(bytes_per_element),
            source=source,
            fold_padding=fold_padding,
        )
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from error
    if not graph.operators:
        raise BadInput(f"{path}: its inputs reach no operator; there is nothing to plan")
    return opaque_named(graph, opaque)


def _trace(
    path: str | Path, input_shape: Sequence[Any] | Mapping[str, int] | None
) -> tuple[CallTrace, dict[str, Any], frozenset[str]]:
    """The calls of a file, what its graph's `source` says, and the kinds of calls not known."""
    from planners.importers.entropy import with_entropy
    from planners.importers.onnx.calls import read_calls
    from planners.importers.onnx.file import read_onnx
    from planners.importers.onnx.patterns import combine
    from planners.importers.onnx.values import infer

    file = read_onnx(path)
    values = infer(file, input_shape)
    traced = read_calls(file, values)
    given = [v.name for v in file.graph.input if v.name not in file.constants]
    names = [name for name in given if not values.is_empty(name)]
    inputs = [Tensor(n, values.of[n].shape, "input", values.of[n].dtype) for n in names]
    available = {*names, *traced.calls, *traced.parameters}
    outputs = tuple(traced.resolve(value.name) for value in file.graph.output)
    outputs = tuple(name for name in outputs if name in available)
    source: dict[str, Any] = {
        "onnx": {"file": file.path.name, "sha256": file.digest, "opset": file.opset},
        "input_shape": [list(values.of[name].shape) for name in given],
    }
    calls = combine(traced, outputs)
    parameters = with_entropy(traced.parameters.values(), file.coded)
    trace = CallTrace(file.path.stem, tuple(inputs), parameters, calls, outputs)
    return trace, source, frozenset(traced.opaque)
