"""RAM of a layer or block in closed form: how far an output may overlap its input, and workspace.

Beside what plans need, byte by byte, these are a cross-check; the paper's own figures are read with
them. All sizes in bytes at one byte an element.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from planners.catalogue.vmcu import BottleneckShape

Form = Literal["plain", "window", "columns", "line", "tile"]
FORMS: tuple[Form, ...] = ("plain", "window", "columns", "line", "tile")
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
