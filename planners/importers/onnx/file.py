"""ONNX files read as untrusted data: bytes parsed, sizes and names checked.

Nothing but onnx's protobuf classes touches the bytes. A graph needs the shapes of weights, and
how often each value occurs in quantised ones. Of weights in files of their own, only small whole
numbers that shapes are computed from are read, and never outside the model's folder.
"""

from __future__ import annotations

import hashlib
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from planners.core.errors import BadInput

LARGEST_FILE = 2**31 - 1
"""Bytes; protobuf messages cannot be larger."""
MOST_NODES = 2**17
OLDEST_OPSET = 7
"""Before it, operators broadcast by attributes that nobody writes any more."""


@dataclass(frozen=True, slots=True)
class OnnxFile:
    """A parsed file: its graph, the nodes in an order that can run, and the operator sets.

    `constants` are the initialisers by name, as protobuf has them.
    """

    path: Path
    digest: str
    graph: Any
    nodes: tuple[Any, ...]
    constants: dict[str, Any]
    opsets: dict[str, int]
    ir_version: int

    @property
    def opset(self) -> int:
        """The version of the standard operators."""
        return self.opsets[""]

    def coded(self, name: str) -> NDArray[Any] | None:
        """The numbers of a quantised weight that lies in the file as bytes; None for any other."""
        tensor = self.constants.get(name)
        if tensor is None or not tensor.raw_data:
            return None
        return np.frombuffer(tensor.raw_data, np.uint8)


def read_onnx(path: str | Path) -> OnnxFile:
    """Read and check a file. Raises `BadInput` with its name and what is wrong."""
    path = Path(path)
    data = _bytes(path)
    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except Exception as error:  # protobuf's DecodeError; its classes differ between versions
        raise BadInput(f"{path} is not an ONNX file, or is cut short") from error
    if model.ir_version < 1 or not model.HasField("graph"):
        raise BadInput(f"{path} is not an ONNX file: it holds no graph")
    graph = model.graph
    if not all(isinstance(name, str) for each in graphs_in(graph) for name in _all_names(each)):
        raise BadInput(f"{path} is not an ONNX file: it has names that are not text")
    if not graph.node:
        raise BadInput(f"{path} has an empty graph: there is nothing to plan")
    count = sum(len(each.node) for each in graphs_in(graph))
    if count > MOST_NODES:
        raise BadInput(f"{path} has {count} nodes; {MOST_NODES} are the most")
    if model.functions:
        raise BadInput(
            f"{path} brings {len(model.functions)} functions of its own: write them out first, "
            "with onnx.inliner.inline_local_functions"
        )
    constants = _constants(graph, path)
    return OnnxFile(
        path=path,
        digest=hashlib.sha256(data).hexdigest(),
        graph=graph,
        nodes=in_order(graph, constants, path),
        constants=constants,
        opsets=_opsets(model, path),
        ir_version=int(model.ir_version),
    )


def label(node: Any) -> str:
    """A node as messages name it: `node 'conv1' (Conv)`."""
    name = node.name or (node.output[0] if node.output else "")
    return f"node {name!r:.80} ({node.op_type!r:.40})".replace("('", "(").replace("')", ")")


def check_location(tensor: Any, path: Path) -> None:
    """Refuse weights whose path lies outside the model's folder. Raises `BadInput`."""
    if tensor.data_location != onnx.TensorProto.EXTERNAL:
        return
    location = _external(tensor).get("location", "")
    for kind in (PurePosixPath, PureWindowsPath):
        place = kind(location)
        if not location or place.is_absolute() or place.drive or ".." in place.parts:
            raise BadInput(
                f"{path}: the data of {tensor.name!r:.80} is said to lie at {location!r:.80}, "
                "which is not inside the model's folder"
            )


def external_file(tensor: Any, path: Path) -> Path | None:
    """The file in which a tensor lies, None where it is not there. Raises `BadInput`."""
    check_location(tensor, path)
    folder = path.parent.resolve()
    try:
        file = (folder / _external(tensor)["location"]).resolve()
        return file if file.is_relative_to(folder) and file.is_file() else None
    except (OSError, ValueError):  # No file has such a name.
        return None


def external_bytes(tensor: Any, path: Path, count: int) -> bytes:
    """The first `count` bytes of a tensor that lies in another file. Raises `BadInput`."""
    file = external_file(tensor, path)
    if file is None:
        raise BadInput(f"{path}: the data of {tensor.name!r:.80} is not in the model's folder")
    try:
        offset = int(_external(tensor).get("offset", "0"))
        with file.open("rb") as stream:
            stream.seek(offset)
            data = stream.read(count)
    except (OSError, ValueError, OverflowError) as error:
        raise BadInput(f"{path}: cannot read the data of {tensor.name!r:.80}") from error
    if len(data) != count:
        raise BadInput(f"{path}: the data of {tensor.name!r:.80} is cut short")
    return data


def _external(tensor: Any) -> dict[str, str]:
    return {entry.key: entry.value for entry in tensor.external_data}


def _bytes(path: Path) -> bytes:
    try:
        if not path.is_file():
            raise BadInput(f"cannot read {path}: there is no such file")
        size = path.stat().st_size
        if size > LARGEST_FILE:
            raise BadInput(f"{path} has {size} bytes; an ONNX file has at most {LARGEST_FILE}")
        return path.read_bytes()
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from error


