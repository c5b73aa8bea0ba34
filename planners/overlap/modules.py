"""The layers and blocks that the paper measures: Table 2 as printed, and pointwise cases."""

from planners.catalogue.vmcu import (
    MISPRINTS,
    POINTWISE,
    TABLE_2,
    Bottleneck,
    Pointwise,
    bottleneck,
    named,
    pointwise,
)

__all__ = [
    "MISPRINTS",
    "POINTWISE",
    "TABLE_2",
    "Bottleneck",
    "Pointwise",
    "bottleneck",
    "named",
    "pointwise",
]
