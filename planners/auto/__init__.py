"""The best plan of all planners for one objective."""

from typing import TYPE_CHECKING

from planners.core.lazy_imports import on_use

if TYPE_CHECKING:
    from planners.auto.planner import plan
else:
    __getattr__, __dir__ = on_use(__name__, {"plan": "planners.auto.planner"})

__all__ = ["plan"]
