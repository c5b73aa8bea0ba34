"""Every model of torchvision, and two of timm, in one table, and how each budget is planned.

    python benchmarks/catalogue.py [MODEL ...] [--out docs/catalogue.csv] [--plan]

Operators (fused), parameters, MACs, MR, MP or the interval that holds it, and seconds of import
(from scratch, without a cache) and of the budgets; with --plan also the worst gap over MR, MH and
MP for the default schedule and the seconds of the slowest.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from contextlib import nullcontext
from typing import Any

import planners as sp
from planners.catalogue.loading import trace
from planners.catalogue.names import TIMM_SUGGESTED, default_inputs

COLUMNS = (
    *("model", "operators", "parameters", "macs", "MR", "MP", "MP_bound", "MP_proven"),
    *("import_s", "budgets_s", "worst_gap", "slowest_plan_s"),
)


def describe(name: str, with_plans: bool) -> dict[str, Any]:
    began = time.perf_counter()
    # A timm model says itself what it takes.
    graph = trace(name, None if name in TIMM_SUGGESTED else default_inputs(name), "fused")
    imported = time.perf_counter()
    b = sp.budgets(graph)
    done = time.perf_counter()
    row = {
        "model": name,
        "operators": len(graph.operators),
        "parameters": graph.parameter_count,
        "macs": graph.macs,
        "MR": b.MR,
        "MP": b.MP,
        "MP_bound": b.MP_bound,
        "MP_proven": b.MP_proven,
        "import_s": round(imported - began, 2),
        "budgets_s": round(done - imported, 3),
    }
    return row | (planned(graph, b) if with_plans else {})


def planned(graph: sp.Graph, b: sp.Budgets) -> dict[str, Any]:
    gaps, seconds = [], []
    for budget in sorted({b.MR, b.MH, b.MP}):
        began = time.perf_counter()
        plan = sp.plan(graph, budget=budget, replay=False)
        seconds.append(time.perf_counter() - began)
        sp.check(plan)
        gaps.append(plan.claims.gap)
    return {"worst_gap": round(max(gaps), 5), "slowest_plan_s": round(max(seconds), 3)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*")
    parser.add_argument("--out", default=None)
    parser.add_argument("--plan", action="store_true")
    options = parser.parse_args()
    with open(options.out, "w", newline="") if options.out else nullcontext(sys.stdout) as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        for name in options.models or (*sp.models(), *TIMM_SUGGESTED):
            writer.writerow(describe(name, options.plan))
            file.flush()


if __name__ == "__main__":
    main()
