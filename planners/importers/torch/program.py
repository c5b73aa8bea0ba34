"""An exported program as calls: without in-place writes, identities and assertions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import torch
from torch.export.graph_signature import InputKind, OutputKind, TensorArgument

from planners.core.errors import ImportFailed
from planners.core.graph import Tensor
from planners.core.relations import Relation
from planners.importers.passes import Call, CallTrace, needed
from planners.importers.torch import ops as torch_ops
from planners.importers.torch import relations as torch_relations
from planners.importers.torch.aliases import Alias, new_alias
from planners.importers.torch.macs import macs as count_macs
from planners.importers.torch.steps import CallStep, Ref, TorchTrace, WriteThrough, fill, refs

_FILLED = dict.fromkeys(
    "zeros zeros_like new_zeros empty empty_like empty_strided empty_permuted new_empty "
    "new_empty_strided full_like new_full zero fill".split(),
    0,
) | dict.fromkeys("ones_like new_ones".split(), 1)

_MOST_PLACES = 2**26
_LIFTED = re.compile(r"(^|\.)lifted_tensor_\d+$|^_?tensor_constant\d+$")
"""Constants that the exporter made of numbers in the code: the module does not keep them."""


def read_program(
    program: torch.export.ExportedProgram, label: str, has_values: bool = True
) -> TorchTrace:
    """The calls of a program and how to run them; whether its parameters have their values.

    Raises `ImportFailed`, with `label` in front, for what is no plain inference.
    """
    return _ProgramReader(program, label, has_values=has_values).read()


@dataclass
class _ProgramReader:
    """Reads an exported program once, front to back, and writes it without in-place calls.

    `aliases` says for each value of the program which call of the trace has its content by now;
    `numbers` are what calls read out of constants, where the module `has_values`.
    """

    program: Any
    label: str
    nodes: Mapping[str, Any] = field(default_factory=dict)
    place: Mapping[str, int] = field(default_factory=dict)
    has_values: bool = True
    aliases: dict[str, Alias] = field(default_factory=dict)
    numbers: dict[str, Any] = field(default_factory=dict)
    inputs: list[Tensor] = field(default_factory=list)
    parameters: dict[str, tuple[Tensor, torch.Tensor]] = field(default_factory=dict)
    calls: dict[str, Call] = field(default_factory=dict)
    steps: dict[str, CallStep] = field(default_factory=dict)

    def read(self) -> TorchTrace:
        """The whole trace."""
        nodes = self.nodes = {node.name: node for node in self.program.graph.nodes}
        self.place = {name: i for i, name in enumerate(nodes)}
        self._placeholders(nodes)
        for node in nodes.values():
            if node.op == "call_function":
                self._call(node)
            elif node.op not in ("placeholder", "output"):
                raise ImportFailed(f"{self.label}: {node.op} {node.name} is not supported")
        returns = tuple(self._returned(spec) for spec in self.program.graph_signature.output_specs)
        names = tuple(r.name for r in returns if isinstance(r, Ref))
        trace = CallTrace(
            self.label,
            tuple(self.inputs),
            tuple(tensor for tensor, _ in self.parameters.values()),
            tuple(self.calls.values()),
            names,
        )
        values = {tensor.name: value for tensor, value in self.parameters.values()}
        spec = self.program.call_spec.out_spec
        return TorchTrace(trace, self.steps, values, returns, spec)

    def _placeholders(self, nodes: Mapping[str, Any]) -> None:
        """Graph inputs by their argument's name, parameters and constants by their path."""
        program = self.program
        for spec in program.graph_signature.input_specs:
            if not isinstance(spec.arg, TensorArgument):
                continue
            node, value = spec.arg.name, nodes[spec.arg.name].meta["val"]
            if spec.kind == InputKind.USER_INPUT:
                self.inputs.append(_tensor(node, value, "input"))
                self.aliases[node] = new_alias(node)
                continue
            name = spec.target if spec.target not in nodes else node
            stored = program.state_dict.get(spec.target)
            real = program.constants[spec.target] if stored is None else stored
            self.parameters[node] = (_tensor(name, value, "parameter"), real)
            lifted = spec.kind == InputKind.CONSTANT_TENSOR and _LIFTED.search(spec.target)
            self.aliases[node] = new_alias(name, "" if lifted else spec.target)

    def _returned(self, spec: Any) -> Any:
        if spec.kind != OutputKind.USER_OUTPUT:
            raise ImportFailed(f"{self.label}: writes its own {spec.target}: not inference")
        if isinstance(spec.arg, TensorArgument):
            return Ref(self._now(spec.arg.name))
        return getattr(spec.arg, "value", None)

    def _now(self, name: str) -> str:
        """The call that has a value's content by now: views of what was written are made anew."""
        return self._renewed(self.aliases[name])

    def _renewed(self, alias: Alias) -> str:
        if alias.version != alias.memory.version:
            if alias.parent is None:
                alias.name = alias.memory.whole
            else:
                alias.name = self._view_again(alias, self._renewed(alias.parent))
            alias.version = alias.memory.version
        return alias.name

    def _view_again(self, alias: Alias, parent: str) -> str:
        """The same view of what its memory holds now."""
        call, step = self.calls[alias.view], self.steps[alias.view]
        if call.kind == "as_strided":
            raise ImportFailed(f"{self.label}: {call.name} is read after what it views was written")
        name = self._unused(call.name)
        tensor = None if call.tensor is None else replace(call.tensor, name=name)
        reads = (parent, *call.reads[1:])
        self._add(
            replace(call, name=name, tensor=tensor, reads=reads),
            CallStep(step.target, (Ref(parent), *step.args[1:]), step.kwargs),
        )
        return name

    def _unused(self, name: str) -> str:
        taken = {tensor.name for tensor, _ in self.parameters.values()}
        return next(
            new
            for new in (f"{name}_again{i or ''}" for i in count())
            if new not in self.nodes and new not in self.calls and new not in taken
        )

    def _call(self, node: Any) -> None:
        node = torch_ops.without_examples(self._with_numbers(node))
        if node.target.__name__ == "getitem":
            return self._item(node)
        if not isinstance(node.target, torch._ops.OpOverload):
            if not node.all_input_nodes:
                self.numbers[node.name] = node.target(*node.args, **node.kwargs)
                return None
            raise ImportFailed(f"{self.label}: {node.name} calls {node.target}, not ATen")
        kind = node.target._schema.name.split("::")[-1]
        value = node.meta.get("val")
        if kind.startswith("_assert") or "constrain" in kind or value is None:
            return None
        schema = node.target._schema.arguments
        named = {a.name: v for a, v in zip(schema, node.args)} | dict(node.kwargs)
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
        operands = [v for v in named.values() if isinstance(v, torch.fx.Node)]
        first = operands[0] if operands else None
        same = first is not None and value is not None and _like(first.meta["val"], value)
        if first is not None and torch_ops.is_identity(kind.removesuffix("_"), named, (), same):
            self.aliases[node.name] = self.aliases[first.name]
            return None
        if kind in _FILLED and value is not None:
            return self._filled(node, kind, named, value)
        if node.target._schema.is_mutable and kind not in torch_ops.RESHAPES_IN_PLACE:
            return self._write(node, kind, named)
        call, step = self._read(node, kind.removesuffix("_"), named)
        self._add(call, step)
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
        operands = [self._now(one.name) for one in node.all_input_nodes]
        run = needed(self.calls, operands, ())
        read = {name for one in run for name in self.calls[one].reads} | set(operands)
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

    def _item(self, node: Any) -> None:
        split, index = self.aliases[node.args[0].name], node.args[1]
        source = self._renewed(split)
        parent = self.calls[source]
        tensor = _tensor(node.name, node.meta["val"])
        self._add(
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

    def _read(self, node: Any, kind: str, named: Mapping[str, Any]) -> tuple[Call, CallStep]:
        """A call that reads its operands as they are by now, and how to run it."""
        reads: dict[str, None] = {}

        def refer(other: Any) -> Any:
            name = self._now(other.name)
            reads[name] = None
            return Ref(name)

        args = torch.fx.node.map_arg(node.args, refer)
        kwargs = torch.fx.node.map_arg(node.kwargs, refer)
        value = node.meta["val"] if isinstance(node.meta["val"], torch.Tensor) else None
        shapes = {k: tuple(v.meta["val"].shape) for k, v in _tensors(named).items()}
        out = () if value is None else tuple(value.shape)
        call = Call(
            node.name,
            kind,
            tuple(reads),
            None if value is None else _tensor(node.name, value),
            view=torch_ops.is_view(kind, named),
            unary=torch_ops.is_unary(kind, len(reads)),
            macs=count_macs(kind, named, out, shapes),
            window=torch_ops.window(kind, named, shapes),
            relation=torch_relations.relation(kind, named, out, shapes, len(reads)),
            block=_block(node),
        )
        return call, CallStep(torch_ops.looking(node.target), args, kwargs)

    def _filled(
        self, node: Any, kind: str, named: Mapping[str, Any], value: Any, alias: Alias | None = None
    ) -> None:
        """A tensor made like another one, of which only the shape matters: a constant.

        What nothing was written into yet is taken to be zeros.
        """
        filling = named.get("fill_value", named.get("value", _FILLED.get(kind)))
        if isinstance(filling, torch.fx.Node):
            raise ImportFailed(f"{self.label}: {node.name} fills with a computed value")
        step = CallStep(
            torch.ops.aten.full.default, (tuple(value.shape), filling), {"dtype": value.dtype}
        )
        self._add(Call(node.name, kind, (), _tensor(node.name, value)), step)
        if alias is None:
            self.aliases[node.name] = new_alias(node.name)
        else:
            alias.written(node.name)

    def _add(self, call: Call, step: CallStep) -> None:
        self.calls[call.name] = call
        self.steps[call.name] = step

    def _write(self, node: Any, kind: str, named: Mapping[str, Any]) -> None:
        """A call that writes its first operand, as one that gives the new content."""
        target = node.args[0]
        alias = self.aliases[target.name]
        if alias.memory.owner:
            raise ImportFailed(
                f"{self.label}: {node.name} writes the module's own {alias.memory.owner!r}: "
                "make it an input, and return its new value"
            )
        self.aliases[node.name] = alias
        if alias.parent is None and kind in ("fill_", "zero_"):
            return self._filled(node, kind.removesuffix("_"), named, node.meta["val"], alias)
        if kind == "copy_" and self._copies_itself(alias, node.args[1]):
            return
        call, step = self._read(node, torch_ops.out_of_place(kind), named)
        self._refuse_overlap(node, alias)
        if alias.parent is not None and self._seen_later(node, alias):
            self._write_through(alias, call, step)
            return
        self._add(*self._whole(node, call, step))
        alias.written(node.name)

    def _copies_itself(self, alias: Alias, source: Any) -> bool:
        """Whether `x[i] += y` ends here: the part just written in place is copied onto itself."""
        other = self.aliases.get(getattr(source, "name", ""))
        if other is None or other.memory is not alias.memory:
            return False
        return self._path(alias) == self._path(other)

    def _refuse_overlap(self, node: Any, alias: Alias) -> None:
        """What is read while it is written has no value that PyTorch would vouch for."""
        for operand in node.all_input_nodes[1:]:
            other = self.aliases[operand.name]
            if other.memory is alias.memory and self._path(other) != self._path(alias):
                size = self._holder(alias.memory.whole).elements
                if size > _MOST_PLACES or self._overlap(alias, other, torch.arange(size)):
                    raise ImportFailed(
                        f"{self.label}: {node.name} writes into what it reads: clone() it first"
                    )

    def _overlap(self, alias: Alias, other: Alias, places: torch.Tensor) -> bool:
        written, read = (self._places(each, places) for each in (alias, other))
        return bool(torch.isin(written, read).any())

    def _places(self, alias: Alias, places: torch.Tensor) -> torch.Tensor:
        """Where in its memory the elements of an alias are."""
        part = places.reshape(self._holder(alias.memory.whole).shape)
        for view in self._views(alias):
            part = view.target(part, *view.args[1:], **view.kwargs)
        return part

    def _path(self, alias: Alias) -> list[tuple[Any, ...]]:
        return [(step.target, step.args[1:], step.kwargs) for step in self._views(alias)]

    def _views(self, alias: Alias) -> tuple[CallStep, ...]:
        """The views that lead from a memory to this part of it."""
        steps: list[CallStep] = []
        while alias.parent is not None:
            steps.insert(0, self.steps[alias.view])
            alias = alias.parent
        return tuple(steps)

    def _seen_later(self, node: Any, alias: Alias) -> bool:
        """Whether the memory that this call writes is read after it, other than as this alias."""
        later = list(self.nodes.values())[self.place[node.name] + 1 :]
        aliases = (self.aliases.get(read.name) for n in later for read in n.all_input_nodes)
        return any(
            other is not None and other is not alias and other.memory is alias.memory
            for other in aliases
        )

    def _write_through(self, alias: Alias, call: Call, step: CallStep) -> None:
        """Record a write through views as a call that gives all of the memory anew."""
        whole = alias.memory.whole
        others = refs((step.args[1:], step.kwargs))
        views = self._views(alias)
        reads = dict.fromkeys((whole, *others, *refs([v.args[1:] for v in views])))
        write = WriteThrough(views, step.target)
        tensor = replace(self._holder(whole), name=call.name, kind="activation")
        self._add(
            Call(
                call.name, "slice_scatter", tuple(reads), tensor, macs=call.macs, block=call.block
            ),
            CallStep(write, (Ref(whole), *step.args[1:]), step.kwargs),
        )
        alias.memory.written(call.name)

    def _holder(self, whole: str) -> Tensor:
        """The tensor of what holds a memory."""
        if whole in self.calls:
            tensor = self.calls[whole].tensor
            assert tensor is not None, "no call writes into a list"
            return tensor
        tensors = [*self.inputs, *(tensor for tensor, _ in self.parameters.values())]
        return next(tensor for tensor in tensors if tensor.name == whole)

    def _whole(self, node: Any, call: Call, step: CallStep) -> tuple[Call, CallStep]:
        """A write of all of a value without the write: its out-of-place form, or one on a copy."""
        operand, *others = node.all_input_nodes
        types = {one.meta["val"].dtype for one in node.all_input_nodes}
        if call.kind == "copy" and others and _like(others[0].meta["val"], operand.meta["val"]):
            reads = tuple(refs(step.args[1]))
            step = CallStep(torch.ops.aten.clone.default, (step.args[1],), {})
            return replace(call, kind="clone", reads=reads, view=True, relation=("same",)), step
        packet = getattr(torch.ops.aten, call.kind, None)
        overload = getattr(packet, node.target._overloadname, None)
        if overload is None or torch_ops.promotes(call.kind, len(types)):
            overload = WriteThrough((), node.target)
        return call, CallStep(overload, step.args, step.kwargs)


def _like(a: Any, b: torch.Tensor) -> bool:
    return isinstance(a, torch.Tensor) and a.dtype == b.dtype and a.shape == b.shape


def _is_open(value: Any) -> bool:
    """Whether a size is not a number."""
    values = value if isinstance(value, (list, tuple)) else [value]
    tensors = [v for v in values if isinstance(v, torch.Tensor)]
    return any(isinstance(size, torch.SymInt) for tensor in tensors for size in tensor.shape)


def _tensor(name: str, value: torch.Tensor, kind: Any = "activation") -> Tensor:
    shape = tuple(int(size) for size in value.shape)
    return Tensor(name, shape, kind, str(value.dtype).removeprefix("torch."))


def _tensors(named: Mapping[str, Any]) -> dict[str, Any]:
    """The tensor arguments by name; those of a list argument numbered."""
    tensors: dict[str, Any] = {}
    for name, value in named.items():
        items = enumerate(value) if isinstance(value, (list, tuple)) else [("", value)]
        tensors |= {f"{name}{i}": v for i, v in items if isinstance(v, torch.fx.Node)}
    return tensors


def _block(node: Any) -> str:
    stack = node.meta.get("nn_module_stack")
    return str(list(stack.values())[-1][0]) if stack else ""
