"""Layered streaming: seconds of the exact front beside the paper's sweep, and brute force.

    python benchmarks/streaming_front.py [NETWORK ...] [--small 200] [--out FILE]

For each of the Demand Layering paper's networks, in two stages and in three with equal rings:
breakpoints, seconds for all of them, steps of 1 MiB and their seconds, the memory of the least
delay in both, and the most memory that the front saves; `separate` is the front over all pairs of
ring sizes, beside that of equal ones. Then fronts of small random networks against all ring sizes,
one byte apart. Fails where a front is beaten anywhere.
"""

from __future__ import annotations

import argparse
import csv
import sys
from contextlib import nullcontext
from itertools import product
from random import Random
from typing import Any

from planners.papers.demand_layering.fronts import fronts_row
from planners.papers.demand_layering.paper import NETWORKS
from planners.streaming.model.layers import Layer
from planners.streaming.schedule.exact import (
    DelayPoint,
    front_three_stages,
    front_two_stages,
    pareto,
)
from planners.streaming.schedule.pipelines import with_rings

COLUMNS = ("network", "rings", "breakpoints", "seconds", "steps", "step_seconds")
COLUMNS += ("least_MiB", "step_least_MiB", "most_saved_MiB")
MIB = 2**20


def rows(name: str) -> list[dict[str, Any]]:
    """One network's lines."""
    row = fronts_row(name)
    found = []
    for way in ("2s", "async", "separate"):
        it = row[way]
        assert it["no_worse"], f"{name}: the front of {way} is beaten"
        beside = it.get("step_least", row["async"]["least"])
        found.append(
            {
                "network": name,
                "rings": way,
                "breakpoints": it.get("breakpoints", it.get("pairs")),
                "seconds": round(it["seconds"], 3),
                "steps": it.get("steps", ""),
                "step_seconds": round(it["step_seconds"], 3) if "steps" in it else "",
                "least_MiB": round(it["least"][0] / MIB, 1),
                "step_least_MiB": round(beside[0] / MIB, 1),
                "most_saved_MiB": round(it["less_bytes"] / MIB, 1),
            }
        )
    return found


def small(random: Random) -> list[Layer]:
    """A few layers of small whole sizes, some without parameters; times in quarters."""
    sizes = [random.choice([0, *range(1, 6)]) for _ in range(random.randint(1, 7))]
    return [
        Layer(f"l{i}", size, *(random.randint(0, 8) / 4 for _ in range(3)))
        for i, size in enumerate(sizes)
    ]


def agrees(layers: list[Layer]) -> bool:
    """Whether both fronts are those of all ring sizes."""
    sizes = [layer.size_bytes for layer in layers]
    rings = range(max(sizes), sum(sizes) + 1)
    for count, front in ((1, front_two_stages(layers)), (2, front_three_stages(layers))):
        every = [
            DelayPoint(sum(some), with_rings(layers, some).delay_s, some)
            for some in product(rings, repeat=count)
        ]
        told = [(point.memory_bytes, point.delay_s) for point in front]
        if told != [(point.memory_bytes, point.delay_s) for point in pareto(every)]:
            return False
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("networks", nargs="*")
    parser.add_argument("--small", type=int, default=200)
    parser.add_argument("--out", default=None)
    options = parser.parse_args()
    slowest = 0.0
    with open(options.out, "w", newline="") if options.out else nullcontext(sys.stdout) as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        for name in options.networks or NETWORKS:
            made = rows(name)
            slowest = max(slowest, *(row["seconds"] for row in made))
            writer.writerows(made)
            file.flush()
    random = Random(1)
    for number in range(options.small):
        layers = small(random)
        assert agrees(layers), f"small network {number}: {layers}"
    print(
        f"the same or better than the sweep everywhere; the slowest front took {slowest:.2f} s; "
        f"{options.small} small networks agree with all ring sizes"
    )


if __name__ == "__main__":
    main()
