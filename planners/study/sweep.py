"""Many plans in one table: models × planners × budgets, in any executor."""

from __future__ import annotations

import fcntl
import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import suppress
from functools import partial
from itertools import product
from pathlib import Path
from time import perf_counter, process_time
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from planners.core.bounds.floors import latency_floor_s
from planners.core.errors import BadInput, BudgetTooSmall, NoPlanFound, SpillwayError
from planners.core.graph import Graph
from planners.core.machine import Machine, load_machine
from planners.core.plan import Plan
from planners.core.plan_cache import keep_in, make_folder
from planners.core.processes import alone
from planners.core.registry import DEFAULT
from planners.core.registry import planner as find_planner
from planners.core.units import parse_size
from planners.core.watchdog import TimeUp, give_up_after
from planners.core.weights import COUNTED, asked_weights, weights_of
from planners.simulator.claims import check
from planners.simulator.simulate import traced
from planners.study.budgets import assert_operators, plain_budget, resolve_budgets
from planners.study.monotone_rows import aim_of, no_worse_in_more

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = [
    *("model", "planner", "budget", "budget_bytes", "planned_bytes", "status"),
    *("objective_bytes", "bound_bytes"),
    *("gap", "noncompulsory_bytes", "compulsory_bytes", "offchip_bytes", "peak_bytes"),
    *("extent_bytes", "makespan_s", "latency_floor_s", "energy_j", "operators", "timesteps"),
    *("plan_s", "wall_s", "cpu_s", "solver", "machine", "weights", "reason"),
]


Place = tuple[int, int]
"""A row's place in the table: the number of its graph, and of the row among the graph's."""


class SweepTask(NamedTuple):
    """A plan to be made: `planner` and `label`, the budget, are as requested."""

    graph: Graph
    planner: str
    label: str
    budget_bytes: int
    machine: Machine
    time_limit: float
    options: Mapping[str, Any]
    timeout_s: float | None = None
    plans: Path | None = None
    """Where the plan is kept."""

    @property
    def key(self) -> str:
        """Equal tasks, equal keys."""
        name, variant_options = variant(self.planner)
        facts = [self.graph.digest, name, self.budget_bytes, self.machine.to_json()]
        facts += [self.time_limit, {**self.options, **variant_options}]
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()

    @property
    def names(self) -> dict[str, Any]:
        """The names that identify its row."""
        return {
            "model": self.graph.name,
            "planner": self.planner,
            "budget": self.label,
            "machine": self.machine.name,
        }

    def failed(self, error: Exception) -> dict[str, Any]:
        """A row for what went wrong."""
        return self.row("failed", f"{type(error).__name__}: {error}")

    def row(self, status: str, reason: str | None = None) -> dict[str, Any]:
        """A row without a plan."""
        facts = {"budget_bytes": self.budget_bytes, "status": status, "reason": reason}
        return dict.fromkeys(COLUMNS) | facts | self.names


def variant(text: str) -> tuple[str, dict[str, Any]]:
    """A planner and options of its own: `overlap:objective=latency`, several with colons between.

    Values are JSON where they can be, else text. Raises `UnknownName` and `BadInput`.
    """
    name, *settings = text.split(":")
    find_planner(name)
    options: dict[str, Any] = {}
    for setting in settings:
        key, is_given, value = setting.partition("=")
        if not key or not is_given:
            raise BadInput(f"{text}: an option of a planner is name=value, not {setting!r}")
        try:
            options[key] = json.loads(value)
        except (ValueError, RecursionError):
            options[key] = value
    if shared := {"weights", "parameters"} & set(options):
        raise BadInput(f"{text}: {shared.pop()} is one for all planners: give it to the sweep")
    return name, options


