"""RAM of a block in closed form, and three ways to count it, for vMCU, TinyEngine and HMCOS.

All sizes in bytes at one byte an element. The closed forms (how far an output may overlap its
input, and workspace) cross-check what plans need, byte by byte. The paper does not say what its
figures count, so each statement stands beside all three accountings:

* `tensors`: activations only. vMCU: A and E overlapped by d. TinyEngine: depthwise in place.
  HMCOS: whole tensors.
* `workspace`: and what kernels need beside them. vMCU: the window of section 5.2, (R² + 1)·mid +
  C_out. TinyEngine: one im2col buffer. HMCOS schedules tensors; nothing is added.
* `rows`: a reading of ours that comes nearest to the stated numbers. vMCU holds rows, not pixels:
  max(A + a row of A, D) + min(B, R rows of B + a row of C) + a row of D. TinyEngine:
  max(A + B, A·res + B + D) + max((H + 2p)², 2·mid). HMCOS: max(A + B, A·res + B + C). And 2.6 KB of
  static overhead in each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Literal

from planners.catalogue.vmcu import (
    MISPRINTS,
    POINTWISE,
    TABLE_2,
    BottleneckShape,
    Pointwise,
    bottleneck,
    pointwise,
)
from planners.overlap.baselines.frameworks import hmcos, tinyengine
from planners.papers.report import Row

Form = Literal["plain", "window", "columns", "line", "tile"]
FORMS: tuple[Form, ...] = ("plain", "line", "window", "columns", "tile")
TILE = 4
"""Channels that a tiled block expands at a time."""


@dataclass(frozen=True, slots=True)
class FormWindow:
    """A window over A[H, W, C] that makes E[P, Q, K]: `rows` counts P and H, `columns` Q and W."""

    height: int
    width: int
    c_in: int
    rows: int
    columns: int
    c_out: int
    stride: int = 1
    padding: int = 0

    def need(self, i: int, j: int) -> int:
        """The lowest byte of A still to be read once pixel (i, j) of E is written."""
        pixel = self.height * self.width
        if i + 1 < self.rows:
            pixel = max(0, (i + 1) * self.stride - self.padding) * self.width
        if j + 1 < self.columns:
            row = max(0, i * self.stride - self.padding) * self.width
            pixel = min(pixel, row + max(0, (j + 1) * self.stride - self.padding))
        return self.c_in * pixel

    @property
    def distance(self) -> int:
        """d: how many bytes before A its output must start, a pixel written after its reads."""
        return max(
            (i * self.columns + j + 1) * self.c_out - self.need(i, j)
            for i in range(self.rows)
            for j in range(self.columns)
        )

    @property
    def footprint(self) -> int:
        """Bytes of A and E, overlapped."""
        return footprint(self.height * self.width * self.c_in, self.distance, self._output)

    @property
    def _output(self) -> int:
        return self.rows * self.columns * self.c_out


def footprint(input_bytes: int, distance: int, output_bytes: int) -> int:
    """max(|A| + d, |E|): a pool in which an output lies d bytes before its input."""
    return max(input_bytes + max(0, distance), output_bytes)


def fully_connected(rows: int, c_in: int, c_out: int) -> int:
    """max(MN, MK) + min(N, K) − 1 (section 4), in whatever unit the channels are counted."""
    return rows * max(c_in, c_out) + min(c_in, c_out) - 1


@dataclass(frozen=True, slots=True)
class FormNeed:
    """Bytes of overlapped tensors, bytes of workspace, and MACs beyond the network's own."""

    pool_bytes: int
    workspace_bytes: int = 0
    extra_macs: int = 0

    @property
    def total_bytes(self) -> int:
        return self.pool_bytes + self.workspace_bytes


def needs(module: BottleneckShape, tile: int = TILE) -> dict[Form, FormNeed]:
    """What a block needs in each form that it can run in."""
    a, _, _, d = module.bytes
    shift = whole(module)
    pool = footprint(a, shift.distance, d)
    window = module.kernel**2
    anew = _expanded(module, columns=False)
    return {
        "plain": FormNeed(_plain(module)),
        "window": FormNeed(pool, (window + 1) * module.mid + module.c_out, anew),
        "columns": FormNeed(
            pool, (window + 1) * module.mid + module.c_out, _expanded(module, columns=True)
        ),
        "line": FormNeed(footprint(a, line_distance(module), d), line_bytes(module)),
        "tile": FormNeed(pool, (window + 1) * tile + 4 * module.c_out, anew),
    }


def whole(module: BottleneckShape) -> FormWindow:
    """A block as one window over A: the product of its strides, the depthwise padding."""
    first, second, third = module.strides
    a, _, _, d = module.sizes
    shape = (a, a, module.c_in, d, d, module.c_out)
    return FormWindow(*shape, first * second * third, first * module.padding)


def line_bytes(module: BottleneckShape) -> int:
    """((R − 1)·W₁ + R + 1)·mid + C_out, or all of B where that is less."""
    ring = (module.kernel - 1) * module.sizes[1] + module.kernel
    pixels = min(ring, module.sizes[1] ** 2)
    return (pixels + 1) * module.mid + module.c_out


def line_distance(module: BottleneckShape) -> int:
    """d with a line buffer: what was expanded once need not be read again, but for the addition."""
    first, second, third = module.strides
    a, b, _, d = module.sizes
    down, most = second * third, 0
    for i in range(d):
        row = min(b - 1, i * down - module.padding + module.kernel - 1)
        for j in range(d):
            column = min(b - 1, j * down - module.padding + module.kernel - 1)
            y, x = divmod(row * b + column + 1, b)  # the next pixel of B to be expanded
            need = (y * first * a + x * first) * module.c_in
            if module.residual:
                need = min(need, (i * a + j + 1) * module.c_in)
            most = max(most, (i * d + j + 1) * module.c_out - need)
    return most


