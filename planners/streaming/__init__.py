"""Layered streaming: parameters are read layer by layer while earlier layers run."""

from planners.streaming.planner import plan

__all__ = ["plan"]
