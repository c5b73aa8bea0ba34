"""The nodes of an ONNX graph as the calls of a trace, in the words of the torch importer."""

from __future__ import annotations

import re
from typing import Any

from planners.core.errors import BadInput
from planners.importers.onnx.aten import aten
from planners.importers.onnx.file import OnnxFile, label
from planners.importers.onnx.node import OnnxNode
from planners.importers.onnx.values import Values
from planners.importers.torch.aten_calls import Aten, Calls, CallWriter

_MALFORMED = (AttributeError, LookupError, TypeError, ValueError, ArithmeticError)
_SCOPES = "pkg.torch.onnx.name_scopes"
_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'")


def read_calls(file: OnnxFile, values: Values) -> Calls:
    """All calls of a file. Nodes that compute known numbers give none, but constants if read."""
    writer = CallWriter(values)
    for proto in values.nodes:
        if proto.op_type == "Constant" or set(proto.output) & values.folded:
            continue
        try:
            node = OnnxNode(proto, values, file.opset)
            if not all(map(values.is_empty, node.outputs)):
                calls = aten(node)
                writer.add(node, [_opaque(writer, node)] if calls is None else calls, _block(proto))
        except _MALFORMED as error:  # attributes and operands that onnx lets pass
            why = f"{error}".replace("\n", " ")
            raise BadInput(f"{file.path}: {label(proto)} is malformed: {why:.80}") from error
    return writer.found


def _opaque(writer: CallWriter, node: OnnxNode) -> Aten:
    kind = ".".join(filter(None, (node.proto.domain, node.proto.op_type)))
    sizes = node.values.folded | {name for name in node.inputs if node.is_number(name)}
    return writer.opaque(kind, [name for name in node.inputs if name not in sizes])


def _block(node: Any) -> str:
    """The module path that an exporter wrote down: `layer1.0` for `/layer1/layer1.0/Add`."""
    for entry in node.metadata_props:
        if entry.key == _SCOPES:
            scopes = _QUOTED.findall(entry.value)[:-1]
            return scopes[-1] if scopes else ""
    path: list[str] = []
    for scope in filter(None, node.name.split("/")[:-1]):
        if path and scope.startswith(path[-1] + "."):
            path.pop()
        path.append(scope)
    return ".".join(path)
