"""`.pt2` files of `torch.export.save` as graphs; nothing in them is run or unpickled.

The program's JSON (`pt2_file`) becomes the same calls that `torch.export` gave when it was saved,
with tensors that have shapes and no data. ATen's operators are looked up by name; views of tensors
without data are all that is called.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
import torch.ao.quantization.fx._decomposed  # its operators are then known
from torch.export.graph_signature import (
    ConstantArgument,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
)

from planners.core.element_types import PT2_TYPES, Width, width_of_file
from planners.core.errors import BadInput, ImportFailed
from planners.core.graph import GRANULARITIES, Graph
from planners.importers.padding import graph_of
from planners.importers.pt2.file import (
    MOST_NODES,
    example_of,
    number_of,
    read_pt2,
    shape_of,
    size_of,
    sizes_of,
    strides_of,
)
from planners.importers.pt2.torchao_operators import torchao_operator
from planners.importers.torch.ops import opaque_named
from planners.importers.torch.program import read_program
from planners.importers.torch.regions import higher_order
from planners.importers.torch.size_expressions import GivenSize, solved

KNOWN = re.compile(r"torch\.ops\.(aten|quantized_decomposed|torchao|export)\.([A-Za-z_]\w*)\.(\w+)")
"""Operators that are looked up."""
HIGHER = re.compile(r"torch\.ops\.higher_order\.([A-Za-z_]\w*)")
NAME = re.compile(r"[A-Za-z_]\w*")
FORMATS = {1: "contiguous_format", 2: "channels_last", 3: "channels_last_3d", 4: "preserve_format"}
PLAIN = ("int", "ints", "float", "floats", "bool", "bools", "string", "strings", "int_lists")
NUMBERS = {"Infinity": float("inf"), "-Infinity": float("-inf"), "NaN": float("nan")}
NUMBER = {"as_sym_int", "as_sym_float", "as_sym_bool"}
KEYWORD = 2
"""`ArgumentKind.KEYWORD` of the layout."""


def from_pt2(
    path: str | Path,
    input_shape: Sequence[Any] | None = None,
    granularity: str = "fused",
    bytes_per_element: Width | None = None,
    fold_padding: bool = True,
) -> Graph:
    """The graph of an exported program, equal to that of `from_torch` of the module it was made of.

    The shapes are those of its example, or of `input_shape` (one shape, or one an input) where the
    program takes it. Raises `BadInput` for what is no such file and for other shapes, and
    `ImportFailed` for programs with branches that data decide, custom operators or training.
    """
    if granularity not in GRANULARITIES:
        raise BadInput(f"granularity {granularity!r} is not one of {', '.join(GRANULARITIES)}")
    data = read_pt2(path)
    try:
        program = _ProgramFile(data, str(path), _listed(input_shape)).read()
        trace = read_program(program, str(path)).trace
    except (
        KeyError,
        TypeError,
        ValueError,
        AttributeError,
        IndexError,
        RuntimeError,
        AssertionError,
    ) as error:
        kind = type(error).__name__
        raise BadInput(f"{path} is malformed: {kind}: {error!s:.80}") from error
    shapes = [list(shape) for shape in program.input_shapes]
    source = {"pt2": Path(path).name, "input_shape": shapes}
    graph = graph_of(
        trace,
        granularity,
        bytes_per_element=width_of_file(bytes_per_element),
        source=source,
        fold_padding=fold_padding,
    )
    return opaque_named(replace(graph, name=Path(path).stem))


def _listed(shape: Any) -> Any:
    if isinstance(shape, (list, tuple)):
        return [_listed(part) for part in shape]
    return shape


class _GraphReader:
    """Builds calls with descriptions of values, of a program or of a graph that a call holds."""

    def __init__(self, graph_data: Mapping[str, Any], label: str) -> None:
        self.graph_data, self.label = graph_data, label
        self.graph = torch.fx.Graph()
        self.graphs: dict[str, Any] = {}
        self.nodes: dict[str, torch.fx.Node] = {}
        self.numbers: dict[str, Any] = {}
        self.symbols: Mapping[str, int] = {}
        self.read_names = set(_names([node["inputs"] for node in graph_data["nodes"]]))
        self.read_names |= set(_names(graph_data["outputs"]))

    def read_calls(self) -> None:
        """Everything but what is returned."""
        if len(self.graph_data["nodes"]) > MOST_NODES:
            count = len(self.graph_data["nodes"])
            raise BadInput(f"{self.label} has {count} calls; {MOST_NODES} are the most")
        for argument in self.graph_data["inputs"]:
            self._placeholder(argument)
        for data in self.graph_data["nodes"]:
            self._call(data)

    def _placeholder(self, argument: Mapping[str, Any]) -> None:
        if "as_tensor" in argument:
            name = argument["as_tensor"]["name"]
            self._keep(name, self.graph.placeholder(name), self._value(name))
        elif "as_sym_int" in argument:
            name = argument["as_sym_int"]["as_name"]
            self._name(self.graph.placeholder(name), name)
            self._computed(argument)
        elif not argument.keys() & {"as_none", "as_int", "as_float", "as_bool", "as_string"}:
            (kind, _), *_ = argument.items()
            raise ImportFailed(f"{self.label}: an input is {kind.removeprefix('as_')}, no tensor")

    def _computed(self, output: Mapping[str, Any]) -> None:
        """Note the number that a call computes of sizes, unless the values of the input decide."""
        ((kind, value),) = output.items()
        name = value.get("as_name")
        self.numbers[name] = number_of(self.graph_data[f"{kind[3:]}_values"][name], self.symbols)

    def _keep(self, name: str, node: torch.fx.Node, value: Any) -> None:
        if name in self.nodes:
            raise BadInput(f"{self.label} gives the name {name!r:.80} to two values")
        self._name(node, name)
        node.meta["val"] = value
        self.nodes[name] = node

    def _name(self, node: torch.fx.Node, name: Any) -> None:
        """Give a call the file's name, which `fx` would change where Python has it too."""
        while name is None and node.name in self.graph_data["tensor_values"]:
            node.name += "_"
        if name is None:
            return
        if not isinstance(name, str) or not NAME.fullmatch(name) or name in self.nodes:
            raise BadInput(f"{self.label}: {name!r:.80} is no name for a value, or is there twice")
        node.name = name

    def _value(self, name: str) -> torch.Tensor:
        """A tensor without data, as the file describes it."""
        meta = self.graph_data["tensor_values"][name]
        if meta["dtype"] not in PT2_TYPES:
            raise ImportFailed(f"{self.label}: {name!r:.80} has an unknown type {meta['dtype']!r}")
        dtype = getattr(torch, PT2_TYPES[meta["dtype"]], None)
        if dtype is None:
            raise ImportFailed(f"{self.label}: this PyTorch has no {PT2_TYPES[meta['dtype']]}")
        shape = shape_of(meta, name, self.symbols)
        strides = strides_of(meta, shape, self.symbols)
        return torch.empty_strided(shape, strides, dtype=dtype, device="meta")

    def _call(self, data: Mapping[str, Any]) -> None:
        outputs = data["outputs"]
        if len(outputs) == 1 and outputs[0].keys() & NUMBER:
            return self._computed(outputs[0])
        target = self._operator(data["target"])
        args, kwargs = self._arguments(data["inputs"])
        single = len(outputs) == 1 and "as_tensor" in outputs[0]
        single = single and not isinstance(target, torch._ops.HigherOrderOperator)
        name = outputs[0]["as_tensor"]["name"] if single else data.get("name")
        node = self.graph.create_node("call_function", target, args, kwargs, name)
        self._name(node, name)
        node.meta["nn_module_stack"] = _stack(data["metadata"].get("nn_module_stack", ""))
        if single:
            self._keep(node.name, node, self._value(node.name))
            return None
        many = (
            outputs[0]["as_tensors"] if len(outputs) == 1 and "as_tensors" in outputs[0] else None
        )
        parts = many if many is not None else [_only_tensor(part) for part in outputs]
        values = [None if part is None else self._value(part["name"]) for part in parts]
        self._keep(node.name, node, values if values else None)
        for index, part in enumerate(parts):
            if part is not None and part["name"] in self.read_names:
                item = self.graph.create_node(
                    "call_function", operator.getitem, (node, index), {}, part["name"]
                )
                self._keep(part["name"], item, values[index])
        return None

    def _operator(self, target: Any) -> Any:
        """An operator of PyTorch by its name; whatever else a file may name is not looked at."""
        holder = HIGHER.fullmatch(target) if isinstance(target, str) else None
        if holder is not None:
            return higher_order(holder.group(1), self.label)
        match = KNOWN.fullmatch(target) if isinstance(target, str) else None
        if match is None:
            raise ImportFailed(f"{self.label} calls {target!r:.80}, which is not ATen's")
        library, name, overloaded = match.groups()
        packet = (
            torchao_operator(name)
            if library == "torchao"
            else getattr(getattr(torch.ops, library), name, None)
        )
        overload = getattr(packet, overloaded, None)
        if not isinstance(overload, torch._ops.OpOverload):
            hint = ": it is known where torchao was imported before" * (library == "torchao")
            raise ImportFailed(
                f"{self.label} calls {target:.80}, which this PyTorch does not have{hint}"
            )
        return overload

    def _arguments(self, inputs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        args, kwargs = [], {}
        for item in inputs:
            value = self._argument(item["arg"])
            if item.get("kind") == KEYWORD:
                kwargs[str(item["name"])] = value
            else:
                args.append(value)
        return tuple(args), kwargs

    def _argument(self, argument: Mapping[str, Any]) -> Any:
        ((kind, value),) = argument.items()
        kind = kind.removeprefix("as_")
        if kind in PLAIN:
            return NUMBERS.get(value, value) if kind == "float" and value in NUMBERS else value
        match kind:
            case "none":
                return None
            case "tensor":
                return self.nodes[value["name"]]
            case "tensors":
                return [self.nodes[part["name"]] for part in value]
            case "optional_tensors" | "optional_tensor":
                parts = [self._argument(p) for p in (value if kind[-1] == "s" else [value])]
                return parts if kind[-1] == "s" else parts[0]
            case "sym_int" | "sym_float" | "sym_bool":
                return self._sym(value)
            case "sym_ints" | "sym_floats" | "sym_bools":
                return [self._sym(part) for part in value]
            case "graph":
                return self._inner(value["name"], value["graph"])
            case "scalar_type":
                return getattr(torch, PT2_TYPES[value])
            case "memory_format":
                return getattr(torch, FORMATS[value]) if value in FORMATS else None
            case "layout":
                return torch.strided
            case "device":
                return torch.device("cpu")
        raise ImportFailed(f"{self.label}: an argument is {kind:.40}, which is not supported")

    def _inner(self, name: str, graph_data: Mapping[str, Any]) -> torch.fx.Node:
        """A graph that a call holds."""
        inner = _GraphReader(graph_data, self.label)
        inner.symbols = self.symbols
        inner.read_calls()
        inner.graph.output([inner._argument(output) for output in graph_data["outputs"]])
        self.graphs[name] = SimpleNamespace(graph=inner.graph, **inner.graphs)
        node = self.graph.create_node("get_attr", name, (), {}, name)
        self._name(node, name)
        return node

    def _sym(self, part: Mapping[str, Any]) -> Any:
        """A number, or what was computed of sizes."""
        ((kind, value),) = part.items()
        if kind != "as_name":
            return value
        if self.numbers[value] is None:
            raise ImportFailed(f"{self.label}: {value} depends on the values of the input")
        return self.numbers[value]


class _ProgramFile(_GraphReader):
    """Builds what `read_program` takes: calls, and a signature."""

    def __init__(self, data: Mapping[str, Any], label: str, shapes: Any) -> None:
        module = data["graph_module"]
        super().__init__(module["graph"], label)
        self.signature = module["signature"]
        self.stored: dict[str, torch.Tensor] = {}
        self.symbols = self._symbols(data.get("range_constraints") or {}, shapes)

    def read(self) -> Any:
        """The program, with the shapes of what a user gives it."""
        self.read_calls()
        inputs = [spec for data in self.signature["input_specs"] for spec in self._input(data)]
        outputs = [self._output(data) for data in self.signature["output_specs"]]
        returned = [spec.arg.name for spec in outputs if isinstance(spec.arg, TensorArgument)]
        self.graph.output([self.nodes[name] for name in returned])
        given = [spec.arg.name for spec in inputs if spec.kind == InputKind.USER_INPUT]
        return SimpleNamespace(
            graph=self.graph,
            graph_module=SimpleNamespace(**self.graphs),
            graph_signature=SimpleNamespace(input_specs=inputs, output_specs=outputs),
            state_dict=self.stored,
            constants=self.stored,
            call_spec=SimpleNamespace(out_spec=None),
            input_shapes=[tuple(self.nodes[name].meta["val"].shape) for name in given],
        )

    def _symbols(self, ranges: Mapping[str, Any], shapes: Any) -> dict[str, int]:
        """The number of each symbol in sizes: of the example, or of the shapes that are asked for.

        Raises `BadInput` for shapes that the program does not take.
        """
        specs = self.signature["input_specs"]
        given = [spec["user_input"]["arg"] for spec in specs if "user_input" in spec]
        names = [arg["as_tensor"]["name"] for arg in given if "as_tensor" in arg]
        examples = [sizes_of(self.graph_data["tensor_values"][name], name) for name in names]
        sizes = []
        for name, example, shape in zip(
            names, examples, self._asked(names, examples, shapes), strict=True
        ):
            if len(shape) != len(example):
                axes = f"{len(example)} axes, not {len(shape)}"
                raise BadInput(f"{self.label}: {name} has {axes}")
            for axis, (size, number) in enumerate(zip(example, shape, strict=True)):
                sizes.append(GivenSize(f"axis {axis} of {name}", size_of(size, name), number))
        for name in (arg["as_sym_int"]["as_name"] for arg in given if "as_sym_int" in arg):
            size = self.graph_data["sym_int_values"][name]
            sizes.append(GivenSize(name, size_of(size, name), example_of(size)))
        limits = {name: (one["min_val"], one["max_val"]) for name, one in ranges.items()}
        return solved(self.label, sizes, limits)

    def _asked(self, names: list[str], in_file: list[list[Any]], shapes: Any) -> list[Any]:
        """A shape for each input: its example's where none is asked for."""
        examples = [[example_of(size) for size in sizes] for sizes in in_file]
        flat = shapes and all(isinstance(size, int) for size in shapes)
        if shapes is None or (flat and shapes in examples):
            return examples
        shapes = [shapes] if flat else shapes
        if len(shapes) != len(names) or not all(isinstance(shape, list) for shape in shapes):
            raise BadInput(f"{self.label} takes {len(names)} inputs ({', '.join(names):.80})")
        return list(shapes)

    def _input(self, data: Mapping[str, Any]) -> Iterator[InputSpec]:
        """What an input is; those that are no tensors are left out."""
        ((kind, spec),) = data.items()
        if kind == "user_input":
            if "as_tensor" in spec["arg"]:
                name = TensorArgument(spec["arg"]["as_tensor"]["name"])
                yield InputSpec(InputKind.USER_INPUT, name, None)
        elif kind in ("parameter", "buffer", "tensor_constant"):
            target, arg = spec[f"{kind}_name"], spec["arg"]["name"]
            self.stored[target] = self.nodes[arg].meta["val"]
            real = InputKind[kind.upper() if kind != "tensor_constant" else "CONSTANT_TENSOR"]
            persistent = bool(spec.get("persistent", True)) if kind == "buffer" else None
            yield InputSpec(real, TensorArgument(arg), target, persistent)
        elif kind != "constant_input":
            raise ImportFailed(f"{self.label}: an input is a {kind}, which is not supported")

    def _output(self, data: Mapping[str, Any]) -> OutputSpec:
        ((kind, spec),) = data.items()
        if kind == "buffer_mutation":
            name = TensorArgument(spec["arg"]["name"])
            return OutputSpec(OutputKind.BUFFER_MUTATION, name, spec["buffer_name"])
        if kind != "user_output":
            target = next((value for key, value in spec.items() if key.endswith("_name")), kind)
            raise ImportFailed(f"{self.label}: writes its own {target}: not inference")
        arg = spec["arg"]
        if "as_tensor" not in arg:
            number = self._sym(arg["as_sym_int"]) if "as_sym_int" in arg else None
            return OutputSpec(OutputKind.USER_OUTPUT, ConstantArgument("", number), None)
        name = arg["as_tensor"]["name"]
        if name not in self.nodes:
            raise BadInput(f"{self.label}: nothing writes the output {name!r:.80}")
        return OutputSpec(OutputKind.USER_OUTPUT, TensorArgument(name), None)


def _only_tensor(part: Mapping[str, Any]) -> Any:
    return part.get("as_tensor")


def _names(data: Any) -> Iterator[str]:
    """The names of all tensors that are read somewhere in arguments."""
    if isinstance(data, list):
        for part in data:
            yield from _names(part)
    elif isinstance(data, dict):
        for key, value in data.items():
            if key == "as_tensor":
                yield value["name"]
            elif key == "as_tensors":
                yield from (part["name"] for part in value)
            elif key.startswith("as_") or key == "arg":
                yield from _names(value)


def _stack(text: str) -> dict[str, tuple[str, str]]:
    """The modules that a call is in: `key,path,type` for each, outermost first."""
    modules = {}
    for item in text.split(";") if text else ():
        key, path, kind = _split(item)
        modules[key] = (path, kind)
    return modules


def _split(text: str) -> list[str]:
    """At commas that are in no brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "[(") - (letter in ")]")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return parts
