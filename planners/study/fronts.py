"""Tables of plans evaluated: Pareto fronts, the hypervolume of each planner, who wins where."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from planners.core.errors import BadInput
from planners.core.weights import WEIGHTS, WORDS

if TYPE_CHECKING:
    import pandas as pd

METRICS: Mapping[str, str] = {
    "memory": "extent_bytes",
    "latency": "makespan_s",
    "traffic": "offchip_bytes",
    "energy": "energy_j",
}
UNITS: Mapping[str, str] = {"memory": "bytes", "latency": "s", "traffic": "bytes", "energy": "J"}
PLANNED = ("optimal", "feasible")
PROBLEM = ["model", "machine"]
TIE = 1e-9  # values this close, as a share, are equal


def front(points: Iterable[Sequence[float]], *, close: float = 0.0) -> list[int]:
    """Positions of the points that no other point dominates, by rising first value.

    A point dominates another that it is no worse than in both values and better in one; less is
    better. Of equal points the first is kept; second values are equal within a share of `close`.

    >>> front([(3, 1), (1, 3), (2, 2), (3, 2), (2, 2)])
    [1, 2, 0]
    """
    kept: list[int] = []
    least = math.inf
    for place, point in sorted(enumerate(points), key=lambda item: (*item[1][:2], item[0])):
        if least == math.inf or point[1] < least - abs(least) * close:
            kept.append(place)
            least = point[1]
    return kept


def hypervolume(points: Iterable[Sequence[float]], reference: Sequence[float]) -> float:
    """The area that points dominate up to a reference; points beyond it count for nothing.

    >>> hypervolume([(1, 2), (2, 1)], (3, 3))
    3.0
    """
    inside = [(p[0], p[1]) for p in points if p[0] <= reference[0] and p[1] <= reference[1]]
    area, height = 0.0, float(reference[1])
    for place in front(inside):
        x, y = inside[place]
        area += (reference[0] - x) * (height - y)
        height = y
    return area


def fronts(table: pd.DataFrame, x: str = "memory", y: str = "latency") -> pd.DataFrame:
    """The rows of a sweep that no plan of the same model and machine dominates in two metrics.

    Raises `BadInput` for metrics and columns that do not exist.
    """
    rows = planned(table, x, y)
    kept: list[object] = []
    for _, group in rows.groupby(PROBLEM, sort=False):
        values = list(zip(group[METRICS[x]], group[METRICS[y]], strict=True))
        kept += [group.index[place] for place in front(values)]
    return rows.loc[kept]


def hypervolumes(table: pd.DataFrame, x: str = "memory", y: str = "latency") -> pd.DataFrame:
    """One number for each planner: the share of what all planners together reach, from 0 to 1.

    For each model and machine, both metrics are taken as logarithms, from the best to the worst
    value that any planner has; a planner's share is the area that its plans dominate over that of
    all plans. Columns: `planner`, `share` (the mean over models and machines; 0 where a planner
    has no plan), `models` (how many pairs of model and machine it has a plan for), `of` (how many
    there are). Where all plans are equal, each planner that has one has all.
    """
    import pandas as pd

    rows = planned(table, x, y)
    names = list(dict.fromkeys(table["planner"]))
    shares: dict[str, list[float]] = {name: [] for name in names}
    had = dict.fromkeys(names, 0)
    groups = list(rows.groupby(PROBLEM, sort=False))
    for _, group in groups:
        logs = {metric: _logs(group[METRICS[metric]]) for metric in (x, y)}
        reference = tuple(max(logs[metric]) + 1e-3 for metric in (x, y))
        points = list(zip(logs[x], logs[y], strict=True))
        whole = hypervolume(points, reference)
        for name in names:
            planner_points = [p for p, n in zip(points, group["planner"], strict=True) if n == name]
            had[name] += bool(planner_points)
            shares[name].append(hypervolume(planner_points, reference) / whole)
    records = [
        {
            "planner": name,
            "share": sum(shares[name]) / len(groups) if groups else math.nan,
            "models": had[name],
            "of": len(groups),
        }
        for name in names
    ]
    return pd.DataFrame(records).sort_values("share", ascending=False, ignore_index=True)


def winners(table: pd.DataFrame, by: str = "latency") -> pd.DataFrame:
    """Which planner has the least of a metric: a row for each model, machine and budget.

    Columns: `model`, `machine`, `budget`, `winner` (several with `+` where they tie, `none` where
    no planner has a plan), `value`, `second` (the next best planner) and `margin` (how much worse
    that is, as a share of `value`).
    """
    import pandas as pd

    column = METRICS[_known(by)]
    rows = planned(table, by)
    records = []
    for key, whole in table.groupby([*PROBLEM, "budget"], sort=False):
        group = rows.loc[rows.index.intersection(whole.index)]
        best = {str(n): float(g[column].min()) for n, g in group.groupby("planner", sort=False)}
        row = dict(zip([*PROBLEM, "budget"], key, strict=True))
        records.append(row | _winner(best))
    columns = [*PROBLEM, "budget", "winner", "value", "second", "margin"]
    return pd.DataFrame(records, columns=columns)


def wins(table: pd.DataFrame, by: str = "latency") -> pd.DataFrame:
    """How often each planner wins, by budget: rows are winners, columns budgets and their sum."""
    winning = winners(table, by)
    counts = winning.groupby(["winner", "budget"], sort=False).size().unstack(fill_value=0)
    counts = counts[list(dict.fromkeys(winning["budget"]))]
    counts["all"] = counts.sum(axis=1)
    return counts.sort_values("all", ascending=False)


def planned(table: pd.DataFrame, *metrics: str) -> pd.DataFrame:
    """Rows that have a plan, with these metrics.

    Raises `BadInput` where columns are missing, and where weights do different things in plans of
    the table (`of_weights` picks those of one problem).
    """
    wanted = [METRICS[_known(metric)] for metric in metrics]
    needed = [*PROBLEM, "planner", "budget", "status", *wanted]
    if missing := [name for name in needed if name not in table.columns]:
        raise BadInput(f"the table has no column {missing[0]!r}: it must be one of spillway sweep")
    rows = table[table["status"].isin(PLANNED)]
    if "weights" in rows and len(kinds := sorted(rows["weights"].dropna().unique())) > 1:
        words = " and ".join(WORDS[each] for each in kinds)
        raise BadInput(
            f"the table has plans with weights {words}: these are different problems, name one "
            f"({', '.join(kinds)})"
        )
    return rows.dropna(subset=wanted)


def of_weights(table: pd.DataFrame, weights: str) -> pd.DataFrame:
    """The rows without a plan, and those in whose plans weights do this. Raises `BadInput`."""
    if weights not in WEIGHTS:
        raise BadInput(f"weights must be one of {', '.join(WEIGHTS)}, not {weights!r:.40}")
    if "weights" not in table:
        raise BadInput("the table does not say what weights do: sweep again")
    return table[(table["weights"] == weights) | ~table["status"].isin(PLANNED)]


def _known(metric: str) -> str:
    if metric not in METRICS:
        raise BadInput(f"no metric {metric!r:.40}; there are {', '.join(METRICS)}")
    return metric


def _logs(values: Iterable[float]) -> list[float]:
    """Logarithms; nothing at all counts as one millionth of the least that is something."""
    given = [float(value) for value in values]
    least = min((value for value in given if value > 0), default=1.0)
    return [math.log(value if value > 0 else least * 1e-6) for value in given]


def _winner(best: Mapping[str, float]) -> dict[str, object]:
    if not best:
        return {"winner": "none", "value": None, "second": None, "margin": None}
    value = min(best.values())
    first = [name for name, figure in best.items() if figure <= value * (1 + TIE)]
    rest = sorted((figure, name) for name, figure in best.items() if name not in first)
    margin = (rest[0][0] - value) / value if rest and value else None
    second = rest[0][1] if rest else None
    return {"winner": "+".join(first), "value": value, "second": second, "margin": margin}
