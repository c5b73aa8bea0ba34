"""Seconds to plan, check, time and execute: the models of the foundation at MR, MH and MP.

    python benchmarks/planning.py [MODEL ...] [--execute] [--time-limit 60]

One line a plan: status, objective, bound, gap, seconds of planning (import apart), seconds of
check and simulate with instructions a second, and with --execute whether it ran bit for bit.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import planners as sp

MODELS = [
    *("resnet50", "densenet121", "vit_b_16", "r2plus1d_18", "mobilenet_v2"),
    "timm:nasnetalarge",
]


def timed(call: Any, *args: Any, **kwargs: Any) -> tuple[Any, float]:
    began = time.perf_counter()
    return call(*args, **kwargs), time.perf_counter() - began


def row(graph: sp.Graph, label: str, budget: int, limit: float, schedule: str) -> tuple[Any, str]:
    plan, plan_s = timed(sp.plan, graph, budget=budget, time_limit=limit, schedule=schedule)
    report, check_s = timed(sp.check, plan)
    _, simulate_s = timed(sp.simulate, plan)
    c = plan.claims
    return plan, (
        f"{graph.name:<20} {label:<3} {budget:>10} {c.status:<9} {c.objective_bytes:>10} "
        f"{c.bound_bytes:>10} {c.gap:>7.2%} {plan_s:>7.3f} "
        f"{report.instructions / check_s:>9.0f} {report.instructions / simulate_s:>9.0f}  "
        f"{c.solver}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=MODELS)
    parser.add_argument("--execute", action="store_true")
    parser.add_argument("--schedule", default="default")
    parser.add_argument("--time-limit", type=float, default=60.0)
    options = parser.parse_args()
    print(
        f"{'model':<20} {'B':<3} {'bytes':>10} {'status':<9} {'objective':>10} {'bound':>10} "
        f"{'gap':>7} {'plan s':>7} {'check/s':>9} {'time/s':>9}  solver"
    )
    for name in options.models:
        graph = sp.load(name)
        b = sp.budgets(graph)
        for label in ("MR", "MH", "MP"):
            plan, line = row(graph, label, getattr(b, label), options.time_limit, options.schedule)
            if options.execute:
                done, seconds = timed(sp.execute, plan)
                line += f"  bit exact {done.bit_exact} in {seconds:.1f} s"
            print(line, flush=True)


if __name__ == "__main__":
    main()