def _opsets(model: Any, path: Path) -> dict[str, int]:
    opsets = {("" if o.domain == "ai.onnx" else o.domain): o.version for o in model.opset_import}
    newest = onnx.defs.onnx_opset_version()
    if "" not in opsets:
        raise BadInput(f"{path} does not say which version of ONNX's operators it uses")
    if opsets[""] < OLDEST_OPSET:
        raise BadInput(
            f"{path} uses opset {opsets['']}, and {OLDEST_OPSET} is the oldest that can be read: "
            "export it anew, or use onnx.version_converter"
        )
    if opsets[""] > newest:
        raise BadInput(
            f"{path} uses opset {opsets['']}; onnx {onnx.__version__} knows those up to {newest}: "
            "pip install -U onnx, or export it for an older one"
        )
    return opsets


def _constants(graph: Any, path: Path) -> dict[str, Any]:
    """The initialisers by name; sparse ones by the tensor of their values, in their full shape."""
    constants: dict[str, Any] = {}
    for tensor in graph.initializer:
        _once(tensor.name, constants, path)
        check_location(tensor, path)
        constants[tensor.name] = tensor
    for sparse in graph.sparse_initializer:
        _once(sparse.values.name, constants, path)
        dense = onnx.TensorProto(name=sparse.values.name, data_type=sparse.values.data_type)
        dense.dims.extend(sparse.dims)
        constants[dense.name] = dense
    return constants


def graphs_in(graph: Any) -> Iterator[Any]:
    """A graph and those within its nodes: branches, and bodies of loops."""
    stack = [graph]
    while stack:
        each = stack.pop()
        yield each
        for node in each.node:
            stack += subgraphs(node)


def subgraphs(node: Any) -> list[Any]:
    """The graphs that a node holds."""
    graphs = []
    for attribute in node.attribute:
        graphs += attribute.graphs
        if attribute.HasField("g"):
            graphs.append(attribute.g)
    return graphs


def reads_of(node: Any) -> list[str]:
    """The values that a node reads, from within its graphs too."""
    names = dict.fromkeys(filter(None, node.input))
    for graph in subgraphs(node):
        inner_names = {tensor.name for tensor in graph.initializer} | {v.name for v in graph.input}
        inner_names |= {name for each in graph.node for name in each.output}
        inside = [name for each in graph.node for name in reads_of(each)]
        inside += [value.name for value in graph.output]
        names |= dict.fromkeys(name for name in inside if name not in inner_names)
    return list(names)


def _all_names(graph: Any) -> Iterator[Any]:
    """Every name; protobuf gives bytes for what is no text."""
    for node in graph.node:
        yield from (node.name, node.op_type, node.domain, *node.input, *node.output)
        yield from (attribute.name for attribute in node.attribute)
        yield from (text for entry in node.metadata_props for text in (entry.key, entry.value))
    for value in (*graph.input, *graph.output, *graph.value_info):
        yield value.name
        yield from (axis.dim_param for axis in value.type.tensor_type.shape.dim)
    for tensor in (*graph.initializer, *(sparse.values for sparse in graph.sparse_initializer)):
        yield tensor.name
        yield from (text for entry in tensor.external_data for text in (entry.key, entry.value))


def _once(name: str, taken: Iterable[str], path: Path) -> None:
    if not name:
        raise BadInput(f"{path} has a value without a name")
    if name in taken:
        raise BadInput(f"{path} gives the name {name!r:.80} to two values")


def in_order(
    graph: Any, constants: dict[str, Any], path: Path, outer: Container[str] = ()
) -> tuple[Any, ...]:
    """The nodes in the file's order, or in one that can run where the file's cannot.

    Every value has one writer; `outer` are those around a branch. Raises `BadInput` for a cycle
    and for what nothing writes.
    """
    values = dict.fromkeys(constants)
    inputs: set[str] = set()
    for value in graph.input:
        _once(value.name, inputs, path)
        inputs.add(value.name)
    values |= dict.fromkeys(inputs)
    written = set(values)
    for node in graph.node:
        for name in filter(None, node.output):
            _once(name, written, path)
            written.add(name)
    read = {name for node in graph.node for name in reads_of(node)}
    read |= {value.name for value in graph.output}
    around = {name for name in read - written if name in outer}
    values |= dict.fromkeys(around)
    written |= around
    for node in graph.node:
        for name in reads_of(node):
            if name not in written:
                raise BadInput(f"{path}: {label(node)} reads {name!r:.80}, which nothing writes")
    for value in graph.output:
        if value.name not in written:
            raise BadInput(f"{path}: nothing writes the output {value.name!r:.80}")
    return _sorted(graph.node, set(values), path)


def _sorted(nodes: Sequence[Any], ready: set[str], path: Path) -> tuple[Any, ...]:
    reads = [set(reads_of(node)) - ready for node in nodes]
    waits = [len(names) for names in reads]
    readers: dict[str, list[int]] = {}
    for i, names in enumerate(reads):
        for name in names:
            readers.setdefault(name, []).append(i)
    order: list[Any] = []
    done = [False] * len(nodes)
    for start in range(len(nodes)):
        stack = [start]
        while stack:
            i = stack.pop()
            if done[i] or waits[i]:
                continue
            done[i] = True
            order.append(nodes[i])
            for name in filter(None, nodes[i].output):
                for reader in readers.get(name, ()):
                    waits[reader] -= 1
                    if reader < start:  # passed over before: its turn now
                        stack.append(reader)
    if len(order) < len(nodes):
        stuck = label(nodes[done.index(False)])
        raise BadInput(f"{path}: {stuck} is in a cycle, or waits for one: it cannot run")
    return tuple(order)
