"""Points of plans by cost and memory: dominance, bounds, what more memory gains.

No Panel here. A point is what a planning process reports of a plan
(`app.jobs.handlers.sweep.point`) with the `problem` that it answers. Less is better on all of
`AXES`.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import planners as sp
from app.model.machines import ON_MACHINE
from app.model.options import OVERLAP, STREAMING, apart, series, weights_done
from app.model.staircase import staircase
from planners.core.bounds.floors import ProblemFloors
from planners.core.machine import Machine, with_scratchpad
from planners.overlap.options import OBJECTIVES as OVERLAP_OBJECTIVES
from planners.study.fronts import front as undominated

AXES: Mapping[str, str] = {
    "memory": "budget_bytes",
    "peak": "peak_bytes",
    "latency": "makespan_s",
    "traffic": "traffic_bytes",
    "energy": "energy_j",
}
"""The axes of the chart, and where a point has their values."""
UNITS: Mapping[str, str] = {"latency": "s", "energy": "J"}
OF_NETWORK = ("model", "input_shape", "granularity", "bytes_per_element")
GRAPH_FIELDS = (*OF_NETWORK, "weights")
OF_MEMORY = ("peak", *OVERLAP_OBJECTIVES)  # bounds on memory, not on traffic
CLOSE = 1e-9
Point = Mapping[str, Any]
CSV_COLUMNS = ("budget_bytes", "peak_bytes", "makespan_s", "traffic_bytes", "energy_j")
CSV_MORE = ("compulsory_bytes", "noncompulsory_bytes", "status", "gap")


@dataclass(frozen=True, slots=True)
class Buy:
    """What a planner gives for a budget and for more of it; None where it has no plan (yet).

    `need` is the least budget of the planner where it has no plan for one of the two.
    """

    name: str
    now: float | None
    more: float | None
    need: int | None = None
    status: str = ""

    @property
    def gain(self) -> float | None:
        """By how much less it becomes; negative where it grows."""
        return None if self.now is None or self.more is None else self.now - self.more

    @property
    def share(self) -> float | None:
        """The gain as a share of what it is now."""
        return None if self.gain is None or not self.now else self.gain / self.now


def unit(axis: str) -> str:
    """`B`, `s` or `J`."""
    return UNITS.get(axis, "B")


def value(point: Point, axis: str) -> float:
    """What a point has on an axis."""
    return float(point[AXES[axis]])


def indexed(
    points: Sequence[Mapping[str, Any]], problem: Mapping[str, Any] | None = None
) -> list[dict[str, Any]]:
    """The points of a chart, with their places in the list as `index` and the names of `series`.

    With `problem`: only points of its graph and machine whose problem has weights do what the last
    of them says, because memory and traffic are not comparable else. Of one planner and budget only
    the last.
    """
    rows = [
        {**p, "index": i, "series": series(p["problem"])}
        for i, p in enumerate(points)
        if not problem or beside(p["problem"], problem)
    ]
    last = {
        (p["series"], p["budget_bytes"]): p
        for p in rows
        if p["problem"]["weights"] == rows[-1]["problem"]["weights"]
    }
    return list(last.values())


def beside(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two problems are of one network and machine, so that their plans share a chart."""
    return _agree(one, other, (*OF_NETWORK, *ON_MACHINE))


