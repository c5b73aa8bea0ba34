#!/usr/bin/env bash
# ortools 9.15.6755
# CP-SAT takes an interval of no length for nothing in a cumulative constraint, even with a demand
# above the capacity, and for a wall in no_overlap_2d: strictly inside a box it makes the model
# infeasible, though it has no area. So a tensor that lives for no step, or has no bytes, costs no
# memory by the one and finds no place by the other. At a box's edge, or on another of no step, it may lie.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q ortools==9.15.6755
"$folder/venv/bin/python" - >"$folder/seen" <<'PYTHON'
from ortools.sat.python import cp_model


def answer(kind, boxes, capacity=10):
    """Boxes are (begin, steps, address, bytes)."""
    model = cp_model.CpModel()
    lives = [model.new_fixed_size_interval_var(begin, steps, "") for begin, steps, _, _ in boxes]
    places = [model.new_fixed_size_interval_var(address, size, "") for _, _, address, size in boxes]
    if kind == "cumulative":
        model.add_cumulative(lives, [size for _, _, _, size in boxes], capacity)
    else:
        model.add_no_overlap_2d(lives, places)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    return solver.status_name(solver.solve(model)).lower()


whole, unread, large, empty = (0, 10, 0, 10), (5, 0, 3, 4), (5, 0, 0, 100), (0, 10, 5, 0)
for name, boxes in (
    ("for no step, inside", [whole, unread]),
    ("for no step, larger than the memory", [large]),
    ("of no bytes, inside", [whole, empty]),
    ("for no step, at the edge", [whole, (10, 0, 3, 4)]),
    ("two for no step", [unread, (5, 0, 4, 4)]),
):
    print(name, *(f"{kind}: {answer(kind, boxes)}" for kind in ("cumulative", "no_overlap_2d")), sep=", ")
PYTHON
diff "$folder/seen" - <<'SEEN'
for no step, inside, cumulative: optimal, no_overlap_2d: infeasible
for no step, larger than the memory, cumulative: optimal, no_overlap_2d: optimal
of no bytes, inside, cumulative: optimal, no_overlap_2d: infeasible
for no step, at the edge, cumulative: optimal, no_overlap_2d: optimal
two for no step, cumulative: optimal, no_overlap_2d: optimal
SEEN
echo "as it was seen"
