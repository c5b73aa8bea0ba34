"""Three ways to count the RAM of a block, for vMCU, TinyEngine and HMCOS.

The paper does not say what its figures count, so each statement stands beside all three:

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
from typing import Literal

from planners.catalogue.vmcu import Bottleneck, Pointwise, bottleneck, pointwise
from planners.overlap.baselines import hmcos, tinyengine
from planners.study.reproduce_vmcu_forms import fully_connected, needs

Accounting = Literal["tensors", "workspace", "rows"]
ACCOUNTINGS: tuple[Accounting, ...] = ("tensors", "workspace", "rows")
SYSTEMS = ("vMCU", "TinyEngine", "HMCOS")
STATIC_BYTES = 2600
"""Inferred from the stated numbers, not stated: it is ours to answer for."""

Ram = Mapping[str, int]


def of_module(module: Bottleneck) -> dict[Accounting, Ram]:
    """Bytes by accounting and system."""
    graph = bottleneck(module)
    tiny, whole, window = tinyengine(graph), hmcos(graph).total_bytes, needs(module)["window"]
    return {
        "tensors": _ram(window.pool_bytes, tiny.tensor_bytes, whole),
        "workspace": _ram(window.total_bytes, tiny.total_bytes, whole),
        "rows": _rows(module),
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


def _rows(module: Bottleneck) -> Ram:
    a, b, c, d = module.bytes
    rows = [size // n for size, n in zip(module.bytes, module.sizes, strict=True)]
    kept = a if module.residual else 0
    held = min(b, module.kernel * rows[1] + rows[2])
    high = module.sizes[1] + 2 * module.padding
    each = (
        max(a + rows[0], d) + held + rows[3],
        max(a + b, kept + b + d) + max(high**2, 2 * module.mid),
        max(a + b, kept + b + c),
    )
    return _ram(*(n + STATIC_BYTES for n in each))