def _plain(module: BottleneckShape) -> int:
    """One operator after the other, each overlapped with its input, A kept where it is added."""
    first, second, third = module.strides
    sizes, bytes_ = module.sizes, module.bytes
    kept = bytes_[0] if module.residual else 0
    channels = (module.c_in, module.mid, module.mid, module.c_out)
    windows = ((first, 0), (second, module.padding), (third, 0))
    most = bytes_[0] + bytes_[3] if module.residual else 0
    for k, (stride, padding) in enumerate(windows):
        before, after = sizes[k], sizes[k + 1]
        slide = FormWindow(
            before, before, channels[k], after, after, channels[k + 1], stride, padding
        )
        apart = k == 0 and module.residual
        most = max(most, bytes_[0] + bytes_[1] if apart else kept + slide.footprint)
    return most


def _expanded(module: BottleneckShape, *, columns: bool) -> int:
    """MACs of expanding pixels again; with `columns`, only those not under the last window."""
    _, second, third = module.strides
    down = second * third
    _, b, _, d = module.sizes
    rows = _covered(module, b, d, down, fresh=False)
    across = _covered(module, b, d, down, fresh=columns)
    return (rows * across - b * b) * module.c_in * module.mid


def _covered(module: BottleneckShape, b: int, d: int, down: int, *, fresh: bool) -> int:
    """Rows (columns) of B under all windows along an axis; `fresh`: not under the one before."""
    total, last = 0, 0
    for i in range(d):
        start = max(0, i * down - module.padding)
        stop = min(b, i * down - module.padding + module.kernel)
        total += stop - (max(start, last) if fresh else start)
        last = stop
    return total


Accounting = Literal["tensors", "workspace", "rows"]
ACCOUNTINGS: tuple[Accounting, ...] = ("tensors", "workspace", "rows")
SYSTEMS = ("vMCU", "TinyEngine", "HMCOS")
STATIC_BYTES = 2600
"""Inferred from the stated numbers, not stated: it is ours to answer for."""

Ram = Mapping[str, int]


def of_module(module: BottleneckShape) -> dict[Accounting, Ram]:
    """Bytes by accounting and system."""
    graph = bottleneck(module)
    tiny, apart, ours = tinyengine(graph), hmcos(graph).total_bytes, vmcu(module)
    kept, tensor_bytes = _kept(module), sum(module.bytes[:2])
    high = module.sizes[1] + 2 * module.padding
    _, b, c, d = module.bytes
    rows = max(tensor_bytes, kept + b + d) + max(high**2, 2 * module.mid) + STATIC_BYTES
    return {
        "tensors": _ram(ours["tensors"], tiny.tensor_bytes, apart),
        "workspace": _ram(ours["workspace"], tiny.total_bytes, apart),
        "rows": _ram(ours["rows"], rows, max(tensor_bytes, kept + b + c) + STATIC_BYTES),
    }


def vmcu(module: BottleneckShape) -> dict[Accounting, int]:
    """Bytes of vMCU's fused kernel by accounting."""
    a, b, _, d = module.bytes
    pool = footprint(a, whole(module).distance, d)
    row = [size // n for size, n in zip(module.bytes, module.sizes, strict=True)]
    row_bytes = min(b, module.kernel * row[1] + row[2])
    return {
        "tensors": pool,
        "workspace": pool + (module.kernel**2 + 1) * module.mid + module.c_out,
        "rows": max(a + row[0], d) + row_bytes + row[3] + STATIC_BYTES,
    }


def of_layer(case: Pointwise) -> dict[Accounting, Ram]:
    """Bytes of a pointwise convolution: vMCU needs no workspace, TinyEngine its im2col buffer."""
    tiny = tinyengine(pointwise(case))
    ours = fully_connected(case.size**2, case.c_in, case.c_out)
    plus = STATIC_BYTES
    return {
        "tensors": {"vMCU": ours, "TinyEngine": tiny.tensor_bytes},
        "workspace": {"vMCU": ours, "TinyEngine": tiny.total_bytes},
        "rows": {"vMCU": ours + plus, "TinyEngine": tiny.total_bytes + plus},
    }


def saved(ram: Ram, against: str) -> float:
    """The share of another system's RAM that vMCU does without."""
    return 1 - ram["vMCU"] / ram[against]


def _ram(*each: int) -> Ram:
    return dict(zip(SYSTEMS, each, strict=True))


def _kept(module: BottleneckShape) -> int:
    """Bytes of A that stay for the addition."""
    return module.bytes[0] if module.residual else 0


def layer_row(name: str) -> Row:
    """A pointwise convolution; `stated` where the paper's text gives its shape."""
    case = POINTWISE[name]
    row: Row = {"layer": name, **asdict(case)}
    return row | {name: dict(ram) for name, ram in of_layer(case).items()}


def module_row(name: str) -> Row:
    """A row of Table 2: bytes of each system by accounting, and of each form in closed form."""
    module = TABLE_2[name]
    forms = {
        form: {
            "bytes": need.total_bytes,
            "workspace": need.workspace_bytes,
            "extra_macs": need.extra_macs,
        }
        for form, need in needs(module).items()
    }
    row: Row = {"module": name, "misprint": MISPRINTS.get(name, ""), "forms": forms}
    return row | {name: dict(ram) for name, ram in of_module(module).items()}
