"""vMCU: the output of a layer overwrites, segment by segment, input that is no longer needed.

Source: "vMCU: Coordinated Memory Management and Kernel Optimization for DNN Inference on MCUs",
MLSys 2024.
"""

from typing import TYPE_CHECKING

from planners.core.lazy_imports import on_use

if TYPE_CHECKING:
    from planners.overlap.planner import plan
else:
    __getattr__, __dir__ = on_use(__name__, {"plan": "planners.overlap.planner"})

__all__ = ["plan"]
