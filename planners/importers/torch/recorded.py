"""The calls of a program as far as it was read, and which of them has each value by now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from math import prod
from typing import Any

import torch

from planners.core.errors import ImportFailed
from planners.core.graph import Tensor
from planners.importers.passes import Call
from planners.importers.torch import ops as torch_ops
from planners.importers.torch import relations as torch_relations
from planners.importers.torch.macs import macs as count_macs
from planners.importers.torch.steps import CallStep, Ref

# ---- Which values of a program share memory, and which call has the content of each by now -------


@dataclass(slots=True)
class AliasedMemory:
    """What some values look at: `whole` is the call that has all of it after `version` writes.

    `owner` is the parameter, buffer or attribute of the module that it is, if any; what is `fixed`
    is a parameter, which inference does not write.
    """

    whole: str
    version: int = 0
    owner: str = ""
    fixed: bool = False

    def written(self, whole: str) -> None:
        """Take another call's value for all of it."""
        self.whole, self.version = whole, self.version + 1


@dataclass(slots=True, eq=False)
class Alias:
    """A value: all of a memory, or what the call `view` sees of its parent's.

    `name` is the call that has its content as of `version`.
    """

    memory: AliasedMemory
    name: str
    version: int
    parent: Alias | None = None
    view: str = ""

    def through(self, view: str) -> Alias:
        """What a view of this one, just made, sees."""
        return Alias(self.memory, view, self.memory.version, self, view)

    def written(self, name: str) -> None:
        """Take another call's value; where this is a part, nobody looks at the rest again."""
        if self.parent is None:
            self.memory.written(name)
        else:
            self.memory, self.parent = AliasedMemory(name), None
        self.name, self.version = name, self.memory.version


def new_alias(name: str, owner: str = "", fixed: bool = False) -> Alias:
    """A memory of its own."""
    return Alias(AliasedMemory(name, owner=owner, fixed=fixed), name, 0)


# --------------------------------------------------------------------------------------------------