def sweep(
    graphs: Graph | Sequence[Graph],
    planners: str | Sequence[str] = (DEFAULT,),
    budgets: int | str | Sequence[int | str] = ("MR", "MH", "MP"),
    machine: str | Path | Machine | Sequence[str | Path | Machine] = "npu_small",
    executor: Executor | None = None,
    time_limit: float = 60.0,
    on_row: Callable[[dict[str, Any]], object] | None = None,
    resume: str | Path | None = None,
    timeout: float | None = None,
    plans: str | Path | None = None,
    **options: Any,
) -> pd.DataFrame:
    """A row for each graph, machine, planner and budget, in that order; plans have passed `check`.

    Columns are those of `spillway plan --json`, the machine and a reason. A budget that nothing
    fits in gives a row with status `infeasible`, one for which no plan was found in the time
    `none found`; a plan that fails, or whose worker dies, one with status `failed`. With an
    `executor` (any of `concurrent.futures`, or Dask's `Client.get_executor(pure=False)`) the plans
    are made in it. `on_row` is called with each row.
    A plan for less memory is one for more: where a clock ended a search that found worse than one
    for less, the row has the plan for less, and `planned_bytes` the budget that it was made for.
    `on_row` and `resume` have rows as they were found.
    A planner may bring options of its own, which the others do not get: see `variant`.
    After `timeout` seconds a plan is given up, whatever it does, its check and its timing included:
    that is a failed row too. `time_limit` is a planner's limit for its search.
    What weights do (`weights`, or `parameters`) is one for the whole table, and named budgets
    follow from it; the column `weights` has what they do in each plan: not all planners can.
    `resume` is a file of JSON lines that each row is added to as it comes; what is there is not
    planned again, but failures are. `plans` is a folder where each plan is kept that is made:
    joined may `begin` with those of its problem. Wrong names, sizes and options are errors:
    `UnknownName`, `BadInput`.
    """
    given: Any = graphs
    several = isinstance(given, Iterable) and not isinstance(given, Graph | str)
    items: list[Graph] = list(given) if several else [given]
    names = [planners] if isinstance(planners, str) else list(planners)
    labels = [budgets] if isinstance(budgets, (int, str)) else list(budgets)
    given_machines = [machine] if isinstance(machine, (str, Path, Machine)) else list(machine)
    machines = [load_machine(m) for m in given_machines]
    for name in names:
        variant(name)
    for label in labels:
        plain_budget(label)
    for graph in items:
        assert_operators(graph)
    kept, folder = KeptRows(resume), None if plans is None else Path(plans)
    if folder is not None:
        make_folder(folder)  # There is one to begin with even where nothing fits.
    rows: dict[Place, dict[str, Any]] = {}
    twins: dict[str, list[tuple[Place, SweepTask]]] = defaultdict(list)

    def tasks_of(number: int, sizes: Sequence[int]) -> dict[Place, SweepTask]:
        """What is to be planned of a graph, once its budgets are known in bytes."""
        todo = {}
        some = product(machines, names, list(zip(labels, sizes, strict=True)))
        for k, (target, name, (label, size)) in enumerate(some):
            task = SweepTask(
                *(items[number], name, str(label), size, target, time_limit, options, timeout),
                plans=folder,
            )
            # Equal tasks may go by other names: MR and MH of a network may be the same bytes.
            if task.key in kept.rows:
                rows[number, k] = kept.rows[task.key] | task.names
                continue
            if task.key not in twins:
                todo[number, k] = task
            twins[task.key].append(((number, k), task))
        return todo

    counted = asked_weights(options) == COUNTED
    sizing = [partial(_sizes, graph, labels, counted) for graph in items]
    with kept:
        for _, task, row in _run(sizing, tasks_of, executor):
            kept.add(task.key, row)
            for place, twin in twins[task.key]:
                rows[place] = row | twin.names
                if on_row is not None:
                    on_row(rows[place])
    places = sorted(rows)
    aims = {name: aim_of(variant(name)[0], {**options, **variant(name)[1]}) for name in names}
    ordered = [rows[place] for place in places]
    return _table(no_worse_in_more(ordered, [aims[row["planner"]] for row in ordered]))


