"""How the search over orders grows: random NAS-like networks from 50 to 2,000 operators.

    python benchmarks/growth_joint.py [--operators 50 100 200] [--seeds 3] [--limit 60]
                                      [--budgets MR,MH] [--schedule joint]

A line for each network and budget: seconds, states that the search has looked at, non-compulsory
bytes, proven bound and gap, with the best of Belady and greedy in the default order beside it. A
summary for each number of operators: how many are proven, median seconds, and the largest gap.
Every plan passes `check`.
"""

from __future__ import annotations

import argparse
import re
from statistics import median

from nas_like import nas_like_of

import planners as sp

SIZES = [50, 100, 200, 400, 700, 1000, 1500, 2000]


def states_of(solver: str) -> int:
    """How many states a plan's solver says that it looked at; none where it had no need to."""
    found = re.search(r"([\d,]+) states", solver)
    return int(found[1].replace(",", "")) if found else 0


def line_for(graph: sp.Graph, label: str, schedule: str, limit: float) -> tuple[str, float, float]:
    """The text of a line, seconds, and the gap."""
    plan = sp.plan(graph, budget=label, schedule=schedule, time_limit=limit, replay=False)
    sp.check(plan)
    claims = plan.claims
    online = min(
        sp.plan(graph, budget=label, replacement=scheme).claims.objective_bytes
        for scheme in ("belady", "greedy")
    )
    text = (
        f"{graph.name:<14} {len(graph.operators):>5} {label:<3} {claims.plan_s:>8.2f} "
        f"{states_of(claims.solver):>9,} {claims.objective_bytes:>12,} "
        f"{claims.bound_bytes:>12,} {claims.gap:>7.1%} {online:>12,}"
    )
    return text, claims.plan_s, claims.gap


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--operators", type=int, nargs="*", default=SIZES)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("--budgets", default="MR,MH")
    parser.add_argument("--schedule", default="joint", choices=["default", "mpmf", "joint", "dnc"])
    options = parser.parse_args()
    sp.plan(nas_like_of(20, 0))  # Imports are no part of the times.
    print(
        f"{'network':<14} {'ops':>5} {'B':<3} {'s':>8} {'states':>9} {'bytes':>12} {'bound':>12} "
        f"{'gap':>7} {'online':>12}"
    )
    summaries = []
    for operators in options.operators:
        taken, gaps = [], []
        for seed in range(options.seeds):
            graph = nas_like_of(operators, seed)
            for label in options.budgets.split(","):
                text, seconds, gap = line_for(graph, label, options.schedule, options.limit)
                print(text, flush=True)
                taken.append(seconds)
                gaps.append(gap)
        summaries.append(
            f"{operators:>5} operators: {sum(not gap for gap in gaps)} of {len(gaps)} proven, "
            f"median {median(taken):.2f} s, largest gap {max(gaps):.1%}"
        )
    print("\n".join(["", *summaries]))


if __name__ == "__main__":
    main()