@dataclass
class RecordedCalls:
    """What was read of a program: `nodes` by name, in their `place`, became `calls` and `steps`.

    `aliases` says for each value of the program which call has its content by now.
    """

    label: str
    nodes: Mapping[str, Any] = field(default_factory=dict)
    place: Mapping[str, int] = field(default_factory=dict)
    aliases: dict[str, Alias] = field(default_factory=dict)
    inputs: list[Tensor] = field(default_factory=list)
    parameters: dict[str, tuple[Tensor, torch.Tensor]] = field(default_factory=dict)
    calls: dict[str, Call] = field(default_factory=dict)
    steps: dict[str, CallStep] = field(default_factory=dict)

    def now(self, name: str) -> str:
        """The call that has a value's content by now: views of what was written are made anew."""
        return self.renewed(self.aliases[name])

    def renewed(self, alias: Alias) -> str:
        """The same for an alias."""
        if alias.version != alias.memory.version:
            if alias.parent is None:
                alias.name = alias.memory.whole
            else:
                alias.name = self.view_again(alias, self.renewed(alias.parent))
            alias.version = alias.memory.version
        return alias.name

    def view_again(self, alias: Alias, parent: str) -> str:
        """The same view of what its memory holds now."""
        call, step = self.calls[alias.view], self.steps[alias.view]
        if call.kind == "as_strided":
            raise ImportFailed(f"{self.label}: {call.name} is read after what it views was written")
        name = self.unused(call.name)
        tensor = None if call.tensor is None else replace(call.tensor, name=name)
        reads = (parent, *call.reads[1:])
        self.add(
            replace(call, name=name, tensor=tensor, reads=reads),
            CallStep(step.target, (Ref(parent), *step.args[1:]), step.kwargs),
        )
        return name

    def unused(self, name: str, word: str = "again") -> str:
        """A name like this one that no value has."""
        taken = {tensor.name for tensor, _ in self.parameters.values()}
        return next(
            new
            for new in (f"{name}_{word}{i or ''}" for i in count())
            if new not in self.nodes and new not in self.calls and new not in taken
        )

    def add(self, call: Call, step: CallStep) -> None:
        """Record one more call."""
        self.calls[call.name] = call
        self.steps[call.name] = step

    def views(self, alias: Alias) -> tuple[CallStep, ...]:
        """The views that lead from a memory to this part of it."""
        return tuple(self.steps[name] for name in self.view_names(alias))

    def view_names(self, alias: Alias) -> list[str]:
        """Their names, the first first."""
        names: list[str] = []
        while alias.parent is not None:
            names.insert(0, alias.view)
            alias = alias.parent
        return names

    def path(self, alias: Alias) -> list[tuple[Any, ...]]:
        """What its views do: equal paths see equal parts."""
        return [(step.target, step.args[1:], step.kwargs) for step in self.views(alias)]

    def overlap(self, alias: Alias, other: Alias, places: torch.Tensor) -> bool:
        """Whether two parts of a memory with these places have one in common."""
        written, read = (self.places(each, places) for each in (alias, other))
        return bool(torch.isin(written, read).any())

    def places(self, alias: Alias, places: torch.Tensor) -> torch.Tensor:
        """Where in its memory the elements of an alias are."""
        part = places.reshape(self.holder(alias.memory.whole).shape)
        for view in self.views(alias):
            part = view.target(part, *view.args[1:], **view.kwargs)
        return part

    def holder(self, whole: str) -> Tensor:
        """The tensor of what holds a memory."""
        if whole in self.calls:
            tensor = self.calls[whole].tensor
            assert tensor is not None, "no call writes into a list"
            return tensor
        tensors = [*self.inputs, *(tensor for tensor, _ in self.parameters.values())]
        return next(tensor for tensor in tensors if tensor.name == whole)

    def recorded(self, node: Any, kind: str, named: Mapping[str, Any]) -> tuple[Call, CallStep]:
        """A call that reads its operands as they are by now, and how to run it."""
        reads: dict[str, None] = {}

        def refer(other: Any) -> Any:
            if is_empty(value := other.meta["val"]):
                return torch.empty(tuple(value.shape), dtype=value.dtype)
            name = self.now(other.name)
            reads[name] = None
            return Ref(name)

        args = torch.fx.node.map_arg(node.args, refer)
        kwargs = torch.fx.node.map_arg(node.kwargs, refer)
        value = node.meta["val"] if isinstance(node.meta["val"], torch.Tensor) else None
        shapes = {k: tuple(v.meta["val"].shape) for k, v in tensors_of(named).items()}
        out = () if value is None else tuple(value.shape)
        sized = {name: shape for name, shape in shapes.items() if prod(shape)}
        call = Call(
            node.name,
            kind,
            tuple(reads),
            None if value is None else tensor_of(node.name, value),
            view=torch_ops.is_view(kind, named),
            unary=torch_ops.is_unary(kind, len(reads)),
            macs=count_macs(kind, named, out, shapes),
            window=torch_ops.window(kind, named, shapes),
            relation=torch_relations.relation(kind, named, out, sized, len(reads)),
            block=block_of(node),
            beyond=torch_ops.beyond(kind, named),
        )
        return call, CallStep(torch_ops.looking(node.target), args, kwargs)


def like(a: Any, b: torch.Tensor) -> bool:
    """Whether a value is a tensor of the other one's shape and type."""
    return isinstance(a, torch.Tensor) and a.dtype == b.dtype and a.shape == b.shape


def is_empty(value: Any) -> bool:
    """Whether a value is a tensor without elements, of which there is nothing to know."""
    return isinstance(value, torch.Tensor) and any(size == 0 for size in value.shape)


def tensor_of(name: str, value: torch.Tensor, kind: Any = "activation") -> Tensor:
    """A described value under a name."""
    shape = tuple(int(size) for size in value.shape)
    return Tensor(name, shape, kind, str(value.dtype).removeprefix("torch."))


def tensors_of(named: Mapping[str, Any]) -> dict[str, Any]:
    """The tensor arguments by name; those of a list argument numbered."""
    tensors: dict[str, Any] = {}
    for name, value in named.items():
        items = enumerate(value) if isinstance(value, (list, tuple)) else [("", value)]
        tensors |= {f"{name}{i}": v for i, v in items if isinstance(v, torch.fx.Node)}
    return tensors


def block_of(node: Any) -> str:
    """The path of the module that a call is in."""
    stack = node.meta.get("nn_module_stack")
    return str(list(stack.values())[-1][0]) if stack else ""
