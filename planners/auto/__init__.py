"""The best plan of all planners for one objective."""

from planners.auto.planner import plan

__all__ = ["plan"]
