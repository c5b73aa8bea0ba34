"""An exported program as calls: without in-place writes, identities and assertions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch.export.graph_signature import InputKind, OutputKind, TensorArgument

from planners.core.errors import ImportFailed
from planners.core.relations import Relation
from planners.importers.passes import Call, CallTrace, needed
from planners.importers.torch import ops as torch_ops
from planners.importers.torch import relations as torch_relations
from planners.importers.torch.module_state import KeptState
from planners.importers.torch.open_sizes import at_sizes
from planners.importers.torch.recorded import is_empty, like, new_alias, tensor_of
from planners.importers.torch.regions import without_regions
from planners.importers.torch.steps import CallStep, Ref, TorchTrace, fill
from planners.importers.torch.writes import FILLED

_LIFTED = re.compile(r"(^|\.)lifted_tensor_\d+$|^_?tensor_constant\d+$")
"""Constants that the exporter made of numbers in the code: the module does not keep them."""


def read_program(
    program: torch.export.ExportedProgram,
    label: str,
    has_values: bool = True,
    symbols: Mapping[str, int] | None = None,
) -> TorchTrace:
    """The calls of a program and how to run them; whether its parameters have their values.

    `symbols` are the numbers of those in its sizes (`symbols_of`). Raises `ImportFailed`, with
    `label` in front, for what is no plain inference.
    """
    reader = _ProgramReader(label, program=program, has_values=has_values, symbols=symbols or {})
    return reader.read()


@dataclass
class _ProgramReader(KeptState):
    """Reads an exported program once, front to back, and writes it without in-place calls.

    `numbers` are what calls read out of sizes, and out of constants, where it `has_values`.
    """

    program: Any = None
    has_values: bool = True
    symbols: Mapping[str, int] = field(default_factory=dict)
    numbers: dict[str, Any] = field(default_factory=dict)

    def read(self) -> TorchTrace:
        """The whole trace."""
        graph = without_regions(self.program, self.label, self.symbols)
        graph, self.numbers = at_sizes(graph, self.symbols)
        nodes = self.nodes = {node.name: node for node in graph.nodes}
        self.place = {name: i for i, name in enumerate(nodes)}
        self._placeholders(nodes)
        for node in nodes.values():
            if node.op == "call_function":
                self._call(node)
            elif node.op not in ("placeholder", "output"):
                raise ImportFailed(f"{self.label}: {node.op} {node.name} is not supported")
        specs = self.program.graph_signature.output_specs
        for spec in specs:
            self._mutated(spec)
        returns = tuple(self._returned(s) for s in specs if s.kind == OutputKind.USER_OUTPUT)
        state = self.new_values()
        tensors = [tensor for tensor, _ in self.parameters.values()]
        kept = [replace(tensor, kind="state") for tensor in tensors if tensor.name in state]
        trace = CallTrace(
            self.label,
            (*self.inputs, *kept),
            tuple(tensor for tensor in tensors if tensor.name not in state),
            tuple(self.calls.values()),
            (*(r.name for r in returns if isinstance(r, Ref)), *state.values()),
            state,
        )
        values = {tensor.name: value for tensor, value in self.parameters.values()}
        spec = self.program.call_spec.out_spec
        owners = {name: owner for name, owner in self.owners().items() if name in state}
        return TorchTrace(trace, self.steps, values, returns, spec, owners)

    def _placeholders(self, nodes: Mapping[str, Any]) -> None:
        """Graph inputs by their argument's name, parameters and constants by their path."""
        program = self.program
        for spec in program.graph_signature.input_specs:
            if not isinstance(spec.arg, TensorArgument):
                continue
            node, value = spec.arg.name, nodes[spec.arg.name].meta["val"]
            if spec.kind == InputKind.USER_INPUT:
                self.inputs.append(tensor_of(node, value, "input"))
                self.aliases[node] = new_alias(node)
                continue
            if is_empty(value):
                self.filled(nodes[node], "empty", {}, value)
                continue
            name = spec.target if spec.target not in nodes else node
            stored = program.state_dict.get(spec.target)
            real = program.constants[spec.target] if stored is None else stored
            self.parameters[node] = (tensor_of(name, value, "parameter"), real)
            lifted = spec.kind == InputKind.CONSTANT_TENSOR and _LIFTED.search(spec.target)
            fixed = spec.kind == InputKind.PARAMETER
            self.aliases[node] = new_alias(name, "" if lifted else spec.target, fixed)

    def _mutated(self, spec: Any) -> None:
        """What a program without in-place calls gives as the new value of a buffer."""
        if spec.kind == OutputKind.BUFFER_MUTATION:
            self.owned(spec.target).written(self.now(spec.arg.name))
        elif spec.kind != OutputKind.USER_OUTPUT:
            raise ImportFailed(f"{self.label}: writes its own {spec.target}: not inference")

    def _returned(self, spec: Any) -> Any:
        if isinstance(spec.arg, TensorArgument):
            return Ref(self.now(spec.arg.name))
        name = getattr(spec.arg, "name", "")
        return self.numbers.get(name, getattr(spec.arg, "value", None))

    def _call(self, node: Any) -> None:
        if node.name in self.numbers:
            return None
        node = torch_ops.without_examples(self._with_numbers(node))
        if node.target.__name__ == "getitem":
            return self._item(node)
        if not isinstance(node.target, torch._ops.OpOverload):
            if not node.all_input_nodes and _is_arithmetic(node.target):
                self.numbers[node.name] = node.target(*node.args, **node.kwargs)
                return None
            raise ImportFailed(f"{self.label}: {_no_operator(node)}")
        kind = torch_ops.kind_of(node.target)
        if kind == "access_subclass_inner_tensor":
            return self._inner(node)
        value = node.meta.get("val")
        written = torch_ops.written(node)
        first_alone = (
            written and written == [node.args[0]] and isinstance(written[0], torch.fx.Node)
        )
        if written and (not first_alone or torch_ops.returns_anew(node)):
            raise ImportFailed(
                f"{self.label}: {node.name} writes into an argument besides what it returns: "
                "take what it returns, and copy_() that"
            )
        if kind == "_assert_scalar" and node.args[0] is False:
            raise ImportFailed(f"{self.label}: sizes that its own check refuses: {node.args[1]}")
        checks = kind.startswith("_assert") or "constrain" in kind
        if (checks and not torch_ops.is_opaque(kind)) or (value is None and not written):
            return None
        schema = node.target._schema.arguments
        named = {a.name: v for a, v in zip(schema, node.args)} | dict(node.kwargs)
        if value is None:
            return self.write(node, kind, named)
        if not isinstance(value, torch.Tensor):
            if not isinstance(value, (list, tuple)):
                self.numbers[node.name] = self._number(node)
                return None
            value = None
        if _is_open(node.meta["val"]):
            raise ImportFailed(
                f"{self.label}: the shape of {node.name} depends on the values of the input: "
                "use where() or a fixed number of elements"
            )
        if torch_ops.is_random(kind, named):
            raise ImportFailed(
                f"{self.label}: {node.name} draws random numbers: make them an input, or call "
                "eval() on what does"
            )
        if is_empty(value):
            return self.filled(node, "empty", {}, value)
        operands = [v for v in named.values() if isinstance(v, torch.fx.Node)]
        first = operands[0] if operands else None
        same = first is not None and value is not None and like(first.meta["val"], value)
        if first is not None and torch_ops.is_identity(kind.removesuffix("_"), named, (), same):
            self.aliases[node.name] = self.aliases[first.name]
            return None
        if kind in FILLED and value is not None:
            return self.filled(node, kind, named, value)
        if kind == "batch_norm" and named["training"]:
            return self.batch_norm(node, named)
        if written and kind not in torch_ops.RESHAPES_IN_PLACE:
            return self.write(node, kind, named)
        if written:
            self.refuse_write(node, kind, self.aliases[node.args[0].name])
        call, step = self.recorded(node, kind.removesuffix("_"), named)
        self.add(call, step)
        alias = new_alias(node.name)
        if first is not None and torch_ops.is_alias(node.target, kind, node.args, node.kwargs):
            alias = self.aliases[first.name].through(node.name)
        self.aliases[node.name] = alias
        if kind in torch_ops.RESHAPES_IN_PLACE:
            self.aliases[node.args[0].name] = alias
        return None

    def _with_numbers(self, node: Any) -> Any:
        """The call with the numbers that it reads in place of the calls that gave them."""
        if self.numbers.keys().isdisjoint(one.name for one in node.all_input_nodes):
            return node

        def number(one: Any) -> Any:
            return self.numbers.get(one.name, one)

        args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), number)
        return torch_ops.changed(node, node.target, tuple(args), kwargs)

    def _number(self, node: Any) -> Any:
        """What a call reads out of constants. Raises `ImportFailed` where the input decides."""
        operands = [self.now(one.name) for one in node.all_input_nodes]
        run = needed(self.calls, operands, ())
        read = {name for one in run for name in self.calls[one].reads} | set(operands)
        self.numbered |= read
        if not read.isdisjoint(tensor.name for tensor in self.inputs):
            raise ImportFailed(f"{self.label}: {node.name} depends on the values of the input")
        values: dict[str, Any] = {t.name: value for t, value in self.parameters.values()}
        for name in sorted(read & values.keys()):
            if not self.has_values or values[name].is_meta:
                raise ImportFailed(
                    f"{self.label}: {node.name} reads the values of {name}, which are not there: "
                    "give from_torch the module with them"
                )
        with torch.no_grad():
            for name in (name for name in self.calls if name in run):
                step = self.steps[name]
                args, kwargs = fill((step.args, dict(step.kwargs)), values.__getitem__)
                values[name] = step.target(*args, **kwargs)
            return node.target(*(values[name] for name in operands))

    def _inner(self, node: Any) -> None:
        """One of the tensors that a quantised parameter consists of, as one of its own."""
        outer, attribute = node.args
        tensor, real = self.parameters[outer.name]
        inner = tensor_of(f"{tensor.name}.{attribute}", node.meta["val"], "parameter")
        self.parameters[node.name] = (inner, getattr(real, attribute, node.meta["val"]))
        self.aliases[node.name] = new_alias(inner.name, inner.name, True)

    def _item(self, node: Any) -> None:
        split, index = self.aliases[node.args[0].name], node.args[1]
        source = self.renewed(split)
        parent = self.calls[source]
        tensor = tensor_of(node.name, node.meta["val"])
        self.add(
            Call(
                node.name,
                "getitem",
                (source,),
                tensor,
                view=parent.view,
                item=True,
                relation=self._split(node.args[0], index),
            ),
            CallStep(node.target, (Ref(source), index), {}),
        )
        whole = split.parent is None
        self.aliases[node.name] = new_alias(node.name) if whole else split.through(node.name)

    def _split(self, node: Any, index: int) -> Relation:
        """How an item of a split reads what was split."""
        if not all(isinstance(value, torch.Tensor) for value in node.meta["val"]):
            return ()
        parts = [tuple(value.shape) for value in node.meta["val"]]
        named = {a.name: v for a, v in zip(node.target._schema.arguments, node.args)}
        kind = node.target.__name__.split(".")[0]
        return torch_relations.item(kind, named | dict(node.kwargs), parts, index)


def _is_arithmetic(target: Any) -> bool:
    """Whether a function computes with numbers alone; others change torch's own state."""
    return target.__module__ in ("_operator", "math") or target.__name__.startswith("sym_")


def _no_operator(node: Any) -> str:
    """What a call is that is none of ATen's, in words."""
    module, name = node.target.__module__ or "", node.target.__name__
    if "functorch" in module or module.startswith("torch._C._functorch"):
        return (
            "transforms of torch.func (vmap, which associative_scan is made of, grad, jvp) are no "
            "operators: write the batch out"
        )
    return f"{node.name} calls {module}.{name}, not ATen"


def _is_open(value: Any) -> bool:
    """Whether a size is not a number."""
    values = value if isinstance(value, (list, tuple)) else [value]
    tensors = [v for v in values if isinstance(v, torch.Tensor)]
    return any(isinstance(size, torch.SymInt) for tensor in tensors for size in tensor.shape)
