"""Figures 11 and 12: how much larger a module's image or channels may be in TinyEngine's RAM."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from planners.catalogue.vmcu import TABLE_2, BottleneckShape
from planners.papers.table import Row
from planners.papers.vmcu.accounts import ACCOUNTINGS, Accounting, of_module, vmcu
from planners.papers.vmcu.claims import PLAN
from planners.study.headroom import AXES, Axis, module_headroom, overlapped


def headroom_row(name: str, time_limit_s: float) -> Row:
    """Growth by axis: of vMCU in each accounting, by the pixel or channel, and of our plans.

    Our plans repeat no work; their channels grow by 8.
    """
    module = TABLE_2[name]
    limits = {k: ram["TinyEngine"] for k, ram in of_module(module).items()}
    need = overlapped(repeat=False, time_limit=time_limit_s)
    row: Row = {"module": name}
    for axis in AXES:
        now = module.size if axis == "image" else module.c_in
        grown: Row = {k: _largest(module, axis, k, limits[k]) / now for k in ACCOUNTINGS}
        best = module_headroom(module, axis, need).best
        grown[PLAN] = best.size / now if best else 0.0
        row[axis] = grown
    return row


def grown(module: BottleneckShape, axis: Axis, size: int) -> BottleneckShape:
    """A module with another image, other channels in and out, or (`width`) all of them."""
    if axis == "image":
        return replace(module, size=size)
    mid = round(module.mid * size / module.c_in) if axis == "width" else module.mid
    return replace(module, c_in=size, mid=mid, c_out=round(module.c_out * size / module.c_in))


def _largest(module: BottleneckShape, axis: Axis, accounting: Accounting, limit: int) -> int:
    """The largest size within a limit: vMCU's bytes grow with it."""
    now = module.size if axis == "image" else module.c_in

    def fits(size: int) -> bool:
        return vmcu(grown(module, axis, size))[accounting] <= limit

    return _last(fits, now)


def _last(fits: Callable[[int], bool], start: int) -> int:
    """The last of the sizes from 1 that fits, by doubling and bisection; 0 where none does."""
    low, high = 0, start
    while fits(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
