"""Write the graphs that come with the package: `python -m planners.catalogue.ship`."""

from __future__ import annotations

from pathlib import Path

from planners.catalogue import cache
from planners.catalogue.loading import trace
from planners.catalogue.names import default_inputs

SHIPPED: tuple[tuple[str, str], ...] = (
    ("resnet18", "fused"),
    ("resnet18", "folded"),
    ("resnet50", "fused"),
    ("resnet50", "folded"),
    ("mobilenet_v2", "fused"),
    ("mobilenet_v2", "folded"),
    ("squeezenet1_1", "fused"),
    ("densenet121", "fused"),
    ("googlenet", "fused"),
    ("vit_b_16", "fused"),
    ("efficientnet_b0", "fused"),
    ("mobilenet_v3_small", "fused"),
)
"""Models that load without torch, at their default inputs."""

FOLDER = Path(__file__).parent / "graphs"


def main() -> None:
    """Import every shipped model anew and replace its file."""
    FOLDER.mkdir(exist_ok=True)
    for name, granularity in SHIPPED:
        data = cache.encode(trace(name, default_inputs(name), granularity))
        (FOLDER / f"{name}.{granularity}.json.gz").write_bytes(data)
        print(f"{name} {granularity}: {len(data)} bytes")


if __name__ == "__main__":
    main()
