"""vMCU: the output of a layer overwrites, segment by segment, input that is no longer needed.

Source: "vMCU: Coordinated Memory Management and Kernel Optimization for DNN Inference on MCUs",
MLSys 2024.
"""

from planners.overlap.planner import plan

__all__ = ["plan"]
