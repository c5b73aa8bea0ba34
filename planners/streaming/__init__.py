"""Layered streaming: parameters are read layer by layer while earlier layers run."""

from typing import TYPE_CHECKING

from planners.core.lazy_imports import on_use

if TYPE_CHECKING:
    from planners.streaming.planner import plan
else:
    __getattr__, __dir__ = on_use(__name__, {"plan": "planners.streaming.planner"})

__all__ = ["plan"]
