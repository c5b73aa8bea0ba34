"""TensorFlow Lite files as graphs; nothing in a file is executed."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from planners.core.element_types import Width, width_of_file
from planners.core.errors import BadInput
from planners.core.graph import GRANULARITIES, Graph, Tensor
from planners.importers.padding import graph_of
from planners.importers.passes import CallTrace, needed
from planners.importers.torch.aten_calls import Aten, NodeValue
from planners.importers.torch.ops import opaque_named

if TYPE_CHECKING:
    from planners.importers.tflite.file import TfliteFile, TfliteOperator, TfliteSubgraph
    from planners.importers.tflite.values import TfliteNode, TfliteValues
    from planners.importers.torch.aten_calls import Calls, CallWriter

MALFORMED = (struct.error, AttributeError, LookupError, TypeError, ValueError, ArithmeticError)
CONTROL = frozenset({"IF", "WHILE", "STABLEHLO_WHILE", "STABLEHLO_CASE"})
VARIABLES = frozenset({"VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE", "CALL_ONCE"})


def from_tflite(
    path: str | Path,
    input_shape: Sequence[Any] | None = None,
    granularity: str = "fused",
    bytes_per_element: Width | None = None,
    fold_padding: bool = True,
) -> Graph:
    """The graph of a TensorFlow Lite file's first subgraph, its operators in the file's order.

    Maps have their channels second, as in graphs from PyTorch. Weights behind DEQUANTIZE or DENSIFY
    are what they are stored as. With `fold_padding` a PAD in front of convolutions and pools alone
    is their padding: TensorFlow Lite Micro runs it, with a tensor of its own. Variables, of the
    runtime or of layers, are state. What has no counterpart in PyTorch's words is an opaque
    operator that needs all of its operands and counts no MACs: the graph's source lists them under
    `opaque`. The file has its shapes: `input_shape`, if given, must be those, or have other sizes
    where it leaves them open.

    Raises `BadInput` with file and operator for what is no such file or cannot be planned: control
    flow, strings, cycles.
    """
    from planners.importers.tflite.file import read_tflite

    if granularity not in GRANULARITIES:
        raise BadInput(f"granularity {granularity!r} is not one of {', '.join(GRANULARITIES)}")
    from planners.importers.tflite.open_axes import resized

    original = read_tflite(path)
    file = resized(original, _listed(input_shape)) or original
    subgraph = SubgraphReader(file).read()
    _check_shapes(file, subgraph, input_shape)
    origin: dict[str, Any] = {"file": file.path.name, "sha256": file.digest}
    if file is not original:
        origin["shapes"] = _listed(input_shape)
    source = {
        "tflite": origin,
        "input_shape": [list(t.shape) for t in subgraph.inputs],
    }
    if scratch := [t for t in subgraph.trace.inputs if t.name in subgraph.scratch]:
        sizes = ", ".join(f"{t.name:.40} ({t.elements:,} elements)" for t in scratch)
        source["note"] = (
            f"operators work in {sizes} beside the maps that they read and write, which the "
            "runtime keeps for them from the beginning: counted as inputs"
        )
    read = partial(
        graph_of,
        granularity=granularity,
        bytes_per_element=width_of_file(bytes_per_element),
        source=source,
        fold_padding=fold_padding,
    )
    try:
        graph = read(subgraph.trace)
        if not graph.operators:  # It only moves data: so does the runtime, in memory of its own.
            moves = tuple(replace(call, view=False) for call in subgraph.trace.calls)
            graph = read(replace(subgraph.trace, calls=moves))
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from error
    if not graph.operators:
        raise BadInput(f"{path}: its inputs reach no operator; there is nothing to plan")
    return opaque_named(graph, subgraph.calls.opaque)


def _check_shapes(file: TfliteFile, subgraph: FoundCalls, given: Sequence[Any] | None) -> None:
    """Refuse other shapes than the file's: its operators hold sizes that follow from them."""
    if given is None:
        return
    graph = file.subgraphs[0]
    inputs = [graph.tensors[n] for n in graph.inputs]
    turned = [list(t.shape) for t in subgraph.inputs]
    if _listed(given) not in ([list(t.shape) for t in inputs], turned):
        file_shapes = [list(t.signature or t.shape) for t in inputs]
        out = "another size may be given where one is -1"
        if not any(t.open_axes for t in inputs):
            out = "leave input_shape out"
        raise BadInput(f"{file.path} has its own input shapes, {file_shapes}: {out}")


