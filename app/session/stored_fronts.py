"""Fronts of the catalogue's networks as they are shipped: points of a sweep of all planners.

A page shows them from its first moment, until points that are planned here take their places.
`python -m app.session.stored_fronts TABLE.parquet` makes the file anew, of the table that the
command in `docs/winners.md` writes.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from typing import Any

from app.model.paths import ASSETS
from app.model.state import ProblemFields, problem_with
from app.session.models import Models
from planners import __version__
from planners.study.sweep import variant

FILE = ASSETS / "fronts.json"
USUAL = ("input_shape", "granularity", "bytes_per_element", "machine_fields")
"""Fields of a problem that are as usual where its front is stored."""
LIMIT_S = 4
COLUMNS = {
    "budget_bytes": "budget_bytes",
    "peak_bytes": "peak_bytes",
    "makespan_s": "makespan_s",
    "traffic_bytes": "offchip_bytes",
    "energy_j": "energy_j",
    "status": "status",
    "gap": "gap",
    "objective_bytes": "objective_bytes",
    "bound_bytes": "bound_bytes",
    "compulsory_bytes": "compulsory_bytes",
    "noncompulsory_bytes": "noncompulsory_bytes",
}
"""What a point has, and the column of a sweep's table that has it."""


@cache
def stored_fronts() -> dict[str, Any]:
    """The version that planned them, the machine, what weights do, the planners with their options,
    and by network a row for each point: which of the planners, then `COLUMNS`."""
    stored: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return stored


def stored_points(problem: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The stored points of a problem's network and machine; none where anything is unusual."""
    stored, usual = stored_fronts(), problem_with({})
    alike = all((problem.get(name) or "") == (getattr(usual, name) or "") for name in USUAL)
    same = all(problem.get(name) == stored[name] for name in ("machine", "weights"))
    if not (alike and same):
        return []
    problems = [_problem(problem["model"], planner, stored) for planner in stored["planners"]]
    return [
        {
            **dict(zip(COLUMNS, row[1:], strict=True)),
            "problem": problems[row[0]],
            "planner": problems[row[0]]["planner"],
            "own_times": False,
            "front": [],
        }
        for row in stored["points"].get(problem["model"], ())
    ]


def _problem(model: str, planner: str, stored: Mapping[str, Any]) -> dict[str, Any]:
    """The problem that the points of one planner answer."""
    name, options = variant(planner)
    fields = {"model": model, "machine": stored["machine"], "weights": stored["weights"]}
    problem = ProblemFields.with_values(planner=name, **fields, **options)
    request = Models(problem).request()
    del request["budget"]
    return {**request, "time_limit": LIMIT_S}


def made_of(table: str) -> dict[str, Any]:
    """What is stored of a sweep's table: the plans that it has, six digits of each number."""
    import pandas as pd

    rows = pd.read_parquet(table)
    rows = rows[rows["status"].isin(("optimal", "feasible"))]
    planners = list(dict.fromkeys(rows["planner"]))
    (machine,) = set(rows["machine"])
    points: defaultdict[str, list[list[Any]]] = defaultdict(list)
    for row in rows.drop_duplicates(["model", "planner", "budget_bytes"]).to_dict("records"):
        values = (row[column] for column in COLUMNS.values())
        points[row["model"]].append([planners.index(row["planner"]), *map(_short, values)])
    conditions = {
        "version": __version__,
        "machine": machine,
        "weights": "counted",
        "planners": planners,
    }
    return conditions | {"points": points}


def _short(value: Any) -> Any:
    if not isinstance(value, float):
        return value
    return int(value) if value.is_integer() else float(f"{value:.6g}")


if __name__ == "__main__":
    FILE.write_text(json.dumps(made_of(sys.argv[1]), separators=(",", ":")), encoding="utf-8")
    count = sum(map(len, stored_fronts()["points"].values()))
    print(f"{FILE}: {count} points, {FILE.stat().st_size} bytes")
