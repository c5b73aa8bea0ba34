"""COSMA: schedule, addresses and replacement together.

Source: Li, Gupta, Malik, "Combined Scheduling, Memory Allocation and Tensor Replacement for
Minimizing Off-Chip Data Accesses of DNN Accelerators".
"""

from typing import TYPE_CHECKING

from planners.core.lazy_imports import on_use

if TYPE_CHECKING:
    from planners.cosma.planner import plan
else:
    __getattr__, __dir__ = on_use(__name__, {"plan": "planners.cosma.planner"})

__all__ = ["plan"]