def _listed(given: Sequence[Any] | None) -> list[list[Any]]:
    """Shapes that are given as one, or one an input."""
    several = all(isinstance(shape, (list, tuple)) for shape in given or ())
    return [list(shape) for shape in given or ()] if several else [list(given or ())]


@dataclass(slots=True)
class FoundCalls:
    """What was read: the trace, the values, the nodes and steps behind its calls, and outputs.

    `outputs` are what the file returns, in its order, by what they are the same as; `graph` is the
    first subgraph with those that it calls in it. `variables` are resource variables, by the name
    of the tensor that each of them began as; `scratch` is memory that operators work in.
    """

    trace: CallTrace
    values: TfliteValues
    calls: Calls
    outputs: tuple[str, ...]
    graph: TfliteSubgraph
    variables: Mapping[str, str]
    scratch: frozenset[str] = frozenset()

    @property
    def inputs(self) -> list[Tensor]:
        """What a caller gives, in the file's order."""
        return [t for t in self.trace.inputs if t.kind == "input" and t.name not in self.scratch]


@dataclass(slots=True)
class SubgraphReader:
    """The calls of a file's first subgraph, and what it keeps from run to run.

    `variables` has the value that each resource variable has now, by its name; `kept` the tensor
    that each of those began as, `users` the last operator that reads or assigns it.
    """

    file: TfliteFile
    variables: dict[str, str] = field(default_factory=dict)
    kept: dict[str, str] = field(default_factory=dict)
    handles: dict[str, str] = field(default_factory=dict)
    users: dict[str, TfliteOperator] = field(default_factory=dict)
    state: dict[str, str] = field(default_factory=dict)

    def read(self) -> FoundCalls:
        from planners.importers.entropy import with_entropy
        from planners.importers.tflite.inlined import inlined
        from planners.importers.tflite.open_axes import sized
        from planners.importers.tflite.scratch import beside_maps, scratch_of, written_in_parts
        from planners.importers.tflite.values import values_of
        from planners.importers.torch.aten_calls import CallWriter

        graph = inlined(self.file)
        self._check_order(written_in_parts(graph), scratch_of(graph))
        graph = written_in_parts(beside_maps(self.file, graph))
        scratch = scratch_of(graph)
        graph = sized(self.file, graph)
        values = values_of(self.file, graph)
        ahead = dict(self._next_values(graph, values))
        writer = CallWriter(values)
        for operator in graph.operators:
            try:
                self._operator(operator, values, writer, ahead)
            except MALFORMED as error:  # operands and options that no runtime takes
                why = f"{error}".replace("\n", " ")
                raise BadInput(
                    f"{self.file.path}: {operator.label} is malformed: {why:.80}"
                ) from error
        names = [values.names[n] for n in dict.fromkeys((*graph.inputs, *scratch))]
        self._copy_new_values(names, values, writer)
        inputs = [self._tensor(name, "input", values) for name in names]
        inputs += [self._tensor(name, "state", values) for name in self.state if name not in names]
        available = {*names, *self.state, *writer.found.calls, *writer.found.parameters}
        outputs = [writer.found.resolve(values.names[n]) for n in graph.outputs]
        returned = tuple(outputs)
        outputs += self.state.values()
        trace = CallTrace(
            self.file.path.stem,
            tuple(inputs),
            with_entropy(writer.found.parameters.values(), partial(self._numbers, values)),
            tuple(writer.found.calls.values()),
            tuple(dict.fromkeys(name for name in outputs if name in available)),
            self.state,
        )
        began = {name: variable for variable, name in self.kept.items()}
        work = frozenset(values.names[n] for n in scratch)
        return FoundCalls(trace, values, writer.found, returned, graph, began, work)

    def _numbers(self, values: TfliteValues, name: str) -> NDArray[Any] | None:
        """The numbers of a constant; None where its bytes are not as its shape says."""
        with suppress(BadInput):
            return self.file.numbers(values.tensors[name])
        return None

    def _check_order(self, graph: TfliteSubgraph, scratch: Sequence[int]) -> None:
        """Refuse a file in which something is read that nothing before it has made."""
        written = {t.number for t in graph.tensors if t.constant or t.variable}
        written |= {*graph.inputs, *scratch}
        for operator in graph.operators:
            for number in operator.inputs:
                if number >= 0 and number not in written:
                    name = graph.tensors[number].name
                    raise BadInput(
                        f"{self.file.path}: {operator.label} reads tensor {name!r:.80}, which "
                        "nothing before it has made"
                    )
            if again := written.intersection(operator.outputs):
                name = graph.tensors[min(again)].name
                raise BadInput(f"{self.file.path}: tensor {name!r:.80} is made twice")
            written.update(operator.outputs)
        if missing := [n for n in graph.outputs if n not in written]:
            name = graph.tensors[missing[0]].name
            raise BadInput(f"{self.file.path}: nothing makes the output {name!r:.80}")

    def _tensor(self, name: str, kind: Any, values: TfliteValues) -> Tensor:
        value = values.of[name]
        return Tensor(name, value.shape, kind, value.dtype)

    def _next_values(
        self, graph: TfliteSubgraph, values: TfliteValues
    ) -> Iterator[tuple[int, dict[str, str]]]:
        """By operator: the new values of the variable tensors that it reads and writes."""
        for operator in graph.operators:
            more = {}
            for number in operator.inputs:
                if number >= 0 and graph.tensors[number].variable:
                    name = values.names[number]
                    more[name] = f"{name}'"
                    values.of[more[name]] = values.of[name]
                    values.used |= {more[name]}
                    self.state[name] = more[name]
            yield operator.number, more

    def _operator(
        self,
        operator: TfliteOperator,
        values: TfliteValues,
        writer: CallWriter,
        ahead: dict[int, dict[str, str]],
    ) -> None:
        from planners.importers.tflite.lowering import said
        from planners.importers.tflite.values import TfliteNode
        from planners.importers.torch.ops import VIEWS

        if operator.kind in CONTROL:
            raise BadInput(
                f"{self.file.path}: {operator.label} is control flow, which has no fixed schedule: "
                "convert the model without it"
            )
        node = TfliteNode(operator, values, ahead[operator.number])
        if operator.kind in VARIABLES:
            self._variable(node, writer)
        elif node.outputs:
            steps = said(node)
            if steps is None:
                kind = f"custom.{operator.kind}" if operator.custom else operator.kind.lower()
                if kind in VIEWS:  # of what data say
                    kind = f"dynamic_{kind}"
                names = [name for name in node.inputs if not node.is_number(name)]
                steps = [writer.opaque(kind, names)]
            writer.add(node, steps, _block(values.names[operator.outputs[0]]))

    def _variable(self, node: TfliteNode, writer: CallWriter) -> None:
        """A resource variable: what is read first is state, and what is assigned last its new
        value."""
        kind, values = node.operator.kind, node.values
        if kind == "CALL_ONCE":
            return
        if kind == "VAR_HANDLE":
            from planners.importers.tflite.inlined import variable_name

            self.handles[node.every_output[0]] = variable_name(node.operator)
            return
        variable = self.handles[node.input(0)]
        self.users[variable] = node.operator
        if kind == "READ_VARIABLE":
            out = node.every_output[0]
            if variable not in self.variables:
                self.variables[variable] = self.kept[variable] = out
                self.state.setdefault(out, out)
            else:
                writer.found.now[out] = self.variables[variable]
            return
        value = writer.found.resolve(node.input(1))
        if variable not in self.kept:
            name = writer.found.fresh(variable)
            values.of[name] = NodeValue(values.of[value].shape, values.of[value].dtype)
            self.kept[variable] = name
        self.variables[variable] = value
        self.state[self.kept[variable]] = value

    def _copy_new_values(
        self, inputs: Sequence[str], values: TfliteValues, writer: CallWriter
    ) -> None:
        """Give each variable a new value of its own: views, inputs, constants and other variables
        are copied into it, as the runtime does, and so is what two variables are assigned."""
        from planners.importers.tflite.values import TfliteNode

        calls, moving, taken = writer.found.calls, {*inputs, *self.state}, set[str]()
        for variable, old in self.kept.items():
            value = self.state[old]
            call = calls.get(value)
            reached = needed(calls, [value], ())
            moves = not moving.isdisjoint(
                {value, *(r for name in reached for r in calls[name].reads)}
            )
            if call is not None and not call.view and moves and value not in taken:
                taken.add(value)
                continue
            new = writer.found.fresh(f"{old}'")
            values.of[new], values.used = values.of[value], values.used | {new}
            reads = {"self": value} if moves else {"self": old, "src": value}
            node = TfliteNode(replace(self.users[variable], outputs=()), values, {old: new})
            relation = ("same",) if moves else ()
            writer.add(node, [Aten("copy", reads, relation=relation, unary=False)], "")
            self.state[old] = new


def _block(name: str) -> str:
    """The module path in a value's name: `model/block_1/conv/Relu6` is of `model.block_1.conv`."""
    return ".".join(name.split(";")[0].split("/")[:-1])