def _table(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    import pandas as pd

    table = pd.DataFrame(list(rows), columns=COLUMNS)
    # Whole numbers stay whole beside the empty cells of infeasible rows.
    whole = [c for c in COLUMNS if c.endswith("_bytes") or c in ("operators", "timesteps")]
    return table.astype(dict.fromkeys(whole, "Int64"))


START = '{"key": '
"""How a line of kept rows begins."""


class KeptRows:
    """Rows of earlier runs in a file of JSON lines, and new ones as they come."""

    def __init__(self, path: str | Path | None) -> None:
        self.path = None if path is None else Path(path)
        self.rows: dict[str, dict[str, Any]] = {}
        self.cut = False  # in the middle of a line
        self._file: IO[str] | None = None

    def __enter__(self) -> KeptRows:
        """Take the file for this sweep alone, and in what it holds.

        Raises `BadInput` where another sweep has it, it cannot be written, or holds anything else.
        """
        if self.path is None:
            return self
        try:
            self._file = self.path.open("a+", encoding="utf-8")
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._file.seek(0)
            self._take(self._file.read())
        except BlockingIOError as error:
            self._close()
            raise BadInput(
                f"another sweep keeps its rows in {self.path}: wait for it, or name another file"
            ) from error
        except OSError as error:
            self._close()
            raise BadInput(f"cannot keep rows in {self.path}: {error.strerror}") from error
        except UnicodeDecodeError as error:
            self._close()
            raise BadInput(f"cannot read rows from {self.path}: {error}") from error
        except BadInput:
            self._close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def _close(self) -> None:
        if self._file is not None:
            # By name: a process that was forked meanwhile has the file open too.
            fcntl.flock(self._file, fcntl.LOCK_UN)
            with suppress(OSError):  # what could not be written, and was said to be
                self._file.close()
            self._file = None

    def _take(self, text: str) -> None:
        """Take rows in. Raises `BadInput` where there is anything else."""
        self.cut = bool(text) and not text.endswith("\n")
        for line in text.splitlines():
            if not line.startswith(START[: len(line)]):
                raise BadInput(f"{self.path} does not hold rows of a sweep: name a new file")
            try:
                item = json.loads(line)
                key, row = str(item["key"]), dict(item["row"])
            except (ValueError, KeyError, TypeError, RecursionError):
                continue  # The line that was being written when the run ended.
            if row.get("status") not in ("failed", "none found"):  # More time may find one.
                self.rows[key] = row

    def add(self, key: str, row: Mapping[str, Any]) -> None:
        """Write a row down. Raises `BadInput` where that cannot be done."""
        if self._file is None:
            return
        try:
            self._file.write("\n" * self.cut + json.dumps({"key": key, "row": row}) + "\n")
            self._file.flush()
            self.cut = False
        except OSError as error:
            raise BadInput(f"cannot keep rows in {self.path}: {error.strerror}") from error


def _run(
    sizing: Sequence[Callable[..., list[int]]],
    tasks_of: Callable[[int, list[int]], dict[Place, SweepTask]],
    executor: Executor | None,
) -> Iterator[tuple[Place, SweepTask, dict[str, Any]]]:
    """The rows of all tasks as they come; a graph's tasks follow from the sizes of its budgets.

    In an executor the sizes are found there too: a network whose least peak takes long to find
    does not hold up others.
    """
    if executor is None:
        for number, find in enumerate(sizing):
            todo = tasks_of(number, find())
            yield from ((place, task, _row(task)) for place, task in todo.items())
        return
    sizing_futures = {_submit(executor, find): number for number, find in enumerate(sizing)}
    waiting: dict[Future[Any], tuple[Place, SweepTask]] = {}
    try:
        while sizing_futures or waiting:
            for future in wait([*sizing_futures, *waiting], return_when=FIRST_COMPLETED).done:
                if future in waiting:
                    place, task = waiting.pop(future)
                    yield place, task, _taken(future, task.failed)
                    continue
                number = sizing_futures.pop(future)
                sizes = _taken(future, sizing[number])
                for place, task in tasks_of(number, sizes).items():
                    waiting[_submit(executor, partial(_row_of_many, task))] = place, task
    finally:
        for future in [*sizing_futures, *waiting]:
            future.cancel()


def _sizes(
    graph: Graph, labels: Sequence[int | str], counted: bool, _death: Exception | None = None
) -> list[int]:
    """The budgets of a graph in bytes; computed here where a worker has died."""
    return resolve_budgets(graph, labels, parameters=counted)


def _submit(executor: Executor, job: Callable[[], Any]) -> Future[Any]:
    """A future of a job; one that failed where the executor takes no jobs any more."""
    try:
        return executor.submit(job)
    except Exception as error:
        failed: Future[Any] = Future()
        failed.set_exception(error)
        return failed


def _taken(future: Future[Any], otherwise: Callable[[Exception], Any]) -> Any:
    """What a job gave; `otherwise` where its worker died, or what that sent cannot be read."""
    try:
        return future.result()
    except SpillwayError:
        raise
    except Exception as error:
        return otherwise(error)


def _row(task: SweepTask) -> dict[str, Any]:
    """A task's row, with the wall and processor seconds of the whole answer."""
    wall, cpu = perf_counter(), process_time()
    row, plan = _answer(task)
    took = {"wall_s": perf_counter() - wall, "cpu_s": process_time() - cpu}
    if task.plans is not None and plan is not None:
        keep_in(task.plans, plan, task.budget_bytes, task.key)
    return row | took


def _answer(task: SweepTask) -> tuple[dict[str, Any], Plan | None]:
    """Plan, check and time. A caller's mistake is raised, any other failure is a row."""
    name, variant_options = variant(task.planner)
    try:
        with give_up_after(task.timeout_s):
            settings = {**task.options, **variant_options, "time_limit": task.time_limit}
            function = find_planner(name).plan
            plan = function(task.graph, task.machine, task.budget_bytes, settings, None)
            facts = summary(plan)
    except TimeUp:
        return task.row("failed", f"time-out: given up after {task.timeout_s:g} s"), None
    except BudgetTooSmall as error:
        return task.row("infeasible", str(error)), None
    except NoPlanFound as error:
        return task.row("none found", str(error)), None
    except Exception as error:
        if isinstance(error, BadInput) and (task.options or variant_options):
            raise  # Very likely an option that the planner does not have.
        return task.failed(error), None
    return {**facts, **task.names, "reason": None}, plan


def _row_of_many(task: SweepTask) -> dict[str, Any]:
    """The same where others are planned beside it: a planner has no cores but this one."""
    with alone():
        return _row(task)


def summary(plan: Plan) -> dict[str, Any]:
    """A plan in one flat row of plain values: its claims, its time and its energy.

    It is checked and timed in one replay. Raises `InvalidPlan`.
    """
    report = check(plan)
    claims, trace = plan.claims, traced(plan, report, plan.machine)
    return {
        "model": plan.graph.name,
        "planner": plan.planner,
        "budget_bytes": plan.budget_bytes,
        "status": claims.status,
        "objective_bytes": claims.objective_bytes,
        "bound_bytes": claims.bound_bytes,
        "gap": plan.gap,
        "noncompulsory_bytes": claims.noncompulsory_bytes,
        "compulsory_bytes": claims.compulsory_bytes,
        "offchip_bytes": claims.offchip_bytes,
        "peak_bytes": claims.peak_bytes,
        "extent_bytes": claims.extent_bytes,
        "makespan_s": trace.makespan_s,
        "latency_floor_s": latency_floor_s(plan),
        "times": trace.times,
        "energy_j": trace.energy_j,
        "operators": len(plan.graph.operators),
        "timesteps": len(plan.program.steps),
        "plan_s": claims.plan_s,
        "solver": claims.solver,
        "weights": weights_of(plan.graph, plan.program) or asked_weights(plan.options),
    }


def even_budgets(low: int | str, high: int | str, count: int) -> Iterable[int]:
    """`count` budgets in equal steps from `low` to `high`, both included, in bytes."""
    first, last = parse_size(low), parse_size(high)
    if count < 2 or first == last:
        return [last]
    return sorted({first + (last - first) * i // (count - 1) for i in range(count)})
