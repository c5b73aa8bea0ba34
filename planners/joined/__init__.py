"""Overlap, fused groups, residency and streamed parameters in one plan."""

from typing import TYPE_CHECKING

from planners.core.lazy_imports import on_use

if TYPE_CHECKING:
    from planners.joined.planner import plan
else:
    __getattr__, __dir__ = on_use(__name__, {"plan": "planners.joined.planner"})

__all__ = ["plan"]
