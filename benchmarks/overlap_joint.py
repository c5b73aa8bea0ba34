"""Outputs over dying inputs, in COSMA's orders: the pools of all 121 torchvision models.

    python benchmarks/overlap_joint.py [MODEL ...] [--seconds 5] [--out FILE]

For each model COSMA's MP (the least peak of live bytes over all schedules, nothing overlapping),
the pool found, the bound that is proven over all orders, whether it is reached (`order`: for this
order only), what is saved against MP, and the seconds. Activations, one byte an element. Fails
where a pool is above MP.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from contextlib import nullcontext
from typing import Any

import planners as sp
from planners.catalogue.names import TORCHVISION
from planners.core.progress import Clock
from planners.overlap.search.dag import best_layout

COLUMNS = ("model", "operators", "MP", "pool", "bound", "proven", "saved", "gap", "seconds")


def row(name: str, seconds: float) -> dict[str, Any]:
    """One model's line."""
    graph = sp.load(name)
    began = time.perf_counter()
    found = best_layout(graph, Clock(seconds))
    pool = found.layout.pool_bytes
    assert pool <= found.apart_bytes, f"{name}: {pool} is above MP {found.apart_bytes}"
    in_order = "order" if pool == found.order_bound_bytes else "no"
    return {
        "model": name,
        "operators": len(graph.operators),
        "MP": found.apart_bytes,
        "pool": pool,
        "bound": found.bound_bytes,
        "proven": "yes" if found.proven else in_order,
        "saved": round(1 - pool / found.apart_bytes, 4),
        "gap": round(found.gap, 5),
        "seconds": round(time.perf_counter() - began, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--out", default=None)
    options = parser.parse_args()
    rows = []
    with open(options.out, "w", newline="") if options.out else nullcontext(sys.stdout) as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        for name in options.models or TORCHVISION:
            rows.append(row(name, options.seconds))
            writer.writerow(rows[-1])
            file.flush()
    mean = sum(item["saved"] for item in rows) / len(rows)
    proven = sum(item["proven"] == "yes" for item in rows)
    in_order = sum(item["proven"] == "order" for item in rows)
    worst = max(item["gap"] for item in rows)
    print(
        f"{len(rows)} models: {mean:.1%} saved on average, {proven} proven over all orders, "
        f"{in_order} more in their order; the largest gap is {worst:.2%}"
    )


if __name__ == "__main__":
    main()
