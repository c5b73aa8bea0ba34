"""How planning, check and time grow with the graph: stacked cells of random wiring.

    python benchmarks/growth.py [--operators 100 300 1000 3000 5000]

For each size: seconds of the budgets, of the plan at MH, and instructions a second of check and
simulate; each time also divided by the time of the smallest graph, beside the ratio of sizes.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import planners as sp

CELL = 10


def stacked_cells(operators: int, seed: int = 0) -> sp.Graph:
    """Cells of ten operators on the last two cells' results, as searched networks have them."""
    rng = random.Random(seed)
    tensors = {"x": sp.Tensor("x", (6400,), "input")}
    ops: list[sp.Operator] = []
    ends = ["x", "x"]
    for start in range(0, operators, CELL):
        inside = list(dict.fromkeys(ends[-2:]))
        for i in range(start, start + CELL - 1):
            reads = tuple(dict.fromkeys(rng.choices(inside[-6:], k=2)))
            tensors[f"t{i}"] = sp.Tensor(f"t{i}", (rng.choice((1600, 3200, 6400)),))
            ops.append(sp.Operator(f"op{i}", "conv2d", reads, (f"t{i}",), macs=10**6))
            inside.append(f"t{i}")
        last = f"t{start + CELL - 1}"
        used = {t for op in ops[start:] for t in op.inputs}
        loose = tuple(t for t in inside if t not in used) or (inside[-1],)
        tensors[last] = sp.Tensor(last, (6400,))
        ops.append(sp.Operator(f"op{start + CELL - 1}", "cat", loose, (last,)))
        ends.append(last)
    return sp.Graph(f"cells{operators}", tensors, tuple(ops), ("x",), (ends[-1],))


def anew(plan: sp.Plan) -> sp.Plan:
    """The same plan, of which nothing was found yet."""
    return replace(plan, program=replace(plan.program))


def best_of(call: Callable[[], Any], times: int = 3) -> tuple[Any, float]:
    best = float("inf")
    for _ in range(times):
        began = time.perf_counter()
        result = call()
        best = min(best, time.perf_counter() - began)
    return result, best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--operators", type=int, nargs="*", default=[100, 300, 1000, 3000])
    options = parser.parse_args()
    names = ("budgets", "plan", "check", "simulate")
    print("operators  " + "  ".join(f"{n + ' s':>10} {'ratio':>7}" for n in names), " status, gap")
    first: dict[str, float] = {}
    sp.plan(stacked_cells(100), budget="MR")  # Imports the solver.
    for count in options.operators:
        graph = stacked_cells(count)
        b, budgets_s = best_of(lambda g=graph: sp.budgets(g), 1)
        plan, plan_s = best_of(lambda g=graph, m=b.MH: sp.plan(g, budget=m, replay=False), 1)
        _, check_s = best_of(lambda p=plan: sp.check(anew(p)))
        _, simulate_s = best_of(lambda p=plan: sp.simulate(anew(p)))
        seconds = dict(zip(names, (budgets_s, plan_s, check_s, simulate_s), strict=True))
        first = first or seconds
        cells = "  ".join(f"{seconds[n]:>10.4f} {seconds[n] / first[n]:>7.1f}" for n in names)
        print(f"{count:>9}  {cells}  {plan.claims.status}, {plan.claims.gap:.2%}", flush=True)


if __name__ == "__main__":
    main()
