"""COSMA: schedule, addresses and replacement (Li, Gupta, Malik: "Combined Scheduling, Memory Allocation and Tensor Replacement")."""

from planners.cosma.planner import plan

__all__ = ["plan"]
