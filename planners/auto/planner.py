"""`planner="auto"`: every form worth asking is asked, and the best plan for one objective returned.

`METHOD` is the map: what is decided, how, and where. The strategies are planners with options, a
table in `forms`.

What is proven: a plan is `optimal` only where no plan of the problem is better by the objective.
Where all forms ended by themselves, no clock decided which plan is returned.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from planners.auto.executors import BestPlan, Ended, Here, Lanes
from planners.auto.forms import Form, forms
from planners.auto.options import AutoOptions
from planners.auto.runs import FormProblem, Task
from planners.auto.scheduler import LEAST_S, Race
from planners.auto.side_by_side import FormWorker, SideBySide, end, started
from planners.auto.verdict import Apart, none_of, with_verdict
from planners.core.bounds.floors import ProblemFloors
from planners.core.errors import BadInput
from planners.core.graph import Graph
from planners.core.machine import Machine
from planners.core.method import Decision
from planners.core.objective import Objective
from planners.core.plan import Plan
from planners.core.processes import processes
from planners.core.program_size import LEAST_WRITTEN_S
from planners.core.progress import GRACE_S, POLL_S, Clock, Progress, ProgressCallback
from planners.core.registry import planner as find_planner
from planners.core.units import format_quantity

ROOM, CORE = "planners.auto.", "planners.core."
METHOD = (
    Decision(
        "which planners are asked, with which options",
        "those that serve the objective; who cannot have weights as asked is named and left out",
        (ROOM + "forms",),
    ),
    Decision(
        "what a plan is worth, and at best",
        "the objective; the floor of the problem, and what the plan of a form proves",
        (CORE + "objective", ROOM + "runs"),
    ),
    Decision(
        "who is asked next, and for how long",
        "in rounds, each for those that can still win, with more time where something can be won",
        (ROOM + "scheduler",),
        "that no form could have more, where all ended by themselves",
    ),
    Decision(
        "where forms are asked, and who is given up",
        "side by side in processes, one a core; here, where these are not worth their start",
        (ROOM + "executors", ROOM + "side_by_side", ROOM + "worker", ROOM + "planner"),
    ),
    Decision(
        "what the best plan won against",
        "the outcomes of all forms",
        (ROOM + "verdict",),
        "where it reaches the floor of the problem, or its own planner's proof is of the objective",
    ),
)
"""What is decided, in this order."""
START_S = 3.0
"""With less time than this, processes are not worth their start; and another is given up only after
this, when a new one has taken the place of the last."""
GRACE = 0.05
"""Those that are asked to end may take `GRACE_S`, or so much of the limit where that is less."""
RESERVE = 1.3
"""What is left for the check of the best plan: times what its timing took."""
LATE = 1.5
"""Times its limit: the next round does not wait for who takes longer."""
OVER, HOG = 3.0, 0.25
"""Times its own limit and a share of the whole one: who takes longer than both is given up, where
others wait and all who run are such."""


def plan(
    graph: Graph,
    machine: Machine,
    budget_bytes: int,
    options: Mapping[str, Any],
    progress: ProgressCallback | None = None,
) -> Plan:
    """The best plan within a budget that any planner finds, for one objective.

    Options: `objective` (`latency` and `energy` of the simulated program on the machine,
    `traffic` off chip in bytes, `memory` held on chip in bytes), `time_limit` in seconds for all
    of them together, the check of the plan included, `processes` (how many are asked side by
    side; 0: one a core), `weights` (what they do, in all of them: planners that cannot have it so
    are not tried, and named with the reason).

    The plan is its planner's own, with its options. It is `optimal` only where no plan of the
    problem is better by the objective; the notes and `details.best` tell of what the proof is, and
    `details.tried` has each form. Raises `BudgetTooSmall` with the least need where nothing fits,
    `Cancelled` where it is stopped before there is a plan, and `BadInput`.
    """
    chosen = AutoOptions.from_values(options)
    if machine.slower:
        names = " and ".join(level.name for level in machine.banks)
        raise BadInput(f"auto compares plans in one memory, not in {names}: use planner='cosma'")
    return _asked(graph, machine, budget_bytes, chosen, Clock(chosen.time_limit, progress))


def best_of_others(
    graph: Graph,
    machine: Machine,
    budget_bytes: int,
    objective: str,
    weights: str,
    clock: Clock,
    *,
    but: Collection[str],
) -> Plan:
    """The best plan of all planners `but` some, in the time that a clock has left; as `plan`."""
    part = clock.at_least(LEAST_S).silent()
    chosen = AutoOptions(objective=objective, weights=weights, time_limit=part.option_s)
    return _asked(graph, machine, budget_bytes, chosen, part, but)


def _asked(
    graph: Graph,
    machine: Machine,
    budget_bytes: int,
    chosen: AutoOptions,
    clock: Clock,
    but: Collection[str] = (),
) -> Plan:
    # They start while what they are sent is made.
    workers = started(processes(chosen.processes) if chosen.time_limit >= START_S else 1)
    try:
        return _best(graph, machine, budget_bytes, chosen, clock, workers, but)
    finally:
        end(workers)


def _best(
    graph: Graph,
    machine: Machine,
    budget_bytes: int,
    chosen: AutoOptions,
    clock: Clock,
    workers: list[FormWorker],
    but: Collection[str],
) -> Plan:
    """The best plan, with what it won against."""
    aim = Objective(chosen.objective, ProblemFloors(graph, machine, chosen.weights), budget_bytes)
    every = [form for form in forms(chosen.objective, chosen.weights) if form.planner not in but]
    runners, apart = _of_the_problem(every, chosen.weights)
    race = Race(runners, aim, chosen.time_limit, max(1, len(workers)))
    best = BestPlan()
    referee = Referee(race, clock, chosen.time_limit)
    problem = FormProblem(graph, machine, budget_bytes, aim)
    here = Here(problem, best, race.to_beat, referee.hear)
    lanes = SideBySide(here, workers) if workers else here
    try:
        referee.run(lanes)
    finally:
        lanes.close()
    winner = best.get()
    if winner is None:
        raise none_of(race, apart, budget_bytes, clock.stopped)
    return with_verdict(winner, race, apart, clock.stopped)


def _of_the_problem(every: Sequence[Form], weights: str) -> tuple[list[Form], list[Apart]]:
    """The forms in whose plans weights do what is asked; and the others, with the reason."""
    why_not = [find_planner(form.planner).cannot(weights) for form in every]
    both = list(zip(every, why_not, strict=True))
    apart = [Apart(form, f"not tried: {why}") for form, why in both if why]
    return [form for form, why in both if not why], apart


class Referee:
    """Who begins and ends what runs, by the clock and the race."""

    def __init__(self, race: Race, clock: Clock, limit_s: float) -> None:
        self.race, self.clock, self.limit_s = race, clock, limit_s
        self._grace_s = min(GRACE_S, GRACE * limit_s)
        self._stages: dict[int, str] = {}
        self._begun: dict[int, float] = {}
        self._over_since: float | None = None
        self._rest_s = 0.0

    @property
    def left_s(self) -> float:
        """Seconds left for forms: some are kept for the check of the best plan."""
        best = self.race.best
        kept_s = RESERVE * best.timed_s if best else 0.0
        return self.limit_s - kept_s - self.clock.elapsed_s

    @property
    def over(self) -> bool:
        """Whether nothing more is begun; without any plan the time is not over."""
        if self.clock.stopped or self.race.settled:
            return True
        return self.race.best is not None and self.left_s <= 0

    def run(self, lanes: Lanes) -> None:
        """Ask form after form until nothing can be won or the time is over."""
        while True:
            while not self.over and lanes.free() and (task := self._next(lanes)):
                lanes.start(task, self._cut_s(task))
            if self.race.settled or self._too_late():
                break
            if not self.race.running and (self.over or not lanes.quick_only):
                break
            for number in self.race.running if self.over else self.race.hopeless():
                lanes.ask_to_end(number)
            if (hog := self._hog(lanes)) is not None:
                lanes.give_up(hog)
            for ended in lanes.wait(POLL_S):
                self._take(ended)
            self._report()
        for task in list(self.race.running.values()):
            took_s = self.clock.elapsed_s - self._begun[task.number]
            self.race.given_up(task, "it was still running at the end", took_s)

    def hear(self, task: Task, moment: Progress) -> bool:
        """A form's report goes on to the caller; False where it is to end."""
        self._stages[task.number] = moment.stage
        self._report()
        return not self.over

    def _next(self, lanes: Lanes) -> Task | None:
        late = self._late(_late_s)
        task = self.race.next(self.left_s, quick_only=lanes.quick_only, late=late)
        if task is not None:
            self._begun[task.number] = self.clock.elapsed_s
        return task

    def _cut_s(self, task: Task) -> float | None:
        """When a task must be over; never while there is no plan."""
        if self.race.best is None:
            return None
        return max(0.0, min(self.left_s + self._grace_s, self._most_s(task)))

    def _most_s(self, task: Task) -> float:
        return max(OVER * task.limit_s, HOG * self.limit_s)

    def _hog(self, lanes: Lanes) -> int | None:
        """Who has had more than it may, where none but such run and others wait; one at a time."""
        now, race = self.clock.elapsed_s, self.race
        if race.best is None or now < self._rest_s or lanes.free():
            return None
        if set(self._late(_late_s)) != race.running.keys() or not race.others(self.left_s):
            return None
        late = self._late(self._most_s)
        self._rest_s = now + START_S * bool(late)
        return max(late, default=None)

    def _late(self, most_s: Callable[[Task], float]) -> list[int]:
        """Those that have run for longer than so many seconds."""
        now, running = self.clock.elapsed_s, self.race.running
        return [n for n, task in running.items() if now - self._begun[n] > most_s(task)]

    def _take(self, ended: Ended) -> None:
        self._stages.pop(ended.task.number, None)
        if ended.outcome is not None:
            self.race.done(ended.outcome)
        elif ended.reason:
            self.race.given_up(ended.task, ended.reason, ended.took_s)
        else:
            self.race.again(ended.task)

    def _too_late(self) -> bool:
        """Whether those that were asked to end have had their time for it."""
        if not self.over:
            return False
        now = self.clock.elapsed_s
        if self._over_since is None:
            self._over_since = now
        grace_s = self._grace_s if self.race.best else LEAST_WRITTEN_S
        return now - self._over_since > grace_s

    def _report(self) -> None:
        race, best = self.race, self.race.best
        running = ", ".join(
            f"{race.runners[n].form.label}: {self._stages.get(n, 'begun')}"
            for n in sorted(race.running)
        )
        over = sum(bool(runner.outcomes) for runner in race.runners)
        stage = f"{running or 'choosing'} ({over} of {len(race.runners)} asked"
        if best is None or best.value is None:
            self.clock.report(f"{stage})")
            return
        label = best.task.form.label
        self.clock.report(f"{stage}, best {format_quantity(best.value, race.aim.unit)} by {label})")


def _late_s(task: Task) -> float:
    """After how many seconds the next round does not wait for a task."""
    return LATE * task.limit_s
