"""Joined plans beside the best of the other planners, over the rows that sweeps kept.

    spillway sweep all --budgets 256KiB --weights counted --time-limit 20 --jobs 2 --plans plans \\
        --planners fusion,fusion:joint=true,cosma:schedule=joint --resume others.jsonl
    spillway sweep all --budgets 256KiB --weights counted --time-limit 20 --jobs 2 \\
        --planners joined:objective=traffic:others=false:begin=plans --resume joined.jsonl
    python benchmarks/joined_cells.py docs/joined_cells.csv --objective traffic \\
        --rows others.jsonl joined.jsonl --limit 20

Cells are added to the table, or take the place of older ones; without rows it is only read. For
each objective, limit and budget: in how many cells `joined` is better, equal and worse than the
best of the others, the geometric mean of their ratio, in how many only it has a plan, and how far
it is above what is proven of all plans: each byte once, or the seconds of the floor and of the
loads that come late in this budget.
"""

from __future__ import annotations

import argparse
import csv
import json
from collections import defaultdict
from collections.abc import Iterable
from math import exp, log
from pathlib import Path
from statistics import median
from typing import Any

VALUES = {
    "traffic": ("offchip_bytes", "compulsory_bytes"),
    "latency": ("makespan_s", "latency_floor_s"),
}
"""What is compared and its floor, as a sweep's rows call them."""
NAMED = ("objective", "limit_s", "model", "budget", "budget_bytes")
FIELDS = (*NAMED, "other", "other_value", "joined_value", "floor", "bound", "status")
EQUAL = 1e-9
NEAR = 1.05

Cell = dict[str, str]


def read(paths: Iterable[Path]) -> list[dict[str, Any]]:
    """The rows that sweeps kept: the last line may have been cut short."""
    rows = []
    for path in paths:
        for line in path.read_text().splitlines():
            try:
                rows.append(json.loads(line)["row"])
            except ValueError:
                print(f"{path}: a line that was cut short is left out")
    return rows


def cells(rows: Iterable[dict[str, Any]], objective: str, limit_s: float) -> list[Cell]:
    """A cell for each model and budget of which there is a row of joined."""
    value, floor = VALUES[objective]
    found: dict[tuple[str, str], dict[str, Any]] = defaultdict(dict)
    for row in rows:
        named, planner = (row["model"], row["budget"]), row["planner"]
        own = "joined" if planner.startswith("joined") else "others"
        best = found[named].get(own)
        if best is None or (row[value] or float("inf")) < (best[value] or float("inf")):
            found[named][own] = row
    made = []
    for (model, budget), pair in sorted(found.items()):
        if (joined := pair.get("joined")) is None:
            continue
        other = pair.get("others", {})
        facts = [objective, f"{limit_s:g}", model, budget, joined["budget_bytes"]]
        facts += [other.get("planner") if other.get(value) else None, other.get(value)]
        least = joined[floor] or other.get(floor)
        proven = [least, None if joined[value] is None else joined[value] * (1 - joined["gap"])]
        bound = max((one for one in proven if one is not None), default=None)
        facts += [joined[value], least, bound, joined["status"]]
        texts = ["" if fact is None else str(fact) for fact in facts]
        made.append(dict(zip(FIELDS, texts, strict=True)))
    return made


def merged(path: Path, new: list[Cell]) -> list[Cell]:
    """The table's cells with the new ones, which are written to it."""
    known: dict[tuple[str, ...], Cell] = {}
    if path.exists():
        with path.open(newline="") as file:
            known = {tuple(cell[name] for name in NAMED): cell for cell in csv.DictReader(file)}
    known |= {tuple(cell[name] for name in NAMED): cell for cell in new}
    every = [known[key] for key in sorted(known)]
    if new:
        with path.open("w", newline="") as file:
            table = csv.DictWriter(file, FIELDS, lineterminator="\n")
            table.writeheader()
            table.writerows(every)
    return every


def mean(ratios: list[float]) -> float:
    """Geometric."""
    return exp(sum(map(log, ratios)) / len(ratios)) if ratios else float("nan")


def line(label: str, some: list[Cell]) -> str:
    """One line of the table."""
    both = [cell for cell in some if cell["joined_value"] and cell["other_value"]]
    ratios = [float(cell["joined_value"]) / float(cell["other_value"]) for cell in both]
    planned = [cell for cell in some if cell["joined_value"]]
    above = [float(cell["joined_value"]) / float(cell["bound"]) for cell in planned]
    better, worse = (sum(r < 1 - EQUAL for r in ratios), sum(r > 1 + EQUAL for r in ratios))
    missing = sum(not cell["joined_value"] and bool(cell["other_value"]) for cell in some)
    near = sum(ratio <= NEAR for ratio in above) / max(1, len(above))
    proven = sum(cell["status"] == "optimal" for cell in planned)
    return (
        f"| {label} | {len(both)} | {better} | {len(both) - better - worse} | {worse + missing} | "
        f"{mean(ratios):.3f} | {len(planned) - len(both)} | {mean(above):.3f} | "
        f"{median(above) if above else float('nan'):.3f} | {near:.0%} | {proven} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", type=Path, help="the cells, a .csv file")
    parser.add_argument("--rows", type=Path, nargs="*", default=[], help="that sweeps kept")
    parser.add_argument("--objective", choices=VALUES, default="traffic")
    parser.add_argument("--limit", type=float, default=20.0, help="seconds that plans had")
    chosen = parser.parse_args()
    groups: dict[tuple[str, str], list[Cell]] = defaultdict(list)
    for cell in merged(chosen.table, cells(read(chosen.rows), chosen.objective, chosen.limit)):
        groups[cell["objective"], cell["limit_s"]].append(cell)
    for (objective, limit), some in groups.items():
        print(
            f"\n| {objective}, {limit} s | cells | better | equal | worse | mean | only joined "
            "| over what is proven | median | within 5 % | proven |\n|---|" + "--:|" * 10
        )
        for budget in sorted({cell["budget"] for cell in some}):
            print(line(budget, [cell for cell in some if cell["budget"] == budget]))
        print(line("all", some))


if __name__ == "__main__":
    main()
