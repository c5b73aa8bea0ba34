"""Overlap, fused groups, residency and streamed parameters in one plan."""

from planners.joined.planner import plan

__all__ = ["plan"]
