"""Write the graphs that come with the package: `python -m planners.catalogue.ship`."""

from __future__ import annotations

from pathlib import Path

from planners.catalogue import cache
from planners.catalogue.loading import trace
from planners.catalogue.names import TORCHVISION, default_inputs

FOLDED = ("resnet18", "resnet50", "mobilenet_v2")
SHIPPED: tuple[tuple[str, str], ...] = (
    *((name, "fused") for name in TORCHVISION),
    *((name, "folded") for name in FOLDED),
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
