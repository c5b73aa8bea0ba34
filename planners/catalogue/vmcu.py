"""The layers and blocks that the vMCU paper measures, as graphs: `vmcu:S1`, `vmcu:B17`, `vmcu:P1`.

Source: "vMCU: Coordinated Memory Management and Kernel Optimization for DNN Inference on MCUs",
MLSys 2024, Table 2 and Figures 7 to 10. One byte an element, batch norms folded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from math import prod

from planners.core.errors import BadInput, UnknownName
from planners.core.graph import Graph, Operator, Part, Tensor

PREFIX = "vmcu:"


@dataclass(frozen=True, slots=True)
class BottleneckShape:
    """An inverted bottleneck: expand 1×1, depthwise, project 1×1, and A added where shapes allow.

    `size`: height and width of A. `strides`: of the three convolutions.
    """

    name: str
    size: int
    c_in: int
    mid: int
    c_out: int
    kernel: int
    strides: tuple[int, int, int] = (1, 1, 1)

    @property
    def padding(self) -> int:
        return self.kernel // 2

    @property
    def residual(self) -> bool:
        return self.strides == (1, 1, 1) and self.c_in == self.c_out

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """Height and width of A, B, C and D."""
        first, second, third = self.strides
        b = -(-self.size // first)
        c = (b + 2 * self.padding - self.kernel) // second + 1
        return self.size, b, c, -(-c // third)

    @property
    def bytes(self) -> tuple[int, int, int, int]:
        """Bytes of A, B, C and D."""
        a, b, c, d = self.sizes
        return a * a * self.c_in, b * b * self.mid, c * c * self.mid, d * d * self.c_out


@dataclass(frozen=True, slots=True)
class Pointwise:
    """A 1×1 convolution of `size` × `size` pixels; `stated`: the paper's text names its shape."""

    name: str
    size: int
    c_in: int
    c_out: int
    stated: bool = False


_TABLE_2 = """\
S1 20 16 48 16 3 1,1,1
S2 20 16 48 16 3 1,1,1
S3 10 24 144 16 3 1,1,1
S4 10 24 120 24 3 1,1,1
S5 5 40 240 40 3 1,1,1
S6 5 48 192 48 3 1,1,1
S7 3 96 480 96 3 1,1,1
S8 3 96 384 96 3 1,1,1
B1 176 3 16 8 3 2,1,1
B2 88 8 24 16 7 1,2,1
B3 44 16 80 16 3 1,1,1
B4 44 16 80 16 7 1,1,1
B5 44 16 64 24 5 1,1,1
B6 44 16 80 24 5 1,2,1
B7 22 24 120 24 5 1,1,1
B8 22 24 120 24 5 1,1,1
B9 22 24 120 40 3 1,2,1
B10 11 40 240 40 7 1,1,1
B11 11 40 160 40 5 1,1,1
B12 11 40 200 48 7 1,2,1
B13 11 48 240 48 7 1,1,1
B14 11 48 240 48 3 1,1,1
B15 11 48 288 96 3 1,2,1
B16 6 96 480 96 7 1,1,1
B17 6 96 384 96 3 1,1,1
"""


def _row(line: str) -> BottleneckShape:
    name, size, c_in, mid, c_out, kernel, strides = line.split()
    first, second, third = map(int, strides.split(","))
    numbers = int(size), int(c_in), int(mid), int(c_out), int(kernel)
    return BottleneckShape(name, *numbers, (first, second, third))


TABLE_2: Mapping[str, BottleneckShape] = {row.name: row for row in map(_row, _TABLE_2.splitlines())}
"""As printed. S: MCUNet-5fps-VWW, B: MCUNet-320KB-ImageNet."""

MISPRINTS: Mapping[str, str] = {
    "S3": "C_out is 24",
    "S4": "the kernel is 5",
    "S5": "the kernel is 7",
    "B5": "C_out is 16",
    "B12": "the kernel is 5 and the stride 1",
}
"""Where Table 2 differs from the released networks."""

