"""An exported program as calls: without in-place writes, identities and assertions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch.export.graph_signature import InputKind, OutputKind, TensorArgument

from planners.core.errors import ImportFailed
from planners.core.graph import Tensor
from planners.core.relations import Relation
from planners.importers.passes import Call, CallTrace
from planners.importers.torch import ops as torch_ops
from planners.importers.torch import relations as torch_relations
from planners.importers.torch.steps import CallStep, Ref, TorchTrace, WriteThrough, refs

_FILLED = {"new_zeros": 0, "zeros_like": 0, "new_ones": 1, "ones_like": 1}
_FILLED |= {"new_full": 0, "full_like": 0}
_MAY_COPY = frozenset(["reshape", "contiguous", "flatten", "clone", "ravel", "pad"])


def read_program(program: torch.export.ExportedProgram, label: str) -> TorchTrace:
    """The calls of a program and how to run them.

    Raises `ImportFailed`, with `label` in front, for what is no plain inference.
    """
    return _ProgramReader(program, label).read()


@dataclass
class _ProgramReader:
    """Reads an exported program once, front to back.

    `now` maps a value to the one that holds its content since: its operand where a call was an
    identity, the writer where it was written in place. `root` maps a view to what it looks at.
    `stale` values were views of something since written; `writes` are calls that wrote through a
    view into a constant, which is run again whole wherever it is needed; `through` are calls that
    wrote through views into an activation, and give the whole of it.
    """

    program: Any
    label: str
    nodes: Mapping[str, Any] = field(default_factory=dict)
    place: Mapping[str, int] = field(default_factory=dict)
    now: dict[str, str] = field(default_factory=dict)
    root: dict[str, str] = field(default_factory=dict)
    stale: set[str] = field(default_factory=set)
    writes: dict[str, list[str]] = field(default_factory=dict)
    through: dict[str, tuple[CallStep, ...]] = field(default_factory=dict)
    dynamic: set[str] = field(default_factory=set)
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
        return TorchTrace(trace, self.steps, values, returns, self._writes_into(names), spec)

    def _placeholders(self, nodes: Mapping[str, Any]) -> None:
        """Graph inputs by their argument's name, parameters and constants by their path."""
        program = self.program
        for spec in program.graph_signature.input_specs:
            if not isinstance(spec.arg, TensorArgument):
                continue
            node, value = spec.arg.name, nodes[spec.arg.name].meta["val"]
            if spec.kind == InputKind.USER_INPUT:
                self.inputs.append(_tensor(node, value, "input"))
                self.dynamic.add(node)
                continue
            name = spec.target if spec.target not in nodes else node
            stored = program.state_dict.get(spec.target)
            real = program.constants[spec.target] if stored is None else stored
            self.parameters[node] = (_tensor(name, value, "parameter"), real)
            if name != node:
                self.now[node] = name

    def _returned(self, spec: Any) -> Any:
        if spec.kind != OutputKind.USER_OUTPUT:
            raise ImportFailed(f"{self.label}: writes its own {spec.target}: not inference")
        if isinstance(spec.arg, TensorArgument):
            return Ref(self._resolve(spec.arg.name))
        return getattr(spec.arg, "value", None)

    def _resolve(self, name: str) -> str:
        if name in self.through:
            raise ImportFailed(f"{self.label}: the part that {name} wrote is read by itself")
        name = self._holder(name)
        if name in self.stale:
            raise ImportFailed(f"{self.label}: {name} is read after what it views was written")
        return name

    def _holder(self, name: str) -> str:
        while name in self.now:
            name = self.now[name]
        return name

    def _call(self, node: Any) -> None:
        if node.target.__name__ == "getitem":
            return self._item(node)
        if not isinstance(node.target, torch._ops.OpOverload):
            raise ImportFailed(f"{self.label}: {node.name} calls {node.target}, not ATen")
        kind = node.target._schema.name.split("::")[-1]
        value = node.meta.get("val")
        if kind.startswith("_assert") or "constrain" in kind or value is None:
            return None
        schema = node.target._schema.arguments
        named = {a.name: v for a, v in zip(schema, node.args)} | dict(node.kwargs)
        if not isinstance(value, torch.Tensor):
            if not isinstance(value, (list, tuple)):
                raise ImportFailed(f"{self.label}: {node.name} depends on the values of the input")
            value = None
        operands = [v for v in named.values() if isinstance(v, torch.fx.Node)]
        first = operands[0] if operands else None
        same = first is not None and value is not None and _like(first.meta["val"], value)
        if first is not None and torch_ops.is_identity(kind.removesuffix("_"), named, (), same):
            self.now[node.name] = self._resolve(first.name)
            return None
        return self._record(node, kind, named, value)

    def _item(self, node: Any) -> None:
        source, index = self._resolve(node.args[0].name), node.args[1]
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
        if parent.view:
            self.root[node.name] = self.root[source]

    def _split(self, node: Any, index: int) -> Relation:
        """How an item of a split reads what was split."""
        if not all(isinstance(value, torch.Tensor) for value in node.meta["val"]):
            return ()
        parts = [tuple(value.shape) for value in node.meta["val"]]
        named = {a.name: v for a, v in zip(node.target._schema.arguments, node.args)}
        kind = node.target.__name__.split(".")[0]
        return torch_relations.item(kind, named | dict(node.kwargs), parts, index)

    def _record(self, node: Any, kind: str, named: Mapping[str, Any], value: Any) -> None:
        if kind == "copy_" and self._copies_itself(node):
            return None
        reads: dict[str, None] = {}
        if kind in _FILLED and value is not None:
            return self._filled(node, kind, named, value)

        def refer(other: Any) -> Any:
            name = self._resolve(other.name)
            reads[name] = None
            return Ref(name)

        args = torch.fx.node.map_arg(node.args, refer)
        kwargs = torch.fx.node.map_arg(node.kwargs, refer)
        target = node.target
        after = self._writes_into(reads)
        if target._schema.is_mutable:
            kind = kind.removesuffix("_")
            operand = args[0].name
            views = self._views_to(operand)
            if views and self.root[operand] in self.dynamic and self._seen_later(node, operand):
                return self._write_through(node, args, kwargs)
            target = self._written(node, operand, kind)
        shapes = {k: tuple(v.meta["val"].shape) for k, v in _tensors(named).items()}
        out = () if value is None else tuple(value.shape)
        view = torch_ops.is_view(kind, named)
        call = Call(
            node.name,
            kind,
            tuple(reads),
            None if value is None else _tensor(node.name, value),
            view=view,
            unary=torch_ops.is_unary(kind, len(reads)),
            after=after,
            macs=torch_ops.macs(kind, named, out, shapes),
            window=torch_ops.window(kind, named, shapes),
            relation=torch_relations.relation(kind, named, out, shapes, len(reads)),
            block=_block(node),
        )
        self._add(call, CallStep(target, args, kwargs))
        if view and reads and kind != "clone":
            first = next(iter(reads))
            self.root[node.name] = self.root.get(first, first)

    def _writes_into(self, names: Iterable[str]) -> tuple[str, ...]:
        """The calls so far that wrote into constants that these are, or look at."""
        writers = (self.writes.get(self.root.get(name, name), ()) for name in names)
        return tuple(dict.fromkeys(write for writes in writers for write in writes))

    def _filled(self, node: Any, kind: str, named: Mapping[str, Any], value: Any) -> None:
        """A tensor made like another one, of which only the shape matters: a constant."""
        fill = named.get("fill_value", _FILLED[kind])
        if isinstance(fill, torch.fx.Node):
            raise ImportFailed(f"{self.label}: {node.name} fills with a computed value")
        step = CallStep(
            torch.ops.aten.full.default, (tuple(value.shape), fill), {"dtype": value.dtype}
        )
        self._add(Call(node.name, kind, (), _tensor(node.name, value)), step)

    def _add(self, call: Call, step: CallStep) -> None:
        self.calls[call.name] = call
        self.steps[call.name] = step
        if any(name in self.dynamic for name in call.reads):
            self.dynamic.add(call.name)

    def _views_to(self, name: str) -> tuple[CallStep, ...]:
        """The views that lead from a tensor to this part of it; none for a tensor itself."""
        steps: list[CallStep] = []
        while name in self.root:
            steps.insert(0, self.steps[name])
            name = self.calls[name].reads[0]
        return tuple(steps)

    def _seen_later(self, node: Any, operand: str) -> bool:
        """Whether what this call writes into is read after it, other than through `operand`."""
        root = self.root[operand]
        family = {root} | {name for name, of in self.root.items() if of == root} - {operand}
        later = list(self.nodes.values())[self.place[node.name] + 1 :]
        return any(self._holder(read.name) in family for n in later for read in n.all_input_nodes)

    def _copies_itself(self, node: Any) -> bool:
        """Whether `x[i] += y` ends here: the part just written in place is copied onto itself."""
        part, source = node.args[0], node.args[1]
        views = self.through.get(getattr(source, "name", ""))
        if views is None or not part.users.keys() <= {node} or node.users:
            return False
        here = self._views_to(self._resolve(part.name))
        return [(v.target, v.args[1:]) for v in here] == [(v.target, v.args[1:]) for v in views]

    def _write_through(self, node: Any, args: Any, kwargs: Any) -> None:
        """Record a write through views into an activation as a call that gives all of it anew."""
        operand = args[0].name
        views, whole = self._views_to(operand), self.root[operand]
        if any(step.target.__name__.split(".")[0] in _MAY_COPY for step in views):
            raise ImportFailed(f"{self.label}: {node.name} writes into what may be a copy")
        others = refs((args[1:], kwargs))
        reads = tuple(dict.fromkeys((whole, *others)))
        tensor = replace(self.calls[whole].tensor or Tensor("", ()), name=node.name)
        step = CallStep(WriteThrough(views, node.target), (Ref(whole), *args[1:]), kwargs)
        self._add(Call(node.name, "slice_scatter", reads, tensor, block=_block(node)), step)
        self.stale |= {name for name, of in self.root.items() if of == whole}
        self.now[whole] = node.name
        self.through[node.name] = views

    def _written(self, node: Any, operand: str, kind: str) -> Any:
        """What to run for an in-place call: its out-of-place form, or itself within a constant.

        Whoever reads the operand from here on reads this call's value instead.
        """
        root = self.root.get(operand, operand)
        names = {tensor.name for tensor, _ in self.parameters.values()}
        if root != operand and root not in self.dynamic and root not in names:
            self.writes.setdefault(root, []).append(node.name)
            self.root[node.name] = root
            return node.target
        self.stale |= {name for name, of in self.root.items() if of == root and name != operand}
        if root != operand:
            self.stale.add(root)
        self.now[operand] = node.name
        packet = getattr(torch.ops.aten, kind, None)
        overload = getattr(packet, node.target._overloadname, None)
        if overload is None:
            raise ImportFailed(f"{self.label}: {node.name} writes in place and has no other form")
        return overload


def _like(a: Any, b: torch.Tensor) -> bool:
    return isinstance(a, torch.Tensor) and a.dtype == b.dtype and a.shape == b.shape


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
