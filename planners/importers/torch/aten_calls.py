"""What a file's nodes are in ATen's words, and the calls of a trace that follow from that.

Readers of files say each node as calls of ATen (`Aten`), so that they give the same facts as the
importer of PyTorch modules: kinds, windows, multiply-accumulates, and what reads what.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any, Protocol, TypeAlias

from planners.core.graph import Tensor
from planners.core.relations import Relation
from planners.importers.passes import Call
from planners.importers.torch import ops as torch_ops
from planners.importers.torch import relations as torch_relations
from planners.importers.torch.macs import macs as count_macs

Shape = tuple[int, ...]
BEFORE = "<"


@dataclass(frozen=True, slots=True)
class Aten:
    """A node, or a step of it, as an ATen call, for the tables about ATen calls.

    `operands` are values by the name of the argument; `args` its other arguments. `relation`,
    `unary` and `macs` replace the tables' values; `beyond` is what a call has (`Call`). `shape` is
    that of a step which is not the last one; `splits` is the axis that a split cuts.
    """

    kind: str
    operands: Mapping[str, str]
    args: Mapping[str, Any] = field(default_factory=dict)
    relation: Relation | None = None
    unary: bool | None = None
    macs: int | None = None
    shape: Shape | None = None
    splits: int | None = None
    beyond: float | None = None


Said: TypeAlias = list[Aten] | None
"""The steps of a node, each reading the one before as `"<"`; None where it is opaque."""


@dataclass(frozen=True, slots=True)
class NodeValue:
    """What is known of a value: its shape in elements, and its type as torch names it."""

    shape: Shape
    dtype: str

    @property
    def elements(self) -> int:
        return prod(self.shape)


def unary(kind: str) -> Callable[[SaidNode], Said]:
    """A function of each element of the first operand."""
    return lambda node: [Aten(kind, {"self": node.input(0)})]


def element(kind: str) -> Callable[[SaidNode], Said]:
    """The same where no operator is folded into it."""
    return lambda node: [Aten(kind, {"self": node.input(0)}, relation=("same",))]


class NodeValues(Protocol):
    """What is known of all values of a file: `of` has a `NodeValue` of each.

    `folded` are those that nodes compute from known numbers, `parameters` its weights, `used` those
    that a node or the caller reads.
    """

    of: dict[str, Any]
    folded: set[str]
    parameters: set[str]
    used: frozenset[str]


class SaidNode(Protocol):
    """The ends of a node: its first operand, all that it gives, and what of it is read."""

    @property
    def every_output(self) -> Sequence[str]: ...

    @property
    def outputs(self) -> Sequence[str]: ...

    def input(self, place: int) -> str: ...


@dataclass(slots=True)
class Calls:
    """Calls in order, the weights that they read, and what is worth knowing of them.

    `now` maps a value to the one that it is the same as. `said` holds the arguments of calls,
    `opaque` the kinds of those that nothing is known of, so that they need all of their operands;
    `names` are those of all values, `nodes` the node that each call is a step of.
    """

    calls: dict[str, Call] = field(default_factory=dict)
    parameters: dict[str, Tensor] = field(default_factory=dict)
    said: dict[str, Aten] = field(default_factory=dict)
    now: dict[str, str] = field(default_factory=dict)
    opaque: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    nodes: dict[str, Any] = field(default_factory=dict)

    def fresh(self, name: str) -> str:
        """A name like this one that no value has."""
        while name in self.names:
            name += "'"
        self.names.add(name)
        return name

    def resolve(self, name: str) -> str:
        """The value that a name stands for."""
        return self.now.get(name, name)


class CallWriter:
    """Makes the calls of nodes that were said in ATen's words, one node after the other."""

    def __init__(self, values: NodeValues) -> None:
        self.values = values
        self.found = Calls(names=set(values.of))

    def add(self, node: SaidNode, steps: Sequence[Aten], block: str) -> None:
        """The steps of a node; where there is none it is its first operand."""
        if not steps:
            self.found.now[node.outputs[0]] = self.found.resolve(node.input(0))
            return
        before = ""
        for step, what in enumerate(steps):
            last = step == len(steps) - 1
            output = node.outputs[0]
            name = output if last else self.found.fresh(f"{output}.{what.kind}")
            operands = {k: before if v == BEFORE else v for k, v in what.operands.items()}
            if last and (len(node.outputs) > 1 or what.splits is not None):
                name = self._several(node, what, operands, block)
            else:
                out = self.values.of[node.outputs[0]].shape
                shape = out if last or what.shape is None else what.shape
                self._record(name, shape, what, operands, block)
            self.found.nodes[name] = node
            before = name

    def opaque(self, kind: str, operands: Sequence[str]) -> Aten:
        """A node of which nothing is known."""
        self.found.opaque.add(kind)
        return Aten(kind, {f"input{i}": name for i, name in enumerate(operands)}, relation=())

    def _record(
        self, name: str, shape: Shape | None, what: Aten, operands: Mapping[str, str], block: str
    ) -> None:
        """One call; its shape is None where it gives several values."""
        operands = {
            key: self._operand(value)
            for key, value in operands.items()
            if self.values.of[value].elements
        }
        reads = tuple(dict.fromkeys(operands.values()))
        shapes = {key: self.values.of[value].shape for key, value in operands.items()}
        kind, args, out = what.kind, {**what.args, **what.operands}, shape or ()
        relation, unary = what.relation, what.unary
        if relation is None:
            relation = torch_relations.relation(kind, args, out, shapes, len(reads))
        tensor = None
        if shape is not None:
            earlier = self.values.of.get(name) or self.values.of[reads[0]]
            tensor = Tensor(name, shape, "activation", earlier.dtype)
            if name not in self.values.of:
                self.values.of[name] = replace(earlier, shape=shape)
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
            beyond=what.beyond,
        )

    def _several(self, node: SaidNode, what: Aten, operands: Mapping[str, str], block: str) -> str:
        """A call that gives several values, and the calls that pick them out; its name."""
        whole = self.found.fresh(f"{node.outputs[0]}.all")
        self._record(whole, None, what, operands, block)
        at = 0
        view = torch_ops.is_view(what.kind, what.args)
        for name in node.every_output:
            if what.splits is None and name not in self.values.used:
                continue
            if not self.values.of[name].elements:
                continue
            shape, dtype = self.values.of[name].shape, self.values.of[name].dtype
            relation: tuple[str | int, ...] = ()
            if what.splits is not None:
                relation = ("slice", what.splits, at, 1)
                at += shape[what.splits]
            if name in self.values.used:
                tensor = Tensor(name, shape, "activation", dtype)
                self.found.nodes[name] = node
                self.found.calls[name] = Call(
                    name, "getitem", (whole,), tensor, view=view, item=True, relation=relation
                )
        return whole

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
