"""Optimus: which operators run together as a fused group, for least off-chip traffic.

Source: Cai, Wang, Zhang, "Optimus: An Operator Fusion Framework for Deep Neural Networks",
ACM Transactions on Embedded Computing Systems 22 (1), 2022.
"""

from planners.fusion.planner import plan

__all__ = ["plan"]
