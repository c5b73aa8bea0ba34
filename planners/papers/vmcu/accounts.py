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

from planners.catalogue.vmcu import BottleneckShape, Pointwise, bottleneck, pointwise
from planners.overlap.baselines.frameworks import hmcos, tinyengine
from planners.papers.vmcu.forms import footprint, fully_connected, whole

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
    kept, held = _kept(module), sum(module.bytes[:2])
    high = module.sizes[1] + 2 * module.padding
    _, b, c, d = module.bytes
    rows = max(held, kept + b + d) + max(high**2, 2 * module.mid) + STATIC_BYTES
    return {
        "tensors": _ram(ours["tensors"], tiny.tensor_bytes, apart),
        "workspace": _ram(ours["workspace"], tiny.total_bytes, apart),
        "rows": _ram(ours["rows"], rows, max(held, kept + b + c) + STATIC_BYTES),
    }


def vmcu(module: BottleneckShape) -> dict[Accounting, int]:
    """Bytes of vMCU's fused kernel by accounting."""
    a, b, _, d = module.bytes
    pool = footprint(a, whole(module).distance, d)
    row = [size // n for size, n in zip(module.bytes, module.sizes, strict=True)]
    held = min(b, module.kernel * row[1] + row[2])
    return {
        "tensors": pool,
        "workspace": pool + (module.kernel**2 + 1) * module.mid + module.c_out,
        "rows": max(a + row[0], d) + held + row[3] + STATIC_BYTES,
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
