"""The nodes of an ONNX graph as the calls of a trace, in the words of the torch importer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from planners.core.errors import BadInput
from planners.core.graph import Tensor
from planners.importers.onnx.aten import aten
from planners.importers.onnx.file import OnnxFile, label
from planners.importers.onnx.node import BEFORE, Aten, OnnxNode
from planners.importers.onnx.values import Values
from planners.importers.passes import Call
from planners.importers.torch import ops as torch_ops
from planners.importers.torch import relations as torch_relations
from planners.importers.torch.macs import macs as count_macs

_MALFORMED = (AttributeError, LookupError, TypeError, ValueError, ArithmeticError)
_SCOPES = "pkg.torch.onnx.name_scopes"
_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'")


@dataclass(slots=True)
class Calls:
    """Calls in order, the weights that they read, and what is worth knowing of them.

    `now` maps a value to the one that it is the same as. `said` holds the arguments of calls,
    `opaque` the kinds of those that nothing is known of, so that they need all of their operands;
    `names` are those of all values.
    """

    calls: dict[str, Call] = field(default_factory=dict)
    parameters: dict[str, Tensor] = field(default_factory=dict)
    said: dict[str, Aten] = field(default_factory=dict)
    now: dict[str, str] = field(default_factory=dict)
    opaque: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)

    def fresh(self, name: str) -> str:
        """A name like this one that no value has."""
        while name in self.names:
            name += "'"
        self.names.add(name)
        return name

    def resolve(self, name: str) -> str:
        """The value that a name stands for."""
        return self.now.get(name, name)


def read_calls(file: OnnxFile, values: Values) -> Calls:
    """All calls of a file. Nodes that compute known numbers give none, but constants if read."""
    reader = _GraphReader(values, file.opset, Calls(names=set(values.of)))
    for node in values.nodes:
        if node.op_type == "Constant" or set(node.output) & values.folded:
            continue
        try:
            reader.node(node)
        except _MALFORMED as error:  # attributes and operands that onnx lets pass
            why = f"{error}".replace("\n", " ")
            raise BadInput(f"{file.path}: {label(node)} is malformed: {why:.80}") from error
    return reader.found


@dataclass(slots=True)
class _GraphReader:
    values: Values
    opset: int
    found: Calls

    def node(self, proto: Any) -> None:
        node = OnnxNode(proto, self.values, self.opset)
        if not node.outputs:
            return
        said = aten(node)
        if said is None:
            said = [self._opaque(node)]
        if not said:
            self.found.now[node.outputs[0]] = self.found.resolve(node.input(0))
            return
        before, block = "", _block(proto)
        for step, what in enumerate(said):
            last = step == len(said) - 1
            name = node.outputs[0] if last else self.found.fresh(f"{node.outputs[0]}.{step}")
            operands = {k: before if v == BEFORE else v for k, v in what.operands.items()}
            if last and (len(node.outputs) > 1 or what.splits is not None):
                self._several(node, what, operands, block)
            else:
                shape = node.out if last or what.shape is None else what.shape
                self._record(name, shape, what, operands, block)
            before = name

    def _opaque(self, node: OnnxNode) -> Aten:
        kind = ".".join(filter(None, (node.proto.domain, node.proto.op_type)))
        self.found.opaque.add(kind)
        sizes = self.values.folded | {name for name in node.inputs if node.is_number(name)}
        names = (name for name in node.inputs if name not in sizes)
        return Aten(kind, {f"input{i}": name for i, name in enumerate(names)}, relation=())

    def _record(
        self,
        name: str,
        shape: tuple[int, ...] | None,
        what: Aten,
        operands: Mapping[str, str],
        block: str,
    ) -> None:
        """One call; its shape is None where it gives several values."""
        operands = {key: self._operand(value) for key, value in operands.items()}
        reads = tuple(dict.fromkeys(operands.values()))
        shapes = {key: self.values.of[value].shape for key, value in operands.items()}
        kind, args, out = what.kind, {**what.args, **what.operands}, shape or ()
        relation, unary = what.relation, what.unary
        if relation is None:
            relation = torch_relations.relation(kind, args, out, shapes, len(reads))
        tensor = None
        if shape is not None:
            dtype = self._dtype(name, reads)
            tensor = Tensor(name, shape, "activation", dtype)
            if name not in self.values.of:
                source = self.values.of[reads[0]]
                self.values.of[name] = type(source)(shape, dtype, source.code)
        self.found.said[name] = what
        self.found.calls[name] = Call(
            name,
            kind,
            reads,
            tensor,
            view=torch_ops.is_view(kind, args),
            unary=torch_ops.is_unary(kind, len(reads)) if unary is None else unary,
            macs=count_macs(kind, args, out, shapes) if what.macs is None else what.macs,
            window=torch_ops.window(kind, args, shapes),
            relation=relation,
            block=block,
        )

    def _dtype(self, name: str, reads: Sequence[str]) -> str:
        known = self.values.of.get(name) or self.values.of[reads[0]]
        return known.dtype

    def _several(self, node: OnnxNode, what: Aten, operands: Mapping[str, str], block: str) -> None:
        """A call that gives several values, and the calls that pick them out."""
        whole = self.found.fresh(f"{node.outputs[0]}.all")
        self._record(whole, None, what, operands, block)
        at = 0
        view = torch_ops.is_view(what.kind, what.args)
        for name in node.proto.output:
            if what.splits is None and name not in self.values.used:
                continue
            shape, dtype = self.values.of[name].shape, self.values.of[name].dtype
            relation: tuple[str | int, ...] = ()
            if what.splits is not None:
                relation = ("slice", what.splits, at, 1)
                at += shape[what.splits]
            if name in self.values.used:
                tensor = Tensor(name, shape, "activation", dtype)
                self.found.calls[name] = Call(
                    name, "getitem", (whole,), tensor, view=view, item=True, relation=relation
                )

    def _operand(self, name: str) -> str:
        """What an operand reads: a value, a weight, or numbers as a constant of their own."""
        name = self.found.resolve(name)
        value = self.values.of[name]
        if name in self.values.parameters:
            self.found.parameters.setdefault(
                name, Tensor(name, value.shape, "parameter", value.dtype)
            )
        elif name in self.values.folded and name not in self.found.calls:
            tensor = Tensor(name, value.shape, "activation", value.dtype)
            self.found.calls[name] = Call(name, "constant", (), tensor)
        return name


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