def same_network(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two problems are of one network, on any machine."""
    return _agree(one, other, OF_NETWORK)


def _agree(one: Mapping[str, Any], other: Mapping[str, Any], names: Sequence[str]) -> bool:
    return all((one.get(name) or "") == (other.get(name) or "") for name in names)


def front(points: Sequence[Point], x: str, y: str) -> list[int]:
    """Points that no other equals or beats in both `x` and `y`, `x` rising; of equals the first."""
    return undominated([(value(p, x), value(p, y)) for p in points], close=CLOSE)


def best(points: Sequence[Point], x: str, y: str) -> set[int]:
    """Points that none beats: those of the front, and those that equal one of them.

    Points are compared with those in whose plans weights do the same.
    """
    alike: dict[str, list[int]] = {}
    for i, p in enumerate(points):
        alike.setdefault(weights_done(p["problem"]), []).append(i)
    return {i for members in alike.values() for i in _best_of(points, members, x, y)}


def _best_of(points: Sequence[Point], members: Sequence[int], x: str, y: str) -> list[int]:
    """The same of the points at some positions alone."""
    places = {i: (value(points[i], x), value(points[i], y)) for i in members}
    corners = {places[members[k]] for k in front([points[i] for i in members], x, y)}
    return [i for i, place in places.items() if place in corners]


def by_series(points: Sequence[Point]) -> dict[str, list[int]]:
    """Positions of the points of each planner with its options, in the order that they came."""
    positions: dict[str, list[int]] = {}
    for i, point in enumerate(points):
        positions.setdefault(point.get("series") or series(point["problem"]), []).append(i)
    return positions


def stairs(points: Sequence[Point], x: str, y: str) -> tuple[list[float], list[float]]:
    """The front as a staircase: a plan for less memory serves for more."""
    corners = [(value(points[i], x), value(points[i], y)) for i in front(points, x, y)]
    line = staircase(corners, max((value(p, x) for p in points), default=0.0))
    return line["x"], line["y"]


def full_rate_stairs(points: Sequence[Point], x: str, y: str) -> tuple[list[float], list[float]]:
    """The front of all plans with arrays that are always full; empty where latency is no axis.

    What lies between it and a planner's front is what the machine's array costs.
    """
    if "latency" not in (x, y):
        return [], []
    ideal = [
        {**p, AXES["latency"]: p["full_rate_s"]} for p in points if p.get("full_rate_s") is not None
    ]
    return stairs(ideal, x, y)


def bands(points: Sequence[Point], machine: Machine, x: str, y: str) -> dict[str, list[Any]]:
    """From where to where points that none beats may lie by what judged a machine's seconds.

    Columns of segments, `of` the points' series; empty where nothing judged them, where times were
    given, and where latency is no axis.
    """
    columns: dict[str, list[Any]] = {name: [] for name in ("x0", "y0", "x1", "y1", "of")}
    if not machine.seconds_band or "latency" not in (x, y):
        return columns
    for i in sorted(best(points, x, y)):
        p = points[i]
        if p.get("own_times"):
            continue
        ends = machine.between_s(p[AXES["latency"]])
        xs, ys = (ends if name == "latency" else [value(p, name)] * 2 for name in (x, y))
        row = (xs[0], ys[0], xs[1], ys[1], p.get("series") or series(p["problem"]))
        for name, item in zip(columns, row, strict=True):
            columns[name].append(item)
    return columns


def floor(points: Sequence[Point], axis: str, graph: sp.Graph, machine: Machine) -> float | None:
    """What no plan of the graph can be below on an axis; None where nothing is known.

    Of points in which weights do different things it is the least.
    """
    if not points or axis not in FLOORS:
        return None
    if axis == "latency" and any(p.get("own_times") for p in points):
        return None
    floors_of_points = [_floors(graph, machine, weights_done(p["problem"])) for p in points]
    values = {"traffic": "compulsory_bytes", "latency": "latency_s", "energy": "energy_j"}
    return min(float(getattr(floors, values[axis])) for floors in floors_of_points)


FLOORS: Mapping[str, str] = {
    "traffic": "floor: compulsory traffic",
    "latency": "floor: all operators at full rate",
    "energy": "floor: energy of MACs and compulsory traffic",
}

_known: dict[str, ProblemFloors] = {}
"""The floors asked for last, by what weights do: a chart is drawn often, of one graph."""


def _floors(graph: sp.Graph, machine: Machine, weights: str) -> ProblemFloors:
    machine, floors = with_scratchpad(machine, 1), _known.get(weights)
    if floors is None or floors.graph is not graph or floors.machine != machine:
        floors = _known[weights] = ProblemFloors(graph, machine, weights)
    return floors


def proven_bounds(points: Sequence[Point]) -> dict[int, int]:
    """The traffic below which no plan of one planner can be, by budget.

    A bound is proven for one order of operators: among several orders the least holds, and only
    where each of them has one. The bound of a plan made for least peak is no bound on traffic.
    Empty where several planners are on the chart: each bound holds for one planner's plans only.
    """
    by_order: dict[Any, dict[int, int]] = {}
    if len({p["problem"]["planner"] for p in points}) != 1:
        return {}
    for p in points:
        chosen = p["problem"]["options"]
        bounds = by_order.setdefault(chosen.get("schedule"), {})
        if chosen.get("objective") in OF_MEMORY or p["problem"]["planner"] == STREAMING:
            continue
        size, bound = p["budget_bytes"], p["bound_bytes"] + p["compulsory_bytes"]
        bounds[size] = max(bound, bounds.get(size, 0))
    shared = set.intersection(*(set(bounds) for bounds in by_order.values()))
    return {size: min(bounds[size] for bounds in by_order.values()) for size in shared}


def objective(problem: Mapping[str, Any]) -> str:
    """What a planner minimises, to which its proof refers."""
    chosen = problem["options"].get("objective", "")
    if problem["planner"] == STREAMING:
        return "memory for its delay"
    if problem["planner"] == OVERLAP:
        return "RAM"
    return chosen if chosen in ("peak", "latency", "energy", "memory") else "traffic"


def proof_text(point: Point) -> str:
    """How good a point is known to be, and in what."""
    of = objective(point["problem"])
    if point["status"] == "optimal":
        return f"proven optimal ({of})"
    return f"at most {point['gap']:.1%} of its {of} could be saved"


def buys(
    points: Sequence[Point],
    budget: int,
    more: int,
    axis: str,
    needs: Mapping[str, int],
    names: Sequence[str] = (),
) -> list[Buy]:
    """What `more` bytes gain at a budget with each planner, largest gain first.

    From plans made for exactly these two budgets. `needs` is the least budget of planners without a
    plan; `names` are planners that have a row from the start.
    """
    at: dict[tuple[str, int], Point] = {}
    for point in points:
        at[series(point["problem"]), point["budget_bytes"]] = point
    series_names = dict.fromkeys([*names, *by_series(points), *needs])
    rows = []
    for name in series_names:
        now, then = at.get((name, budget)), at.get((name, budget + more))
        first, second = (value(p, axis) if p else None for p in (now, then))
        both = [p["status"] == "optimal" for p in (now, then) if p]
        proof = "" if not both else "proven" if all(both) else "not proven"
        rows.append(Buy(name, first, second, needs.get(name), proof))

    def rank(row: Buy) -> tuple[int, float]:
        if row.gain is not None:
            return 0, -row.gain
        return (1 if row.more is not None else 2), 0.0

    return sorted(rows, key=rank)


def best_within(points: Sequence[Point], budget: int, axis: str) -> Point | None:
    """The best point of those that fit a budget: a plan for less memory is one for more.

    Plans in which weights do something else than is asked count only where all are so.
    """
    alike = [p for p in points if not apart(p["problem"])] or list(points)
    fitting = [p for p in alike if p["budget_bytes"] <= budget]
    return min(fitting, key=lambda p: value(p, axis), default=None)


def points_csv(points: Sequence[Point]) -> str:
    """All points as CSV: bytes, seconds and joules, with planner, options and proof."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    head = ("series", "planner", "model", "machine", "weights")
    writer.writerow([*head, *CSV_COLUMNS, *CSV_MORE, "options"])
    for p in points:
        problem = p["problem"]
        options = ";".join(
            f"{name}={chosen}" for name, chosen in sorted(problem["options"].items())
        )
        row = [series(problem), *(problem[name] for name in head[1:-1]), weights_done(problem)]
        if changed := problem.get("machine_fields"):
            row[head.index("machine")] += f" {changed}"
        writer.writerow([*row, *(p[name] for name in (*CSV_COLUMNS, *CSV_MORE)), options])
    return out.getvalue()
