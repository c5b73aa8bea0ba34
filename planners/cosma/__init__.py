"""COSMA: schedule, addresses and replacement together.

Source: Li, Gupta, Malik, "Combined Scheduling, Memory Allocation and Tensor Replacement for
Minimizing Off-Chip Data Accesses of DNN Accelerators".
"""

from planners.cosma.planner import plan

__all__ = ["plan"]
