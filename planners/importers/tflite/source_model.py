"""A file with its own weights, run call by call for the executor, as the runtime computes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from planners.core.errors import BadInput
from planners.importers.passes import needed
from planners.importers.tflite.file import TfliteFile, TfliteTensor, read_tflite
from planners.importers.tflite.inlined import first_values
from planners.importers.tflite.kernels.by_kind import KERNELS, MOVES, SUMS
from planners.importers.tflite.kernels.call import (
    KernelCall,
    OutsideData,
    QuantisedAs,
    Unsupported,
)
from planners.importers.tflite.kernels.elements import clamped
from planners.importers.tflite.kernels.windows import LARGEST, finished
from planners.importers.tflite.lowering import fuses
from planners.importers.tflite.open_axes import resized
from planners.importers.tflite.reader import MALFORMED, VARIABLES, SubgraphReader
from planners.importers.tflite.values import TfliteNode
from planners.importers.torch.aten_calls import Aten

_WEIGHT_AXES = {
    "CONV_2D": (0, 3, 1, 2),
    "DEPTHWISE_CONV_2D": (3, 0, 1, 2),
    "TRANSPOSE_CONV": (3, 0, 1, 2),
}
"""How the weight of an operator is turned for PyTorch's words."""


class TfliteModel:
    """The calls of a file by the names that its graph gives them, as `SourceModel` has a module's.

    Values are tensors with their channels second, as in the graph; kernels are those of TensorFlow
    Lite Micro. `shapes` are those of the inputs where they are not the file's. Raises `BadInput`
    for shapes that the file does not take, and for an operator without a kernel here, named.
    """

    def __init__(self, path: str | Path, shapes: Any = None) -> None:
        file: TfliteFile | None = read_tflite(path)
        if file is not None and shapes is not None:
            file = resized(file, shapes)
        if file is None:
            raise BadInput(f"{path} takes no inputs of the shapes {shapes!s:.80}")
        self.file = file
        self.found = SubgraphReader(self.file).read()
        self.graph = self.found.graph
        self._begin = first_values(self.file, self.graph)
        self._turns = dict(self._weight_turns())
        self._kept: dict[str, torch.Tensor] = {}
        calls, nodes = self.found.calls.calls, self.found.calls.nodes
        live = needed(calls, self.found.trace.outputs, ())
        for operator in {n: nodes[n].operator for n in calls if n in live}.values():
            runs = operator.kind in KERNELS or operator.kind in MOVES | VARIABLES
            if operator.custom or not runs:
                raise BadInput(
                    f"{self.file.path}: {operator.label} cannot be executed: there is no kernel "
                    "for it here"
                )

    def _weight_turns(self) -> Any:
        for operator in self.graph.operators:
            if operator.kind in _WEIGHT_AXES and len(operator.inputs) > 1:
                name = self.found.values.names[operator.inputs[1]]
                if self.is_parameter(name):  # not one behind DEQUANTIZE, which is turned as maps
                    yield name, _WEIGHT_AXES[operator.kind]

    # ---- values ---------------------------------------------------------------------------------

    def parameter(self, name: str) -> torch.Tensor:
        """A weight of the file in the graph's shape, or what a state begins as."""
        if name not in self._kept:
            self._kept[name] = self._stored(name)
        return self._kept[name]

    def is_parameter(self, name: str) -> bool:
        return name in self.found.values.parameters

    def _stored(self, name: str) -> torch.Tensor:
        values = self.found.values
        if name in self.found.trace.state:
            return self._first(name)
        if name not in values.parameters:
            raise BadInput(f"{self.file.path} has no weight named {name!r:.80}")
        tensor, shape = values.tensors[name], values.of[name].shape
        array = self.file.numbers(tensor)
        if array is None:
            raise BadInput(f"{self.file.path}: {name!r:.80} of {tensor.dtype} cannot be executed")
        array = array.astype(array.dtype.newbyteorder("="))
        turn = self._turns.get(name)
        if turn is not None:
            return torch.from_numpy(np.ascontiguousarray(array.transpose(turn)))
        if len(shape) in (4, 5):
            ones = (1,) * (len(shape) - array.ndim)
            array = np.moveaxis(array.reshape(*ones, *array.shape), -1, 1)
        return torch.from_numpy(np.ascontiguousarray(array.reshape(shape)))

    def _first(self, name: str) -> torch.Tensor:
        """What a state begins as: what the file says, or zero, as the runtime fills it."""
        value = self.found.values.of[name]
        begin = self._begin.get(self.found.variables.get(name, ""))
        if begin is not None:
            return _here(begin.astype(value.dtype)).reshape(value.shape)
        zero = self.zero(name) if value.dtype == "int8" else 0
        if zero not in range(-128, 128):
            raise BadInput(f"{self.file.path}: the zero of {name!r:.80} is {zero}, no int8")
        return torch.full(value.shape, zero, dtype=getattr(torch, value.dtype))

    def input_values(self, inputs: Sequence[Any]) -> dict[str, torch.Tensor]:
        """The inputs, arrays as the file lays them, by name and with channels second."""
        wanted = self.found.inputs
        arrays = [np.asarray(value) for value in inputs]
        tensors = [self.found.values.tensors[t.name] for t in wanted]
        if [(a.shape, str(a.dtype)) for a in arrays] != [(t.shape, t.dtype) for t in tensors]:
            need = ", ".join(f"{t.name} {'x'.join(map(str, t.shape))} {t.dtype}" for t in tensors)
            raise BadInput(f"{self.file.path} takes the inputs {need}; these differ")
        return {t.name: _here(a) for t, a in zip(wanted, arrays, strict=True)}

    def random_inputs(self, seed: int | np.random.Generator) -> list[NDArray[Any]]:
        """Inputs drawn by chance: all whole numbers that a type has, normal ones of float."""
        rng, drawn = np.random.default_rng(seed), []
        for wanted in self.found.inputs:
            tensor = self.found.values.tensors[wanted.name]
            self._require_room(wanted.name)
            drawn.append(_drawn(rng, tensor))
        return drawn

    def _require_room(self, name: str) -> None:
        """Raise `BadInput` for a tensor that is larger than any that is run."""
        tensor = self.found.values.tensors.get(name)
        if tensor is not None and tensor.elements > LARGEST:
            raise BadInput(f"{self.file.path}: {name!r:.80} has {tensor.elements:,} elements")

    def outputs(self, stored: Mapping[str, torch.Tensor]) -> tuple[NDArray[Any], ...]:
        """What the file returns, as it lays it, from the stored tensors in `stored`."""
        missing = [name for name in self.found.outputs if name not in stored]
        values = {**stored, **self.run(stored, missing)}
        arrays = []
        for number, name in zip(self.graph.outputs, self.found.outputs, strict=True):
            value = values[name] if name in values else self.parameter(name)
            arrays.append(_there(value).reshape(self.graph.tensors[number].shape))
        return tuple(arrays)

    @property
    def owners(self) -> Mapping[str, str]:
        """The name of each tensor that is kept from run to run."""
        return {name: name for name in self.found.trace.state}

    # ---- calls ----------------------------------------------------------------------------------

    def run(
        self, given: Mapping[str, torch.Tensor], wanted: Sequence[str]
    ) -> dict[str, torch.Tensor]:
        """All calls that these values need and that are not known."""
        calls, names, left = self.found.calls.calls, set(), list(wanted)
        while left:
            name = left.pop()
            if name in calls and name not in given and name not in names:
                names.add(name)
                left += calls[name].reads
        return self.evaluate([name for name in calls if name in names], given)

    def evaluate(
        self, names: Sequence[str], given: Mapping[str, torch.Tensor], run: Any = None
    ) -> dict[str, torch.Tensor]:
        """Run these calls in order, as `SourceModel.evaluate` does."""
        results: dict[str, Any] = {}

        def value(name: str) -> Any:
            name = self.found.calls.resolve(name)
            for place in (results, given):
                if name in place:
                    return place[name]
            call = self.found.calls.calls.get(name)
            if call is not None and call.pads:  # folded into the window that reads it
                return self._call(name, self.found.calls.nodes[name], value)
            if not self.is_parameter(name) and name not in self.found.trace.state:
                raise BadInput(f"the value {name!r:.80} is needed here and is not known")
            return self.parameter(name)

        for name in names:
            node = self.found.calls.nodes[name]
            for output in node.every_output:
                self._require_room(output)
            try:
                results[name] = self._call(name, node, value)
            except Unsupported as why:
                raise BadInput(
                    f"{self.file.path}: {node.operator.label} cannot be executed: there is no "
                    f"kernel for {why} here"
                ) from None
            except OutsideData as why:
                raise BadInput(
                    f"{self.file.path}: {node.operator.label} cannot be executed: {why}"
                ) from None
            except (*MALFORMED, RuntimeError, MemoryError) as error:
                raise BadInput(
                    f"{self.file.path}: {node.operator.label} is malformed: {error!s:.80}"
                ) from error
        return {name: v for name, v in results.items() if isinstance(v, torch.Tensor)}

    def _call(self, name: str, node: TfliteNode, value: Any) -> Any:
        call = self.found.calls.calls[name]
        if call.item:
            return value(call.reads[0])[node.every_output.index(name)]
        what = self.found.calls.said[name]
        shape = None if call.tensor is None else call.tensor.shape
        if fuses(what):
            out = self._quantised(node.operator.outputs[0])
            assert out is not None
            code = int(node.get("FusedActivationFunction", 0))
            return torch.from_numpy(clamped(value(call.reads[0]).numpy(), code, out))
        if what.kind == "copy":  # what a variable is assigned
            return value(call.reads[-1])
        moves = node.operator.kind in MOVES and what.kind not in self.found.calls.opaque
        if moves or what.kind == "reshape":
            return _moved(what, value(call.reads[0]), shape, node)
        arrays = KERNELS[node.operator.kind](self._kernel_call(node, call.reads, what, value))
        tensors = [_here(array) for array in arrays]
        if shape is None:
            return tensors
        given = node.every_output
        return tensors[given.index(name) if name in given else 0].reshape(shape)

    def _kernel_call(
        self, node: TfliteNode, reads: Sequence[str], what: Aten, value: Any
    ) -> KernelCall:
        """What the operator's kernel is given; its first operand may be the step before.

        What the call does not read says how large its value is: the file has that.
        """
        operator = node.operator
        arrays: list[NDArray[Any] | None] = []
        stepped = next((r for r in reads if r not in self.found.values.tensors), None)
        for place in range(len(operator.inputs)):
            name = node.input(place)
            read = self.found.calls.resolve(name) in reads
            if not name:
                arrays.append(None)
            elif place == 0 and stepped is not None and "input" in what.operands:
                arrays.append(_there(value(stepped)))
            elif name in self.found.values.arrays and not read:
                arrays.append(self.found.values.arrays[name])
            else:
                laid = read or self.is_parameter(name)
                arrays.append(self._laid(node, place, value(name)) if laid else None)
        return KernelCall(
            operator.kind,
            operator.get,
            tuple(arrays),
            tuple(self._quantised(n) if n >= 0 else None for n in operator.inputs),
            tuple(q for n in operator.outputs if (q := self._quantised(n)) is not None),
        )

    def sums(self, name: str, given: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """A convolution's or linear layer's sums of products, without its bias; int32 of int8."""
        sums_here = SUMS[self._node(name).operator.kind](self._call_of(name, given))
        return _here(sums_here.astype(np.int32) if sums_here.dtype == np.int64 else sums_here)

    def finish(
        self, name: str, sums: torch.Tensor, given: Mapping[str, torch.Tensor]
    ) -> torch.Tensor:
        """Its value from these sums."""
        laid = _there(sums)
        wide = laid.astype(np.int64) if laid.dtype == np.int32 else laid
        return _here(finished(self._call_of(name, given), wide))

    def zero(self, name: str) -> int:
        """The element of a value that stands for zero."""
        tensor = self.found.values.tensors.get(name)
        quantised = None if tensor is None else self._quantised(tensor.number)
        return quantised.zero if quantised is not None and quantised.whole else 0

    def _node(self, name: str) -> TfliteNode:
        node: TfliteNode = self.found.calls.nodes[name]
        return node

    def _call_of(self, name: str, given: Mapping[str, torch.Tensor]) -> KernelCall:
        def value(wanted: str) -> torch.Tensor:
            wanted = self.found.calls.resolve(wanted)
            if wanted in given:
                return given[wanted]
            call = self.found.calls.calls.get(wanted)
            if call is not None and call.pads:
                return self.evaluate([wanted], given)[wanted]
            return self.parameter(wanted)

        calls = self.found.calls
        return self._kernel_call(self._node(name), calls.calls[name].reads, calls.said[name], value)

    def _laid(self, node: TfliteNode, place: int, value: torch.Tensor) -> NDArray[Any]:
        """An operand as the file lays it; weights of convolutions were turned their own way."""
        turn = self._turns.get(node.input(place))
        if turn is not None and place == 1:
            return value.permute(*np.argsort(turn).tolist()).numpy()
        return _there(value)

    def _quantised(self, number: int) -> QuantisedAs | None:
        if number < 0:
            return None
        tensor = self.graph.tensors[number]
        zero = tensor.zeros[0] if tensor.zeros else 0
        return QuantisedAs(tensor.dtype, tensor.shape, tensor.scales, zero)


def _moved(what: Aten, data: torch.Tensor, shape: Any, node: TfliteNode) -> Any:
    """Elements moved, in the order of axes that the graph has; reshaped as the file lays them."""
    args = what.args
    if what.kind == "reshape":
        return _here(_there(data).reshape(_laid_shape(shape)))
    if what.kind == "permute":
        return data.permute(*args["dims"])
    if what.kind == "slice":
        stop = args["start"] + args["step"] * shape[args["dim"]]
        cut = [slice(None)] * data.ndim
        cut[args["dim"]] = slice(args["start"], stop, args["step"])
        return data[tuple(cut)]
    if what.kind == "split_with_sizes":
        sizes = [node.values.of[name].shape[args["dim"]] for name in node.every_output]
        return list(torch.split(data, sizes, args["dim"]))
    raise Unsupported(node.operator.kind)


def _laid_shape(shape: Sequence[int]) -> tuple[int, ...]:
    return (shape[0], *shape[2:], shape[1]) if len(shape) in (4, 5) else tuple(shape)


def _there(value: torch.Tensor) -> NDArray[Any]:
    """A value as files lay it: maps with channels last."""
    laid: NDArray[Any] = value.movedim(1, -1).numpy() if value.ndim in (4, 5) else value.numpy()
    return laid


def _here(array: NDArray[Any]) -> torch.Tensor:
    """The same with channels second."""
    value = torch.from_numpy(np.ascontiguousarray(array).reshape(array.shape))
    return value.movedim(-1, 1) if value.ndim in (4, 5) else value


def _drawn(rng: np.random.Generator, tensor: TfliteTensor) -> NDArray[Any]:
    kind = np.dtype(tensor.dtype)
    if kind.kind == "f":
        return rng.standard_normal(tensor.shape).astype(kind)
    if kind.kind == "b":
        return rng.integers(0, 2, tensor.shape).astype(kind)
    limits = np.iinfo(kind)
    return rng.integers(limits.min, limits.max + 1, tensor.shape).astype(kind)
