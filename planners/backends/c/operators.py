"""An operator in integers as C: its struct of numbers, its arrays, and the call of its kernel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planners.backends.c.places import as_image
from planners.backends.c.weights import as_type
from planners.backends.int8.geometry import Image
from planners.backends.int8.net import QOp
from planners.core.errors import BadInput
from planners.core.graph import Graph

STRUCT = {
    "conv": "conv",
    "linear": "conv",
    "max_pool": "pool",
    "avg_pool": "pool",
    "add": "binary",
    "mul": "binary",
    "cat": "copy",
    "table": "copy",
}
WINDOWED = frozenset({"conv", "max_pool", "avg_pool"})

Fields = Mapping[str, str | int]


class Coded:
    """One operator under the identifier `name`: `constants` are the arrays that it names."""

    def __init__(self, graph: Graph, op: QOp, name: str) -> None:
        self.op, self.name = op, name
        self.sources = [as_image(graph, t) for t in op.inputs]
        self.target = as_image(graph, op.output)
        self.constants: dict[str, NDArray[Any]] = {}
        self._check()
        self.definition = "".join(self._definitions())

    @property
    def struct(self) -> str:
        return f"&op_{self.name}"

    @property
    def kernel(self) -> str:
        """The kernel that makes one pixel of the output."""
        op = self.op
        if op.kind == "linear" or self.pointwise:
            return "pointwise_pixel"
        if op.kind == "conv":
            return "depthwise_pixel" if self.depthwise else "conv_pixel"
        return {"avg_pool": "average_pixel"}.get(op.kind, f"{op.kind}_pixel")

    @property
    def pointwise(self) -> bool:
        op = self.op
        plain = op.kernel == op.stride == (1, 1) and op.padding == (0, 0)
        return op.kind == "conv" and op.groups == 1 and plain

    @property
    def depthwise(self) -> bool:
        return self.op.kind == "conv" and self.op.groups > 1 and self._shape == (self.op.groups, 1)

    @property
    def rows(self) -> int:
        """Of a linear operator: how many vectors it maps."""
        return self.sources[0].pixels * self.sources[0].channels // self._shape[1]

    @property
    def flattens(self) -> bool:
        """Whether it reads all pixels of its input as one vector."""
        return self.op.kind == "linear" and self._shape[1] != self.sources[0].channels

    @property
    def taps(self) -> int:
        """Pixels under its window, where the kernel lists them."""
        return self.op.kernel[0] * self.op.kernel[1] if self.op.kind == "conv" else 1

    def calls(self, sources: Sequence[str], target: str, pixel: str) -> list[str]:
        """Statements that make a pixel of the output; places are C expressions."""
        if self.op.kind != "cat":
            return [f"{self.kernel}({', '.join([self.struct, *sources, target, pixel])});"]
        return [
            f"cat_pixel(&op_{self.name}_{i}, {source}, {target}, {pixel});"
            for i, source in enumerate(sources)
        ]

    def last_needed(self, index: int, source: str, target: str, pixel: str) -> str:
        """The last pixel of input `index` that a pixel of the output reads, in C."""
        if self.flattens:
            return str(self.sources[index].pixels - 1)
        if self.op.kind in WINDOWED and not self.pointwise:
            return f"last_under({self.struct}.window, {source}, {target}, {pixel})"
        return "0" if index == self._broadcast else pixel

    @property
    def _shape(self) -> tuple[int, int]:
        """Rows of the weights and numbers that one of them meets in each pixel."""
        assert self.op.weight is not None
        return self.op.weight.shape[0], self.op.weight.shape[-1]

    @property
    def _broadcast(self) -> int:
        if self.op.kind != "mul" or self.target.pixels == 1:
            return -1
        single = [i for i, source in enumerate(self.sources) if source.pixels == 1]
        return single[0] if len(single) == 1 else -1

    def _check(self) -> None:
        """Raises `BadInput` for what the kernels would compute wrongly."""
        op, problem = self.op, ""
        if op.kind not in ("max_pool", "table") and not 1 <= op.shift <= 62:
            problem = f"a shift of {op.shift}"
        elif op.kind in ("conv", "linear"):
            problem = self._check_sums()
        elif op.kind in ("add", "mul", "table", "cat"):
            pixels = {s.pixels for i, s in enumerate(self.sources) if i != self._broadcast}
            if pixels != {self.target.pixels}:
                problem = "inputs whose shape is not the output's"
        elif self.target.channels != self._channels(0):
            problem = "channels that come and go"
        if problem:
            raise BadInput(f"C code cannot run operator {op.name!r}: it has {problem}")

    def _check_sums(self) -> str:
        op = self.op
        assert op.weight is not None
        assert op.bias is not None
        if op.kind == "linear" and self.rows != self.target.pixels:
            return "weights that do not suit its input"
        reach = np.abs(op.weight.astype(np.int64)).reshape(len(op.weight), -1).sum(axis=1) * 255
        largest = int((reach + np.abs(op.bias.astype(np.int64))).max())
        return "sums that may leave int32" if largest >= 2**31 else ""

    def _channels(self, index: int) -> int:
        chosen = self.op.channels_of(index)
        return self.sources[index].channels if chosen is None else len(chosen)

    def _definitions(self) -> Iterator[str]:
        struct = STRUCT[self.op.kind]
        if self.op.kind == "cat":
            first = 0
            for i in range(len(self.op.inputs)):
                yield _struct(struct, f"{self.name}_{i}", self._copy(i, first))
                first += self._channels(i)
            return
        fields = {"conv": self._conv, "pool": self._pool, "binary": self._binary}
        yield _struct(struct, self.name, fields.get(struct, self._copy)())

    def _conv(self) -> Fields:
        op = self.op
        assert op.weight is not None
        assert op.bias is not None
        return {
            "window": self._window(),
            "groups": op.groups,
            "outputs": self._shape[0],
            "depth": self._shape[1],
            "in": self._operand(0),
            "out": self._result(),
            "weight": self._array("weight", op.weight, np.int8),
            "bias": self._array("bias", op.bias, np.int32),
            "multiplier": self._array("multiplier", op.multiplier, np.int32),
        }

    def _pool(self) -> Fields:
        fields: dict[str, str | int] = {
            "window": self._window(),
            "channels": self.target.channels,
            "in": self._operand(0),
            "out": self._result(),
        }
        if self.op.kind == "avg_pool":
            counts = averaged(self.op, self.sources[0], self.target)
            used = self.op.multiplier[min(counts) : max(counts) + 1]
            fields["count_padding"] = int(self.op.count_include_pad)
            fields["fewest"] = min(counts)
            fields["multiplier"] = self._array("multiplier", used, np.int32)
        return fields

    def _binary(self) -> Fields:
        multiplier = ", ".join(str(m) for m in self.op.multiplier.tolist())
        return {
            "channels": self.target.channels,
            "broadcast": self._broadcast,
            "in": f"{{{self._operand(0)}, {self._operand(1)}}}",
            "out": self._result(),
            "multiplier": f"{{{multiplier}}}",
        }

    def _copy(self, index: int = 0, first: int = 0) -> Fields:
        multiplier = self.op.multiplier
        return {
            "channels": self._channels(index),
            "first": first,
            "in": self._operand(index),
            "out": self._result(),
            "multiplier": int(multiplier[index]) if index < len(multiplier) else 0,
        }

    def _window(self) -> str:
        op = self.op
        pairs = {"stride": op.stride, "padding": op.padding, "dilation": op.dilation}
        lines = [_braces({"height": op.kernel[0], "width": op.kernel[1]})[1:-1]]
        lines += [_braces({f"{key}_y": y, f"{key}_x": x})[1:-1] for key, (y, x) in pairs.items()]
        return "{" + ",\n               ".join(lines) + "}"

    def _operand(self, index: int) -> str:
        chosen = self.op.channels_of(index)
        channels = "NULL"
        if chosen is not None:
            channels = self._array(f"channels_{index}", chosen, np.int16)
        zeros = self.op.zero_in
        zero = zeros[index] if index < len(zeros) else 0
        return _braces({"zero": zero, "channels": channels})

    def _result(self) -> str:
        op = self.op
        table = "NULL" if op.table is None else self._array("table", op.table, np.int8)
        numbers = {"shift": op.shift, "zero": op.zero_out, "low": op.low, "high": op.high}
        return _braces({**numbers, "table": table})

    def _array(self, what: str, values: NDArray[Any], dtype: type[np.generic]) -> str:
        name = f"{what}_{self.name}"
        try:
            self.constants[name] = as_type(values, dtype)
        except OverflowError as error:
            raise BadInput(f"C code cannot run operator {self.op.name!r}: {error}") from error
        return name


def averaged(op: QOp, source: Image, target: Image) -> set[int]:
    """How many values the averages of an operator are over."""
    sizes = zip(
        (source.height, source.width),
        (target.height, target.width),
        op.kernel,
        op.stride,
        op.padding,
    )
    sides = [_counts(op.count_include_pad, *side) for side in sizes]
    return {rows * columns for rows in sides[0] for columns in sides[1]}


def _counts(with_padding: bool, size: int, outputs: int, k: int, stride: int, pad: int) -> set[int]:
    beside = pad if with_padding else 0
    starts = [i * stride - pad for i in range(outputs)]
    return {min(start + k, size + beside) - max(start, -beside) for start in starts}


def _struct(kind: str, name: str, fields: Fields) -> str:
    body = "".join(f"    .{key} = {value},\n" for key, value in fields.items())
    return f"static const {kind} op_{name} = {{\n{body}}};\n"


def _braces(fields: Fields) -> str:
    return "{" + ", ".join(f".{key} = {value}" for key, value in fields.items()) + "}"
