"""Fused groups and residency together, beside either alone, on all of torchvision's models.

    python benchmarks/fusion_joint.py [MODEL ...] [--limit 20] [--bands 8] [--out FILE] [--check]

For each model three budgets: the least in which every operator fits alone, rounded up to a KiB,
four times that, and 1 MiB (or 16 times the least, if that is more). For each the bytes of all
off-chip traffic, parameters included: of the oracle (everything once), joint, the best partition
alone, no fusion, and COSMA over all orders with parameters counted ("-" where it does not fit);
then what is proven of joint (status and gap) and the seconds it took. With --out each line is
kept, and what is there is not computed again. The limit is seconds for groups alone and for COSMA;
joint has as much for the groups alone that it begins with. Ends with status 1 where

    oracle <= joint <= groups alone <= no fusion    and    joint <= COSMA

does not hold, and names each case. Joint plans have addresses; --check plans again, makes the
program and replays it, which takes minutes where tiles are small.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import planners as sp
from planners.catalogue.names import TORCHVISION
from planners.core.errors import BudgetTooSmall
from planners.core.graph import Graph
from planners.core.progress import Clock
from planners.fusion.baselines.fusers import BASELINES
from planners.fusion.cost.group import GroupModel
from planners.fusion.joint.planner import ALONE_SHARE, best_joint
from planners.fusion.search.bound import compulsory_bytes
from planners.fusion.search.exact import best_partition

KIB, MIB = 1024, 1024**2
MACHINE = "npu_ideal"


def budgets(model: GroupModel) -> list[int]:
    """The least that every operator fits in alone, four times that, and 1 MiB or 16 times it."""
    count = len(model.graph.operators)
    need = max(min(point.buffer_bytes for point in model.staircase(1 << i)) for i in range(count))
    least = -(-need // KIB) * KIB
    return [least, 4 * least, max(MIB, 16 * least)]


def cosma_bytes(graph: Graph, budget: int, limit: float) -> int | None:
    try:
        plan = sp.plan(graph, "cosma", budget, MACHINE, limit, schedule="joint", parameters=True)
    except BudgetTooSmall:
        return None
    return plan.claims.offchip_bytes


def compare(
    model: GroupModel, budget: int, limit: float, bands: int, check: bool
) -> dict[str, Any]:
    """All planners at one budget; `check` makes the joint plan again and replays it."""
    graph = model.graph
    began = time.perf_counter()
    joint = best_joint(model, budget, Clock(limit / ALONE_SHARE), True)
    seconds = time.perf_counter() - began
    if check:
        most = limit / ALONE_SHARE
        sp.plan(graph, "fusion", budget, MACHINE, most, joint=True, bands=bands)  # is replayed
    alone = best_partition(model, graph, budget, Clock(limit))
    return {
        "oracle": compulsory_bytes(graph),
        "joint": joint.objective_bytes,
        "alone": alone.objective_bytes,
        "no_fusion": BASELINES["no_fusion"](model, graph, budget).objective_bytes,
        "cosma": cosma_bytes(graph, budget, limit),
        "status": "optimal" if joint.bound_bytes == joint.objective_bytes else "feasible",
        "bound": joint.bound_bytes,
        "alone_status": alone.status,
        "seconds": round(seconds, 2),
        "held": len({tensor for laid in joint.laid for tensor in laid.stays.at}),
    }


def broken(row: dict[str, Any]) -> str:
    """Which inequality does not hold; empty where all do."""
    chain = ["oracle", "joint", "alone", "no_fusion"]
    for less, more in (*zip(chain, chain[1:]), ("joint", "cosma"), ("bound", "joint")):
        if row[more] is not None and row[less] > row[more]:
            return f"{less} {row[less]} > {more} {row[more]}"
    return ""


def show(row: dict[str, Any]) -> None:
    cosma = "-" if row["cosma"] is None else f"{row['cosma']:,}"
    gap = (row["joint"] - row["bound"]) / max(1, row["joint"])
    print(
        f"{row['model']:32}{row['budget'] // KIB:>8} KiB {row['oracle']:>15,}{row['joint']:>15,}"
        f"{row['alone']:>15,}{row['no_fusion']:>16,}{cosma:>15}  {row['status']:8} "
        f"gap {100 * gap:5.2f}% {row['seconds']:7.1f} s  {broken(row)}",
        flush=True,
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("models", nargs="*", default=[])
    parser.add_argument("--limit", type=float, default=20.0, help="seconds")
    parser.add_argument("--bands", type=int, default=8, help="bands of a tile, 1 as the paper")
    parser.add_argument("--out", type=Path, help="JSON lines, read and added to")
    parser.add_argument("--check", action="store_true", help="replay each joint plan")
    chosen = parser.parse_args()
    known: dict[tuple[str, int], dict[str, Any]] = {}
    if chosen.out and chosen.out.exists():
        rows = [json.loads(line) for line in chosen.out.read_text().splitlines()]
        known = {(row["model"], row["at"]): row for row in rows}
    print(
        f"{'model':32}{'budget':>12} {'oracle':>15}{'joint':>15}{'groups alone':>15}"
        f"{'no fusion':>16}{'COSMA':>15}  proof, seconds"
    )
    wrong = []
    for name in chosen.models or TORCHVISION:
        model: GroupModel | None = None
        for at in range(3):
            row = known.get((name, at))
            if row is None:
                model = model or GroupModel(
                    sp.load(name), sp.load_machine(MACHINE), {"bands": chosen.bands}
                )
                budget = budgets(model)[at]
                found = compare(model, budget, chosen.limit, chosen.bands, chosen.check)
                row = {"model": name, "at": at, "budget": budget, **found}
                if chosen.out:
                    with chosen.out.open("a") as file:
                        file.write(json.dumps(row) + "\n")
            show(row)
            if broken(row):
                wrong.append(f"{name} in {row['budget']} bytes: {broken(row)}")
    print("\n".join(["", *wrong]) if wrong else "\nall inequalities hold")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
