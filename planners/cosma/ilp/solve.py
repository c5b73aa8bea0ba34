"""An ILP handed to a solver by name, or written to a file; what comes back is checked.

HiGHS comes with scipy and runs as a process of its own, so that it can be stopped and can crash.
All others are PuLP's: commands (CBC, SCIP, Gurobi, CPLEX, GLPK, …) or Python modules of theirs.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any, Literal

import numpy as np

from planners.core.errors import BadInput, SpillwayError
from planners.core.progress import Clock
from planners.cosma.ilp.variables import Ilp, load_pulp

HIGHS = "HiGHS"
CBC = "COIN_CMD"
# Common names of solvers that PuLP names differently.
ALIASES = {
    "cbc": CBC,
    "pulp_cbc_cmd": CBC,
    "gurobi": "GUROBI_CMD",
    "cplex": "CPLEX_CMD",
    "scip": "SCIP_CMD",
    "glpk": "GLPK_CMD",
}
# How long a process may take to give an answer once its time limit is over.
GRACE_S = 15.0
Status = Literal["optimal", "feasible", "infeasible", "unknown"]


@dataclass(frozen=True, slots=True)
class Solved:
    """What a solver found: `values` by variable name, objective and proven bound in bytes.

    `values` is None where there is no solution. Solvers other than HiGHS report a bound only
    with a proof: it is 0 otherwise. `seconds` are the solver's own, without its start.
    """

    status: Status
    values: dict[str, float] | None
    objective_bytes: int
    bound_bytes: int
    solver: str
    seconds: float

    def ones(self, variables: dict[Any, Any]) -> set[Any]:
        """The keys of binary variables that are one."""
        values = self.values or {}
        return {key for key, x in variables.items() if values.get(x.name, 0.0) > 0.5}


def solvers() -> tuple[str, ...]:
    """Common names of all solvers that can be used here, HiGHS first."""
    pulp = load_pulp()
    listed = [name for name in pulp.listSolvers() if name not in (HIGHS, "PULP_CBC_CMD", CBC)]
    usable = [name for name in listed if pulp.getSolver(name, msg=False).available()]
    return (HIGHS, *(("CBC",) if _cbc(pulp).available() else ()), *usable)


def usable(solver: str | None) -> str:
    """PuLP's name of a solver (HiGHS for None). Raises `BadInput` where it is not installed."""
    pulp = load_pulp()
    names: dict[str, str] = {name.lower(): name for name in pulp.listSolvers()}
    wanted = (solver or HIGHS).lower()
    name = names.get(ALIASES.get(wanted, wanted).lower(), "")
    if name == HIGHS or (name == CBC and _cbc(pulp).available()):
        return name
    if not name or not pulp.getSolver(name, msg=False).available():
        what = f"the solver {name} is not installed here" if name else f"unknown solver {solver!r}"
        raise BadInput(f"{what}; there are {', '.join(solvers())}")
    return name


def solve(
    ilp: Ilp,
    solver: str | None = None,
    time_limit: float = 60.0,
    should_stop: Callable[[], bool] | None = None,
) -> Solved:
    """Solve a model within a time limit in seconds; HiGHS unless a solver is named.

    `should_stop` is polled while HiGHS runs. Raises `BadInput` for a solver not installed, and
    `SpillwayError` for one that fails.
    """
    name = usable(solver)
    if name == HIGHS:
        status, values, bound, seconds = _highs(_Arrays.from_ilp(ilp), time_limit, should_stop)
    else:
        status, values, bound, seconds = _by_pulp(ilp, name, time_limit)
    objective = 0 if values is None else _objective(ilp, values)
    if status == "optimal":
        bound = objective
    return Solved(status, values, objective, min(bound, objective or bound), name, seconds)


def write_lp(ilp: Ilp, path: str | Path) -> None:
    """Write the model in CPLEX's LP format, names and equation numbers in it."""
    _write(ilp, path, ilp.lp.writeLP)


def write_mps(ilp: Ilp, path: str | Path) -> None:
    """Write the model as free MPS, names and equation numbers in it."""
    _write(ilp, path, ilp.lp.writeMPS)


def _write(ilp: Ilp, path: str | Path, write: Callable[[str], Any]) -> None:
    try:
        write(str(path))
    except OSError as error:
        raise BadInput(f"cannot write {path}: {error.strerror}") from error


def _objective(ilp: Ilp, values: dict[str, float]) -> int:
    terms = ilp.lp.objective.items()
    total = sum(int(factor) * round(values.get(x.name, 0.0)) for x, factor in terms)
    return ilp.unit * total


Answer = tuple[Status, dict[str, float] | None, int, float]  # as in Solved


@dataclass(frozen=True, slots=True)
class _Arrays:
    """A model as arrays: minimise c·x, lower ≤ A·x ≤ upper, A by (row, column, value)."""

    names: tuple[str, ...]
    unit: int
    data: dict[str, np.ndarray]

    @staticmethod
    def from_ilp(ilp: Ilp) -> _Arrays:
        columns = ilp.lp.variables()
        at = {x.name: i for i, x in enumerate(columns)}
        objective = np.zeros(len(columns))
        for x, factor in ilp.lp.objective.items():
            objective[at[x.name]] = factor
        entries: list[tuple[int, int, float]] = []
        lower, upper = [], []
        for row, constraint in enumerate(ilp.lp.constraints()):
            entries += [(row, at[x.name], factor) for x, factor in constraint.items()]
            bound = -constraint.constant
            lower.append(bound if constraint.sense >= 0 else -np.inf)
            upper.append(bound if constraint.sense <= 0 else np.inf)
        row_at, column_at, value = zip(*entries, strict=True)
        limits = [(x.lowBound, np.inf if x.upBound is None else x.upBound) for x in columns]
        data = {
            "c": objective,
            "least": np.array([low for low, _ in limits], float),
            "most": np.array([high for _, high in limits], float),
            "row": np.array(row_at),
            "column": np.array(column_at),
            "value": np.array(value, float),
            "lower": np.array(lower, float),
            "upper": np.array(upper, float),
        }
        return _Arrays(tuple(at), ilp.unit, data)


