"""Two builds side by side: is any plan worse, and does any take longer?

    python benchmarks/builds.py --before ../before [--cells benchmarks/cells.csv] [--limit 4]
        [--objectives traffic,latency] [--planners cosma,fusion] [--every 1] [--csv rows.csv]

`--before` is a checkout of the build to compare with. Each cell (network, planner, budget) is
planned by both, in turns first, each in a process of its own that stays up, on the default machine,
weights counted. Printed for each cell: what was asked for (bytes or milliseconds) before and now,
and processor seconds; then, by planner and objective, the geometric mean of the ratios (now over
before), how many cells are better and worse by more than a thousandth, and the worst. Ends with 1
where a cell has no plan that had one.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

ROOT = Path(__file__).resolve().parents[1]
EQUAL = 1e-3
WORKER = """
import json, sys, time
import planners as sp
from planners.study.budgets import parse_size
answers, sys.stdout = sys.stdout, sys.stderr
graphs = {}
for line in sys.stdin:
    ask = json.loads(line)
    name = ask["network"]
    if name not in graphs:
        graphs.clear()
        graphs[name] = sp.load(name)
    began, answer = time.process_time(), {}
    try:
        budget, options = parse_size(ask["budget"]), ask["options"]
        plan = sp.plan(
            graphs[name], ask["planner"], budget, time_limit=ask["limit"], **options
        )
        trace = sp.simulate(plan)
        answer = {"bytes": trace.traffic_bytes, "ms": 1e3 * trace.makespan_s}
        answer["status"] = plan.claims.status
    except sp.SpillwayError as error:
        answer = {"error": f"{type(error).__name__}: {error}"[:200]}
    answer["cpu_s"] = round(time.process_time() - began, 3)
    print(json.dumps(answer), file=answers, flush=True)
"""


class Build:
    """A checkout whose planners answer from a process that stays up."""

    def __init__(self, folder: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", WORKER],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def plan(self, request: dict[str, Any]) -> dict[str, Any]:
        """What the build answers; raises `RuntimeError` where its process has ended."""
        into, out = self.process.stdin, self.process.stdout
        assert into is not None
        assert out is not None
        into.write(json.dumps(request) + "\n")
        into.flush()
        line = out.readline()
        if not line:
            raise RuntimeError(f"a build has ended at {request}")
        answer: dict[str, Any] = json.loads(line)
        return answer


def options_of(planner: str, objective: str) -> dict[str, Any] | None:
    """What a planner is asked with; None where it has no such objective."""
    if planner == "overlap":
        return {} if objective == "traffic" else None
    options: dict[str, Any] = {"objective": objective, "weights": "counted"}
    return options | ({"others": False} if planner == "joined" else {})


def summarize(rows: pd.DataFrame) -> None:
    """Print the ratios by planner and objective."""
    rows = rows.dropna()
    ratio = (rows["now"] / rows["before"]).fillna(1.0)
    rows = rows.assign(
        log_ratio=np.log(ratio.clip(lower=1e-9)),
        better=ratio < 1 - EQUAL,
        worse=ratio > 1 + EQUAL,
        ratio=ratio,
        seconds=rows["now_s"] / rows["before_s"].clip(lower=1e-3),
    )
    table = rows.groupby(["planner", "objective"]).agg(
        cells=("ratio", "size"),
        mean=("log_ratio", lambda logs: np.exp(logs.mean())),
        better=("better", "sum"),
        worse=("worse", "sum"),
        worst=("ratio", "max"),
        seconds=("seconds", lambda values: np.exp(np.log(values).mean())),
        slowest=("seconds", "max"),
    )
    print(table.round(4).to_string())


def main() -> int:
    """Plan all cells by both builds and print what differs."""
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("--before", type=Path, required=True)
    ask.add_argument("--cells", type=Path, default=ROOT / "benchmarks" / "cells.csv")
    ask.add_argument("--limit", type=float, default=4.0, help="seconds for each plan")
    ask.add_argument("--objectives", default="traffic,latency")
    ask.add_argument("--planners", default="", help="of the cells, these only")
    ask.add_argument("--every", type=int, default=1, help="every so many of the cells")
    ask.add_argument("--csv", type=Path)
    asked = ask.parse_args()
    with asked.cells.open() as file:
        cells = list(csv.DictReader(file))
    if asked.planners:
        cells = [cell for cell in cells if cell["planner"] in asked.planners.split(",")]
    before, now = Build(asked.before), Build(ROOT)
    rows: list[dict[str, Any]] = []
    lost = 0
    for turn, cell in enumerate(cells[:: asked.every]):
        for objective in asked.objectives.split(","):
            options = options_of(cell["planner"], objective)
            if options is None:
                continue
            request = {**cell, "limit": asked.limit, "options": options}
            pair = (before, now) if turn % 2 else (now, before)
            answers = {id(build): build.plan(request) for build in pair}
            old, new = answers[id(before)], answers[id(now)]
            unit = "ms" if objective == "latency" else "bytes"
            rows.append({**cell, "objective": objective, "before": old.get(unit)})
            rows[-1] |= {"now": new.get(unit), "before_s": old["cpu_s"], "now_s": new["cpu_s"]}
            label = f"{cell['network']} {cell['planner']} {cell['budget']} {objective}"
            if unit in old and unit in new:
                ratio = new[unit] / old[unit] if old[unit] else 1.0
                mark = "" if abs(ratio - 1) <= EQUAL else "better" if ratio < 1 else "WORSE"
                figures = f"{old[unit]:,.6g} -> {new[unit]:,.6g} {unit}"
                print(f"{label}: {figures} {ratio:.4f} {mark}", end="  ")
                print(f"{old['cpu_s']:.2f} -> {new['cpu_s']:.2f} s", flush=True)
            elif unit in old:
                lost += 1
                print(f"{label}: LOST, {new['error']}", flush=True)
            else:
                print(f"{label}: {old['error'][:80]} -> {new.get(unit, 'none')}", flush=True)
    summarize(pd.DataFrame(rows))
    if asked.csv:
        pd.DataFrame(rows).to_csv(asked.csv, index=False)
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
