"""What planners of one's own import of plans; it lives in `planners.core.plan`."""

from planners.core.plan import Claims, Plan

__all__ = ["Claims", "Plan"]