# Runs in a process of its own: arrays in, JSON out. All variables are integers.
_WORKER = """
import json, sys, time
import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array
m = np.load(sys.argv[1])
shape = (len(m["lower"]), len(m["c"]))
rows = csr_array((m["value"], (m["row"], m["column"])), shape=shape)
began = time.perf_counter()
found = milp(
    m["c"], integrality=np.ones(shape[1]), bounds=Bounds(m["least"], m["most"]),
    constraints=LinearConstraint(rows, m["lower"], m["upper"]),
    options={"time_limit": max(0.01, float(sys.argv[3]) - time.monotonic()), "mip_rel_gap": 0.0},
)
bound = found.mip_dual_bound
answer = {
    "status": int(found.status),
    "seconds": time.perf_counter() - began,
    "x": None if found.x is None else found.x.tolist(),
    "bound": None if bound is None or not np.isfinite(bound) else float(bound),
}
with open(sys.argv[2], "w") as out:
    json.dump(answer, out)
"""


def _highs(arrays: _Arrays, limit_s: float, should_stop: Callable[[], bool] | None) -> Answer:
    limit_s, began = max(limit_s, 0.01), time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        model, result = Path(folder, "model.npz"), Path(folder, "result.json")
        np.savez(model, **arrays.data)  # type: ignore[arg-type]
        end = str(time.monotonic() + limit_s)  # The process's own start counts too.
        command = [sys.executable, "-c", _WORKER, str(model), str(result), end]
        with tempfile.TemporaryFile() as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
            finished = _wait(process, limit_s + GRACE_S, should_stop)
            log.seek(0)
            words = log.read().decode(errors="replace").strip()
        if not finished:
            return "unknown", None, 0, time.perf_counter() - began
        if process.returncode != 0 or not result.exists():
            reason = words.splitlines()[-1] if words else f"exit {process.returncode}"
            raise SpillwayError(f"the solver {HIGHS} failed: {reason}")
        answer = json.loads(result.read_text())
    bound = 0 if answer["bound"] is None else max(0, ceil(answer["bound"] - 1e-6)) * arrays.unit
    if answer["status"] == 2:
        return "infeasible", None, bound, answer["seconds"]
    if answer["x"] is None:
        return "unknown", None, bound, answer["seconds"]
    status: Status = "optimal" if answer["status"] == 0 else "feasible"
    values = dict(zip(arrays.names, answer["x"], strict=True))
    return status, values, bound, answer["seconds"]


def _wait(
    process: subprocess.Popen[bytes], limit_s: float, should_stop: Callable[[], bool] | None
) -> bool:
    """Whether the process ended by itself; it is killed when time is over or on a stop."""
    clock = Clock(limit_s, should_stop=should_stop)
    try:
        while not clock.expired():
            try:
                process.wait(0.05)
            except subprocess.TimeoutExpired:
                continue
            return True
        return False
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def _cbc(pulp: Any) -> Any:
    """CBC from the path, or else the one that PuLP brings."""
    solver = pulp.COIN_CMD(msg=False)
    if solver.available():
        return solver
    return pulp.COIN_CMD(msg=False, path=pulp.apis.coin_api.pulp_cbc_path)


def _by_pulp(ilp: Ilp, name: str, limit_s: float) -> Answer:
    pulp = load_pulp()
    solver, exact = _exact(pulp, name)
    solver.timeLimit = max(limit_s, 0.01)
    try:
        ilp.lp.solve(solver)
    except Exception as error:  # PuLP's own, or whatever a solver's module raises.
        raise SpillwayError(f"the solver {name} failed: {_reason(error)}") from error
    outcome, seconds = ilp.lp.sol_status, ilp.lp.solutionTime
    if outcome in (pulp.LpSolutionOptimal, pulp.LpSolutionIntegerFeasible):
        values = {x.name: float(x.varValue or 0.0) for x in ilp.lp.variables()}
        proven = exact and outcome == pulp.LpSolutionOptimal
        return ("optimal" if proven else "feasible"), values, 0, seconds
    return ("infeasible" if outcome == pulp.LpSolutionInfeasible else "unknown"), None, 0, seconds


def _reason(error: Exception) -> str:
    """What went wrong; for a command PuLP only reports that it failed."""
    if "use msg=True" in str(error):
        return "its command ended with an error; to see why, run it on what --export-mps writes"
    return str(error)


def _exact(pulp: Any, name: str) -> tuple[Any, bool]:
    """A solver, and whether its "optimal" is exact: most leave a gap of 0.01 % by default."""
    if name == CBC:
        solver = _cbc(pulp)
        solver.optionsDict["gapRel"] = 0.0
        return solver, True
    try:
        return pulp.getSolver(name, msg=False, gapRel=0.0), True
    except TypeError:
        return pulp.getSolver(name, msg=False), name == "GLPK_CMD"
