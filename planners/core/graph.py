"""A network as operators and tensors; nothing here knows of any machine."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from planners.core.as_networkx import as_networkx
from planners.core.display import Displayed, Fact
from planners.core.element_types import (
    NATIVE,
    Width,
    accumulator,
    bits_of_type,
    checked_width,
    width_words,
)
from planners.core.errors import BadInput
from planners.core.files import read_plan_json, write_json
from planners.core.relations import Slide, boxes, full
from planners.core.units import format_bytes

if TYPE_CHECKING:
    import networkx as nx

TensorKind = Literal["input", "state", "activation", "parameter"]
Granularity = Literal["aten", "folded", "fused"]
GRANULARITIES: tuple[Granularity, ...] = get_args(Granularity)
FORMAT = "spillway-graph"
VERSION = 3
READABLE = (1, 2, 3)
"""Version 1 says nothing of how calls read; 3 is written where there is state, else 2."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """A value with an address of its own: `shape` in elements, `dtype` as torch names it.

    Views are not tensors: they are aliases of the tensor they look at. Of a `table`, by the name of
    that parameter, it is as much as one operator reads at most (`planners.core.lookups`).
    `compressed` is what part of its bytes entropy coding leaves, where its values are known.
    """

    name: str
    shape: tuple[int, ...]
    kind: TensorKind = "activation"
    dtype: str = "float32"
    table: str = ""
    compressed: float = 1.0

    @property
    def elements(self) -> int:
        return prod(self.shape)


@dataclass(frozen=True, slots=True)
class Part:
    """One call of the source model inside an operator: its name there and its kind (`relu`).

    Where an operator does more than slide a window and map elements, its parts also state the
    `shape` of their values, what they read, by name, and with which relation
    (`planners.core.relations`); a call whose relation is not known has none.
    """

    name: str
    kind: str
    shape: tuple[int, ...] = ()
    reads: tuple[str, ...] = ()
    relation: tuple[str | int, ...] = ()

    @property
    def detailed(self) -> bool:
        return bool(self.shape or self.reads)


@dataclass(frozen=True, slots=True)
class Operator:
    """A unit of the schedule: reads `inputs` and `parameters`, writes `outputs`, all whole.

    `inputs` and `parameters` name distinct tensors. `parts` are the source calls that it runs, in
    order, views included. `kernel`, `stride`, `padding`, `dilation` hold one number a spatial
    axis and are empty where the operator has no window. `block` is the module path in the source.
    `seconds` are what it takes where that was measured (`planners.core.times`), whatever a machine
    says.
    """

    name: str
    kind: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    parameters: tuple[str, ...] = ()
    macs: int = 0
    kernel: tuple[int, ...] = ()
    stride: tuple[int, ...] = ()
    padding: tuple[int, ...] = ()
    dilation: tuple[int, ...] = ()
    groups: int = 1
    parts: tuple[Part, ...] = ()
    block: str = ""
    seconds: float | None = None

    @property
    def slide(self) -> Slide:
        """Its window, as relations have it."""
        pools = "pool" in self.kind
        return Slide(self.kernel, self.stride, self.padding, self.dilation, self.groups, pools)

    @property
    def look(self) -> tuple[object, ...]:
        """What its parts do, without names: equal looks read and compute alike, in equal time."""
        timed = () if self.seconds is None else (self.seconds,)
        if not any(part.detailed for part in self.parts):
            return (*(part.kind for part in self.parts), *timed)
        names = (*self.inputs, *self.parameters, *(part.name for part in self.parts))
        number = {name: i for i, name in enumerate(names)}
        parts = (
            (part.kind, part.shape, part.relation, tuple(number[name] for name in part.reads))
            for part in self.parts
        )
        return (*parts, *timed)


@dataclass(frozen=True)
class Graph(Displayed):
    """A network in its default schedule: `operators` are in an order that can run.

    `tensors` by name, `inputs` and `outputs` of the whole network by name, `source` tells how to
    build the model again (`{"catalogue": "resnet50", "input_shape": [[1, 3, 224, 224]]}`).
    `state` maps each tensor that a run keeps for the next one (kind `state`, at home before, and
    therefore among `inputs`) to the tensor of its new value (at home afterwards, and therefore
    among `outputs`).
    Each element of each tensor counts `bytes_per_element` bytes or, where that is `"native"`, those
    of its tensor's own type (`planners.core.element_types`).
    """

    name: str
    tensors: Mapping[str, Tensor]
    operators: tuple[Operator, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    bytes_per_element: Width = 1
    granularity: str = "fused"
    source: Mapping[str, Any] = field(default_factory=dict)
    state: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _validate(self)

    def size_bytes(self, tensor: str) -> int:
        """Bytes of a whole tensor."""
        return self.bytes_of(tensor, self.tensors[tensor].elements)

    def bits_of(self, tensor: str) -> int:
        """Bits that each element of a tensor counts."""
        width = self.bytes_per_element
        return (
            8 * width
            if isinstance(width, int)
            else bits_of_type(self.tensors[tensor].dtype, tensor)
        )

    def bytes_of(self, tensor: str, elements: int) -> int:
        """Bytes of a box of so many elements of a tensor: rounded up, box by box."""
        width = self.bytes_per_element
        if isinstance(width, int):
            return elements * width
        return -(-elements * bits_of_type(self.tensors[tensor].dtype, tensor) // 8)

    def sum_bytes(self, op: Operator, elements: int) -> int:
        """Bytes of so many elements of an operator's output while their sums are not complete.

        In `native` they have the accumulator's type of what is summed, and no less than their own.
        """
        output_bytes = self.bytes_of(op.outputs[0], elements)
        if self.bytes_per_element != NATIVE:
            return output_bytes
        bits = bits_of_type(accumulator(self.tensors[op.inputs[0]].dtype))
        return max(output_bytes, -(-elements * bits // 8))

    def types_of(self, op: Operator) -> tuple[str, ...]:
        """What an operator's tensors are, where bytes depend on it: none with one width for all."""
        if self.bytes_per_element != NATIVE:
            return ()
        return tuple(self.tensors[n].dtype for n in (*op.inputs, *op.parameters, *op.outputs))

    def assert_whole_bytes(self, planner: str) -> None:
        """Raises `BadInput` for maps of less than a byte an element, which `planner` cannot cut."""
        for name, tensor in self.tensors.items():
            if tensor.kind != "parameter" and not self.whole_bytes(name):
                raise BadInput(
                    f"{planner} cuts maps, and {name!r:.60} is {tensor.dtype}, less than a byte an "
                    "element: plan with cosma or streaming, or with a number as bytes_per_element"
                )

    def whole_bytes(self, tensor: str) -> bool:
        """Whether each element of a tensor takes whole bytes, so that boxes add up."""
        return not self.bits_of(tensor) % 8

    @cached_property
    def index(self) -> Mapping[str, int]:
        """Position of each operator in the default schedule, by name."""
        return {op.name: i for i, op in enumerate(self.operators)}

    @cached_property
    def producer(self) -> Mapping[str, int]:
        """Position of the operator that writes each tensor; inputs and parameters are absent."""
        return {t: i for i, op in enumerate(self.operators) for t in op.outputs}

    @cached_property
    def consumers(self) -> Mapping[str, tuple[int, ...]]:
        """Positions of the operators that read each tensor, ascending; empty where none does."""
        positions: dict[str, list[int]] = {name: [] for name in self.tensors}
        for i, op in enumerate(self.operators):
            for name in (*op.inputs, *op.parameters):
                positions[name].append(i)
        return {name: tuple(uses) for name, uses in positions.items()}

    @cached_property
    def is_timed(self) -> bool:
        """Whether seconds of its operators are given."""
        return any(op.seconds is not None for op in self.operators)

    @property
    def timed_by(self) -> str:
        """What says the seconds of its operators; of what a file says, a line is told."""
        times_source = self.source.get("times", "")
        fine = (
            isinstance(times_source, str) and times_source.isprintable() and len(times_source) <= 80
        )
        return times_source if times_source and fine else "the graph"

    @property
    def macs(self) -> int:
        return sum(op.macs for op in self.operators)

    @property
    def parameter_count(self) -> int:
        """Elements of all parameters."""
        return sum(t.elements for t in self.tensors.values() if t.kind == "parameter")

    @property
    def parameter_bytes(self) -> int:
        """Bytes of all parameters."""
        return sum(self.size_bytes(n) for n, t in self.tensors.items() if t.kind == "parameter")

    @property
    def element_types(self) -> dict[str, int]:
        """How many tensors there are of each element type, the most first."""
        return dict(Counter(t.dtype for t in self.tensors.values()).most_common())

    def facts(self) -> list[Fact]:
        needs = [sum(map(self.size_bytes, (*op.inputs, *op.outputs))) for op in self.operators]
        return [
            ("Graph", self.name),
            ("operators", f"{len(self.operators):,}"),
            ("MACs", f"{self.macs:,}"),
            ("parameters", f"{self.parameter_count:,}"),
            ("bytes per element", self.width_words),
            ("largest need of one operator", format_bytes(max(needs, default=0))),
        ]

    @property
    def width_words(self) -> str:
        """What an element counts, in words."""
        return width_words(self.bytes_per_element, (t.dtype for t in self.tensors.values()))

    def with_bytes_per_element(self, bytes_per_element: Width) -> Graph:
        """The same graph with another width of all elements, in bytes, or with `"native"` ones."""
        return replace(self, bytes_per_element=bytes_per_element)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the graph's JSON: equal graphs, equal digests."""
        text = json.dumps(self.to_json(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def to_json(self) -> dict[str, Any]:
        """Plain data for `json.dumps`; `from_json` reads it back."""
        return {
            "format": FORMAT,
            "version": VERSION if self.state else 2,
            "name": self.name,
            "granularity": self.granularity,
            "bytes_per_element": self.bytes_per_element,
            "source": dict(self.source),
            "inputs": list(self.inputs),
            "outputs": list(self.outputs),
            "tensors": [_tensor_json(tensor) for tensor in self.tensors.values()],
            "operators": [_operator_json(op) for op in self.operators],
        } | ({"state": dict(self.state)} if self.state else {})

    def to_networkx(self) -> nx.MultiDiGraph[Any]:
        """Operators as nodes and tensors as edges (`planners.core.as_networkx`)."""
        return as_networkx(self)

    def save(self, path: str | Path) -> None:
        """Write the graph as JSON; the file is replaced whole or not at all."""
        write_json(path, self.to_json())

    @staticmethod
    def load(path: str | Path) -> Graph:
        """Read a graph that `save` wrote, or that of a plan or of a page that shows one.

        Raises `BadInput` with the reason.
        """
        data = read_plan_json(path)
        if isinstance(data, dict) and data.get("format") == "spillway-plan":
            data = data.get("graph")
        return Graph.from_json(data)

    @staticmethod
    def from_json(data: Any) -> Graph:
        """The graph that `to_json` wrote. Raises `BadInput` for anything else."""
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise BadInput(f"not a graph: expected a JSON object with format {FORMAT!r}")
        version = data.get("version")
        if type(version) is not int or version not in READABLE:
            raise BadInput(f"graph version {version!r:.60} is not {VERSION} or before")
        try:
            tensors = [_tensor_from(*item) for item in data["tensors"]]
            if len({t.name for t in tensors}) != len(tensors):
                raise ValueError("two tensors have one name")
            return Graph(
                name=str(data["name"]),
                tensors={t.name: t for t in tensors},
                operators=tuple(_operator_from(item) for item in data["operators"]),
                inputs=_names(data["inputs"]),
                outputs=_names(data["outputs"]),
                bytes_per_element=data["bytes_per_element"],
                granularity=str(data["granularity"]),
                source=dict(data["source"]),
                state=dict(data.get("state", {})),
            )
        except (KeyError, TypeError, ValueError) as error:
            reason = f"missing {error}" if isinstance(error, KeyError) else str(error)
            raise BadInput(f"malformed graph: {reason}") from error


# Beyond it sizes and MACs would no longer be exact in solvers and times, which count in floats.
_LARGEST = 2**53
_WINDOW = ("kernel", "stride", "padding", "dilation")


def _operator_json(op: Operator) -> dict[str, Any]:
    item: dict[str, Any] = {
        "name": op.name,
        "kind": op.kind,
        "inputs": list(op.inputs),
        "outputs": list(op.outputs),
        "macs": op.macs,
        "parts": [_part_json(part) for part in op.parts],
    }
    item |= {key: list(getattr(op, key)) for key in _WINDOW if getattr(op, key)}
    if op.parameters:
        item["parameters"] = list(op.parameters)
    if op.groups != 1:
        item["groups"] = op.groups
    if op.block:
        item["block"] = op.block
    if op.seconds is not None:
        item["seconds"] = op.seconds
    return item


def _part_json(part: Part) -> list[Any]:
    row: list[Any] = [part.name, part.kind]
    if part.detailed:
        row += [list(part.shape), list(part.reads), list(part.relation)]
    return row


def _part_from(name: Any, kind: Any, shape: Any = (), reads: Any = (), relation: Any = ()) -> Part:
    if any(type(item) not in (str, int) for item in relation):
        raise ValueError(f"expected a relation, got {relation!r:.60}")
    return Part(str(name), str(kind), _sizes(shape), _names(reads), tuple(relation))


def _tensor_json(tensor: Tensor) -> list[Any]:
    row = [tensor.name, tensor.kind, tensor.dtype, list(tensor.shape)]
    if tensor.compressed != 1:
        return [*row, tensor.table, tensor.compressed]
    return [*row, tensor.table] if tensor.table else row


def _tensor_from(
    name: Any, kind: Any, dtype: Any, shape: Any, table: Any = "", compressed: Any = 1.0
) -> Tensor:
    _names([name, kind, dtype, table])
    if not isinstance(compressed, (int, float)) or not 0 < compressed <= 1:
        raise ValueError(f"{name!r:.60} is compressed to {compressed!r:.40}, not above 0 and to 1")
    return Tensor(name, _sizes(shape), kind, dtype, table, float(compressed))


def _operator_from(item: Mapping[str, Any]) -> Operator:
    return Operator(
        name=str(item["name"]),
        kind=str(item["kind"]),
        inputs=_names(item["inputs"]),
        outputs=_names(item["outputs"]),
        parameters=_names(item.get("parameters", ())),
        macs=_count(item["macs"]),
        groups=_count(item.get("groups", 1)),
        parts=tuple(_part_from(*row) for row in item.get("parts", ())),
        block=str(item.get("block", "")),
        seconds=_seconds(item.get("seconds")),
        **{key: _sizes(item.get(key, ())) for key in _WINDOW},
    )


def _seconds(item: Any) -> float | None:
    if item is None:
        return None
    if type(item) not in (int, float) or not 0 <= item < 1e9:  # Written so that NaN fails.
        raise ValueError(f"expected seconds, zero or above, got {item!r:.60}")
    return float(item)


def _names(items: Any) -> tuple[str, ...]:
    if not isinstance(items, (list, tuple)) or not all(isinstance(i, str) for i in items):
        raise ValueError(f"expected a list of names, got {items!r:.60}")
    return tuple(items)


def _sizes(items: Any) -> tuple[int, ...]:
    return tuple(_count(item) for item in items)


def _count(item: Any) -> int:
    if not isinstance(item, int) or isinstance(item, bool) or item < 0:
        raise ValueError(f"expected a whole number ≥ 0, got {item!r:.60}")
    return item


def _validate(graph: Graph) -> None:
    """Every name resolves, each tensor has one writer, and the order of operators can run."""
    checked_width(graph.bytes_per_element)
    for name, tensor in graph.tensors.items():
        if tensor.kind not in get_args(TensorKind):
            raise BadInput(f"tensor {name!r} has unknown kind {tensor.kind!r}")
        if not tensor.elements:
            raise BadInput(f"tensor {name!r} is empty: shape {tensor.shape}")
    if sum(graph.size_bytes(name) for name in graph.tensors) > _LARGEST:
        raise BadInput(f"graph {graph.name!r:.60} has more than 2**53 bytes of tensors")
    available = {n for n, t in graph.tensors.items() if t.kind == "parameter"} | set(graph.inputs)
    seen: set[str] = set()
    for op in graph.operators:
        if op.name in seen:
            raise BadInput(f"two operators are named {op.name!r}")
        seen.add(op.name)
        if not op.outputs:
            raise BadInput(f"operator {op.name!r} writes nothing")
        _validate_numbers(op)
        operands = (*op.inputs, *op.parameters)
        if len(set(operands)) != len(operands):
            raise BadInput(f"operator {op.name!r} names an operand twice")
        for name in operands:
            if name not in available:
                raise BadInput(f"operator {op.name!r} reads {name!r} before it exists")
            if (graph.tensors[name].kind == "parameter") != (name in op.parameters):
                kind = graph.tensors[name].kind
                raise BadInput(f"operator {op.name!r} lists {name!r} wrongly: its kind is {kind}")
        for name in op.outputs:
            if name not in graph.tensors or name in available:
                raise BadInput(f"operator {op.name!r} cannot write {name!r}: unknown or written")
            if graph.tensors[name].kind != "activation":
                raise BadInput(f"operator {op.name!r} writes {name!r}, which is not an activation")
            available.add(name)
        _validate_parts(graph, op)
    for name in (*graph.inputs, *graph.outputs):
        if name not in graph.tensors or name not in available:
            raise BadInput(f"graph input or output {name!r} does not exist")
        if graph.tensors[name].kind == "parameter":
            raise BadInput(f"graph input or output {name!r} is a parameter")
    for name in graph.inputs:
        if graph.tensors[name].kind not in ("input", "state"):
            raise BadInput(f"graph input {name!r} is of kind {graph.tensors[name].kind!r}")
    _validate_state(graph)
    if len(available) != len(graph.tensors):
        lost = sorted(set(graph.tensors) - available)
        raise BadInput(f"tensor {lost[0]!r} is neither an input, a parameter, nor written")


def _validate_state(graph: Graph) -> None:
    """Each tensor of kind `state` has a new value of its shape and type, which is an output."""
    kept = {name for name, tensor in graph.tensors.items() if tensor.kind == "state"}
    if lost := sorted(kept ^ graph.state.keys()):
        raise BadInput(f"state {lost[0]!r:.60} has no new value, or is no tensor of kind 'state'")
    for name, new in graph.state.items():
        if not isinstance(new, str) or new not in graph.outputs or new not in graph.producer:
            raise BadInput(f"the new value of state {name!r} is not an output of an operator")
        old, new_value = graph.tensors[name], graph.tensors[new]
        if (old.shape, old.dtype) != (new_value.shape, new_value.dtype):
            raise BadInput(f"the new value of state {name!r} has another shape or type")


def _validate_parts(graph: Graph, op: Operator) -> None:
    """Parts that state what they read only read existing values, by relations that suit them."""
    if not any(part.detailed for part in op.parts):
        return
    shapes = {name: graph.tensors[name].shape for name in (*op.inputs, *op.parameters)}
    for part in op.parts:
        if part.name in shapes or not all(name in shapes for name in part.reads):
            raise BadInput(f"operator {op.name!r} has a part {part.name!r} out of place")
        operands = [shapes[name] for name in part.reads]
        try:
            boxes(part.relation, part.shape, operands, full(part.shape), op.slide)
        except ValueError as error:
            raise BadInput(f"operator {op.name!r}, part {part.name!r}: {error}") from error
        shapes[part.name] = part.shape
    for name in op.outputs:
        if shapes.get(name) != graph.tensors[name].shape:
            raise BadInput(f"operator {op.name!r} has no part that makes {name!r}")


def _validate_numbers(op: Operator) -> None:
    if any(len(getattr(op, key)) != len(op.kernel) for key in _WINDOW):
        raise BadInput(f"operator {op.name!r} has a window with axes missing")
    if op.groups < 1 or op.macs > _LARGEST:
        raise BadInput(f"operator {op.name!r} has groups {op.groups} and MACs {op.macs!r:.20}")


def assert_graph(value: object) -> None:
    """Raises `BadInput` for what is no graph, such as a network's name."""
    if not isinstance(value, Graph):
        raise BadInput(f"{value!r:.60} is not a graph: planners.load(…) gives one by name or file")