POINTWISE: Mapping[str, Pointwise] = {
    case.name: case
    for case in (
        Pointwise("P1", 80, 16, 16, stated=True),
        Pointwise("P2", 56, 32, 32),
        Pointwise("P3", 28, 64, 64),
        Pointwise("P4", 80, 16, 8),
        Pointwise("P5", 40, 32, 16),
        Pointwise("P6", 40, 8, 48),
        Pointwise("P7", 20, 16, 48),
        Pointwise("P8", 10, 144, 24),
        Pointwise("P9", 10, 24, 144),
    )
}
"""Nine cases in the manner of Figure 7, whose labels are in its image only, but for the first.

The others are chosen here so that all that the text says of its nine holds: outputs as large as
inputs in the first three only, and tensors apart exceed 128 KB in cases 1, 2 and 4.
"""


def bottleneck(module: BottleneckShape, residual: bool | None = None) -> Graph:
    """The graph of a module: A → B → C → D, and E = D + A where it is residual.

    `residual` overrides what shapes say. Raises `BadInput` where A and D differ in shape.
    """
    adds = module.residual if residual is None else residual
    first, second, third = module.strides
    build = _ChainBuilder((module.c_in, module.size, module.size))
    build.convolution("expand", "A", "B", module.mid, stride=first)
    window = (module.kernel, second, module.padding)
    build.convolution("depthwise", "B", "C", module.mid, *window, groups=module.mid)
    build.convolution("project", "C", "D", module.c_out, stride=third, linear=True)
    if not adds:
        return build.graph(PREFIX + module.name, "D")
    if build.tensors["A"].shape != build.tensors["D"].shape:
        raise BadInput(f"{module.name} has no residual: its input and output differ in shape")
    build.add("add", ("D", "A"), "E")
    return build.graph(PREFIX + module.name, "E")


def pointwise(case: Pointwise) -> Graph:
    """The graph of one 1×1 convolution from A to B."""
    build = _ChainBuilder((case.c_in, case.size, case.size))
    build.convolution("conv", "A", "B", case.c_out, linear=True)
    return build.graph(PREFIX + case.name, "B")


def named(name: str) -> Graph:
    """The graph of a row of Table 2 or of a pointwise case: "S1", "B17", "P1".

    Raises `UnknownName`.
    """
    if name in TABLE_2:
        return bottleneck(TABLE_2[name])
    if name in POINTWISE:
        return pointwise(POINTWISE[name])
    near = get_close_matches(name.upper(), [*TABLE_2, *POINTWISE], 3)
    hint = "S1 to S8, B1 to B17 and P1 to P9 are there"
    raise UnknownName("module", PREFIX + name, [PREFIX + n for n in near], hint)


class _ChainBuilder:
    """Operators one after the other, batch 1."""

    def __init__(self, shape: tuple[int, int, int]) -> None:
        self.tensors = {"A": Tensor("A", (1, *shape), "input")}
        self.operators: list[Operator] = []

    def convolution(
        self,
        name: str,
        source: str,
        output: str,
        channels: int,
        kernel: int = 1,
        stride: int = 1,
        padding: int = 0,
        *,
        groups: int = 1,
        linear: bool = False,
    ) -> None:
        """A convolution with a bias, and ReLU6 after it unless `linear`."""
        _, depth, *rows = self.tensors[source].shape
        out = [(n + 2 * padding - kernel) // stride + 1 for n in rows]
        weight = (channels, depth // groups, kernel, kernel)
        self._parameter(f"{name}.weight", weight)
        self._parameter(f"{name}.bias", (channels,))
        self.tensors[output] = Tensor(output, (1, channels, *out))
        first = Part(output if linear else name, "conv2d")
        self.operators.append(
            Operator(
                name=name,
                kind="conv2d",
                inputs=(source,),
                outputs=(output,),
                parameters=(f"{name}.weight", f"{name}.bias"),
                macs=prod(out) * prod(weight),
                kernel=(kernel, kernel),
                stride=(stride, stride),
                padding=(padding, padding),
                dilation=(1, 1),
                groups=groups,
                parts=(first,) if linear else (first, Part(output, "hardtanh")),
            )
        )

    def add(self, name: str, sources: tuple[str, str], output: str) -> None:
        self.tensors[output] = Tensor(output, self.tensors[sources[0]].shape)
        parts = (Part(output, "add"),)
        self.operators.append(Operator(name, "add", sources, (output,), parts=parts))

    def graph(self, name: str, output: str) -> Graph:
        return Graph(name, self.tensors, tuple(self.operators), ("A",), (output,))

    def _parameter(self, name: str, shape: tuple[int, ...]) -> None:
        self.tensors[name] = Tensor(name, shape, "parameter")
