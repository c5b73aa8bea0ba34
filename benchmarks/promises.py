r"""What sweeps say of three promises: limits are kept, `auto` is never far from the best single
planner, and neither more memory nor more time makes a plan worse.

    spillway sweep all --planners fusion:objective=latency,auto:objective=latency … \
        --resume rows.jsonl
    python benchmarks/promises.py rows.jsonl --limit 4 [--longer twice.jsonl]

reads the rows as they were found, before a larger budget takes the plan of a smaller one.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import geometric_mean
from typing import Any

AUTO = "auto"
IN_PLACE = "overlap"  # Weights are read in place: a problem that `auto` does not solve here.
SLOWER = 1.02
NEAR = (1.01, 1.02, 1.05, 1.1)


def rows_of(paths: Iterable[str]) -> list[dict[str, Any]]:
    """The rows of files of JSON lines, the last of each key."""
    found: dict[str, dict[str, Any]] = {}
    for path in paths:
        for line in Path(path).read_text().splitlines():
            item = json.loads(line)
            found[item["key"]] = item["row"]
    return list(found.values())


def of(rows: Sequence[Mapping[str, Any]], planner: str) -> list[Mapping[str, Any]]:
    return [row for row in rows if row["planner"] == planner]


def name_of(planner: str) -> str:
    return planner.split(":")[0]


def cell(row: Mapping[str, Any]) -> tuple[str, str]:
    return row["model"], row["budget"]


def times(rows: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str], float]:
    return {cell(row): row["makespan_s"] for row in rows if row["makespan_s"]}


def limits(rows: Sequence[Mapping[str, Any]], planners: Sequence[str], limit_s: float) -> None:
    """Seconds of the whole answer; beyond the limit by more than a tenth and a second is over."""
    most = max(1.1 * limit_s, limit_s + 1)
    within = "95 of 100 within | 99 of 100 within"
    print(f"| planner | cells | over {most:g} s | {within} | the worst |")
    print("| --- | --- | --- | --- | --- | --- |")
    for planner in planners:
        own = of(rows, planner)
        took = sorted(min(row["wall_s"], row["cpu_s"]) for row in own)
        worst = max(own, key=lambda row: min(row["wall_s"], row["cpu_s"]))
        at95, at99 = (took[int(share * (len(took) - 1))] for share in (0.95, 0.99))
        over = sum(seconds > most for seconds in took)
        where = f"{took[-1]:.1f} ({worst['model']}, {worst['budget']})"
        print(f"| {name_of(planner)} | {len(own)} | {over} | {at95:.1f} | {at99:.1f} | {where} |")


def beside_the_best(rows: Sequence[Mapping[str, Any]], planners: Sequence[str]) -> None:
    """`auto` over the best single planner with all of the time."""
    auto = next((p for p in planners if name_of(p) == AUTO), None)
    if auto is None:
        return
    singles = [p for p in planners if name_of(p) not in (AUTO, IN_PLACE)]
    known = {planner: times(of(rows, planner)) for planner in singles}
    ratios: dict[tuple[str, str], tuple[float, str]] = {}
    for at, seconds in times(of(rows, auto)).items():
        best = min(((t[at], p) for p, t in known.items() if at in t), default=None)
        if best:
            ratios[at] = seconds / best[0], best[1]
    values = [ratio for ratio, _ in ratios.values()]
    within = [sum(value <= near for value in values) for near in NEAR]
    print(f"\n{len(values)} cells; better by over 1 %: {sum(v < 0.99 for v in values)}; ", end="")
    print("; ".join(f"within {near - 1:.0%}: {n}" for near, n in zip(NEAR, within)), end="; ")
    print(f"geometric mean {geometric_mean(values):.4f}")
    far = sorted(((r, p, at) for at, (r, p) in ratios.items() if r > NEAR[0]), reverse=True)
    print(", ".join(f"{m} {b} ({name_of(p)}, +{r - 1:.0%})" for r, p, (m, b) in far))


def more_memory(rows: Sequence[Mapping[str, Any]], planners: Sequence[str]) -> None:
    """Pairs of budgets of a network, one the next larger."""
    print("\n| planner | pairs | slower by 0.1 % | by 2 % |\n| --- | --- | --- | --- |")
    for planner in planners:
        by_model: dict[str, dict[int, float]] = {}
        for row in of(rows, planner):
            if row["makespan_s"]:
                by_model.setdefault(row["model"], {})[row["budget_bytes"]] = row["makespan_s"]
        ratios = []
        for found in by_model.values():
            seconds = [found[size] for size in sorted(found)]
            ratios += [more / less for less, more in zip(seconds, seconds[1:])]
        slower = [sum(ratio > most for ratio in ratios) for most in (1.001, SLOWER)]
        print(f"| {name_of(planner)} | {len(ratios)} | {slower[0]} | {slower[1]} |")


def more_time(rows: Sequence[Mapping[str, Any]], longer: Sequence[Mapping[str, Any]]) -> None:
    """The same with more time."""
    for planner in dict.fromkeys(row["planner"] for row in longer):
        short, long = times(of(rows, planner)), times(of(longer, planner))
        ratios = {at: long[at] / short[at] for at in long if at in short}
        slower = sorted(((r, *at) for at, r in ratios.items() if r > SLOWER), reverse=True)
        mean = geometric_mean(ratios.values())
        print(f"\n{planner}: {len(ratios)} cells, mean {mean:.3f}, over 2 % slower {len(slower)}:")
        print(", ".join(f"{model} {budget} {ratio:.3f}" for ratio, model, budget in slower))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="+", help="files that --resume kept")
    parser.add_argument("--limit", type=float, required=True, help="seconds that were asked for")
    parser.add_argument("--longer", nargs="*", default=[], help="the same with more time")
    given = parser.parse_args()
    rows = rows_of(given.rows)
    planners = list(dict.fromkeys(row["planner"] for row in rows))
    limits(rows, planners, given.limit)
    beside_the_best(rows, planners)
    more_memory(rows, planners)
    if given.longer:
        more_time(rows, rows_of(given.longer))


if __name__ == "__main__":
    main()
