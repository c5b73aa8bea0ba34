"""Optimus: which operators run together as a fused group, for least off-chip traffic.

Source: Cai, Wang, Zhang, "Optimus: An Operator Fusion Framework for Deep Neural Networks",
ACM Transactions on Embedded Computing Systems 22 (1), 2022.
"""

from typing import TYPE_CHECKING

from planners.core.lazy_imports import on_use

if TYPE_CHECKING:
    from planners.fusion.planner import plan
else:
    __getattr__, __dir__ = on_use(__name__, {"plan": "planners.fusion.planner"})

__all__ = ["plan"]
