"""Counts of kernels against counts by hand, and windows against going through them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planners.catalogue.vmcu import BottleneckShape, Pointwise, bottleneck, pointwise
from planners.core.details.pool import Form, KernelRun, PoolLayout
from planners.core.errors import BadInput
from planners.overlap.cost.work import (
    KernelStyle,
    KernelWork,
    expanded_pixels,
    tinyengine_work,
    work,
    work_of_operator,
)

SMALL = BottleneckShape("small", size=4, c_in=2, mid=6, c_out=2, kernel=3)
EXPAND, PROJECT = 16 * 2 * 6, 16 * 6 * 2
DEPTHWISE = 16 * 9 * 6
UNDER = 10 * 10
"""Pixels under the windows of a 3×3 kernel over 4×4: 2 + 3 + 3 + 2 along each axis."""


def run(form: Form, channels: int = 0) -> PoolLayout:
    operators = ("expand", "depthwise", "project", "add")
    return PoolLayout(0, {}, (KernelRun(form, operators, channels=channels),))


def test_a_pointwise_convolution() -> None:
    graph = pointwise(Pointwise("p", 3, 5, 4))
    layout = PoolLayout(0, {}, (KernelRun("alone", ("conv",)),))
    macs = 9 * 5 * 4
    # A pixel is loaded and one is stored, nine times.
    assert work(graph, layout, KernelStyle(1, 1)) == KernelWork(macs, 0, macs, 36, macs, 18)
    # Five bytes of a pixel are three segments of two, four are two.
    assert work(graph, layout, KernelStyle(2, 2, segment_bytes=2)) == KernelWork(
        macs, 0, macs // 2, 36, macs // 2, 9 * (3 + 2)
    )
    # There are but four channels and nine pixels to share among.
    assert work(graph, layout, KernelStyle(99, 99)) == KernelWork(
        macs, 0, macs // 4, 36, macs // 9, 18
    )
    wide = work(graph.with_bytes_per_element(2), layout, KernelStyle(1, 1))
    assert wide == KernelWork(macs, 0, 2 * macs, 72, 2 * macs, 18)


def test_a_bottleneck_that_repeats_nothing() -> None:
    found = work(bottleneck(SMALL), run("line"), KernelStyle(1, 1))
    macs = EXPAND + DEPTHWISE + PROJECT
    read = macs + 2 * 16 * 2  # both operands of the addition
    written = 16 * (6 + 6 + 2 + 2)
    loads = 16 * (1 + 9 + 1 + 2)
    assert found == KernelWork(macs, 0, read, written, macs, loads + 16 * 4)


def test_a_bottleneck_that_makes_each_window_anew() -> None:
    graph, plain = bottleneck(SMALL), KernelStyle(1, 1)
    line, window = work(graph, run("line"), plain), work(graph, run("window"), plain)
    again = UNDER - 16
    assert window.macs == line.macs
    assert window.repeated_macs == again * 2 * 6
    assert window.flash_bytes - line.flash_bytes == again * 2 * 6
    assert window.ram_read_bytes - line.ram_read_bytes == again * 2 * 6
    assert window.ram_written_bytes - line.ram_written_bytes == again * 6
    assert window.modulos - line.modulos == again * 2
    columns = work(graph, run("columns"), plain)
    assert columns.repeated_macs == (10 * 4 - 16) * 2 * 6


def test_tiles_of_channels_read_more_and_keep_sums() -> None:
    graph, plain = bottleneck(SMALL), KernelStyle(1, 1)
    window, tile = work(graph, run("window"), plain), work(graph, run("tile", 4), plain)
    assert (tile.macs, tile.repeated_macs) == (window.macs, window.repeated_macs)
    sums = 16 * 2 * 4  # two tiles: the sums wait once
    assert tile.ram_read_bytes - window.ram_read_bytes == sums
    assert tile.ram_written_bytes - window.ram_written_bytes == sums
    # Pixels of A and B for the second tile; B under each window and C, in and out.
    assert tile.modulos - window.modulos == UNDER * 2 + 16 * (9 + 2)
    assert work(graph, run("tile", 6), plain) == window


@given(st.integers(1, 9), st.sampled_from((1, 3, 5, 7)), st.integers(1, 3), st.booleans())
def test_windows_one_by_one(size: int, kernel: int, stride: int, reuse: bool) -> None:
    module = replace(SMALL, size=size, kernel=kernel, strides=(1, stride, 1), c_out=3)
    graph = bottleneck(module)
    side, padding = graph.tensors["C"].shape[2], kernel // 2
    made = 0
    for row in range(side):
        kept: set[int] = set()
        for column in range(side):
            inside = [
                (r, c)
                for r in range(row * stride - padding, row * stride - padding + kernel)
                for c in range(column * stride - padding, column * stride - padding + kernel)
                if 0 <= r < size and 0 <= c < size
            ]
            made += sum(c not in kept for _, c in inside)
            kept = {c for _, c in inside} | kept if reuse else set()
    assert expanded_pixels(graph, graph.operators[1], reuse=reuse) == made


def test_tinyengine_copies_and_never_wraps() -> None:
    graph, plain = bottleneck(SMALL), KernelStyle(1, 1)
    found = tinyengine_work(graph, plain)
    macs = EXPAND + DEPTHWISE + PROJECT
    copied = 16 * 2 + 16 * 6 + 16 * 6  # pixels of A, channels of B, pixels of C
    made = 16 * 2 + 36 * 6 + 16 * 6
    assert found == KernelWork(
        macs=macs,
        ram_read_bytes=2 * macs + copied + 2 * 16 * 2,
        ram_written_bytes=16 * (6 + 6 + 2 + 2) + 2 * made,
        flash_bytes=macs,
    )


def test_pools_linears_and_what_is_broadcast() -> None:
    import planners as sp

    graph = sp.load("mcunet_vww1")
    pool, linear = graph.operators[-2:]
    assert work_of_operator(graph, pool) == KernelWork(
        ram_read_bytes=9 * 160, ram_written_bytes=160, modulos=10
    )
    # A single row: each weight is read once, each input once for two outputs.
    assert work_of_operator(graph, linear) == KernelWork(320, 0, 160, 2, 320, 2)
    squeezed = sp.load("efficientnet_b0")
    gate = next(op for op in squeezed.operators if op.kind == "mul")
    pixels, channels = 112 * 112, 32
    assert work_of_operator(squeezed, gate).ram_read_bytes == 2 * pixels * channels


def test_kernels_that_make_no_sense() -> None:
    for wrong in ((0, 1, 0), (1, 0, 0), (1, 1, -1)):
        with pytest.raises(BadInput, match="one or more"):
            KernelStyle(*wrong)
