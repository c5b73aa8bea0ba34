"""Write the graphs that come with the package: `python -m planners.catalogue.ship [MODEL...]`."""

from __future__ import annotations

import sys
from pathlib import Path

from planners.catalogue import cache
from planners.catalogue.loading import trace
from planners.catalogue.names import (
    OWN,
    TIMM_SUGGESTED,
    TORCHVISION,
    Shapes,
    default_inputs,
    shipped_file,
    shipped_inputs,
)

FOLDED = ("resnet18", "resnet50", "mobilenet_v2", *OWN)
SHIPPED: tuple[tuple[str, Shapes, str, bool], ...] = (
    *((name, default_inputs(name), "fused", True) for name in (*TORCHVISION, *OWN)),
    *((name, default_inputs(name), "folded", True) for name in FOLDED),
    *(
        (name, shapes, granularity, fold_padding)
        for name in TIMM_SUGGESTED
        for shapes in shipped_inputs(name)
        for granularity in ("fused", "folded")
        for fold_padding in (True, False)
    ),
)
"""Models that load without torch: names, inputs, granularities, and whether pads are folded.

Those of whose graphs none would be folded are shipped once.
"""

FOLDER = Path(__file__).parent / "graphs"


def main() -> None:
    """Import every shipped model anew, or those named, and replace their files."""
    FOLDER.mkdir(exist_ok=True)
    for name, shapes, granularity, fold_padding in SHIPPED:
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        data = cache.encode(trace(name, shapes, granularity, fold_padding))
        file = shipped_file(name, shapes, granularity, fold_padding)
        (FOLDER / file).write_bytes(data)
        print(f"{file}: {len(data)} bytes")


if __name__ == "__main__":
    main()
