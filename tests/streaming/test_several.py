"""Several networks: the order, the ends and the bound, against a simulation of events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from random import Random
from types import SimpleNamespace
from typing import Any, cast

import pytest

from planners.core.errors import BadInput, BudgetTooSmall
from planners.streaming.model.layers import Layer
from planners.streaming.schedule.ring import breakpoints, places
from planners.streaming.several import (
    POLICIES,
    Analysis,
    PeriodicTask,
    Policy,
    SharedRings,
    analyse,
    drawn_responses,
    hyperperiod,
    jobs_of,
    partitioned,
    shared,
    task,
)
from planners.streaming.several.answer import verdict
from planners.streaming.several.dispatch import layers_in_order, replayed
from planners.streaming.several.rings import Filling
from tests.streaming.events import Item, random_tasks, simulate_events


def random_layout(random: Random, tasks: Sequence[PeriodicTask]) -> SharedRings:
    """One ring, some tasks kept, or a ring for each."""
    stages = random.choice([2, 3])
    sizes = [max(layer.size_bytes for layer in task.layers) for task in tasks]
    if random.random() < 0.5:
        kept = [i for i in range(len(tasks)) if random.random() < 0.2]
        return shared(tasks, max(sizes) + random.randint(0, 10), stages, kept)
    return partitioned(tasks, [size + random.randint(0, 8) for size in sizes], stages)


def items_of(
    found: Analysis, cycles: int = 1, shorter: Callable[[Layer], Layer] = lambda layer: layer
) -> list[Item]:
    """The analysis's order of layers for so many hyperperiods."""
    whole, layout = float(hyperperiod(found.tasks)), found.layout
    layers = layers_in_order(found.tasks, found.timeline, layout)
    items = []
    for cycle in range(cycles):
        for i, (step, layer) in enumerate(zip(found.timeline.steps, layers)):
            job = found.timeline.jobs[step.job]
            ring = layout.ring_of[job.task] if layer.size_bytes else None
            release = job.release_s + cycle * whole
            items.append(Item(shorter(layer), ring, release, i == 0))
    return items


def random_analyses(seed: int, count: int) -> list[Analysis]:
    random = Random(seed)
    found = []
    for _ in range(count):
        tasks = random_tasks(random)
        found.append(analyse(tasks, random.choice(POLICIES), random_layout(random, tasks)))
    return found


def test_ends_are_those_of_a_simulation_of_events() -> None:
    for found in random_analyses(1, 500):
        assert tuple(simulate_events(items_of(found), found.layout)) == found.timeline.kernels


def test_the_most_urgent_released_job_is_dispatched_whenever_a_kernel_ends() -> None:
    preempted = 0
    for found in random_analyses(2, 300):
        jobs, steps = found.timeline.jobs, found.timeline.steps
        left = {i: len(found.tasks[job.task].layers) for i, job in enumerate(jobs)}
        for n, step in enumerate(steps):
            now = found.timeline.kernels[n - 1] if n else 0.0
            open_ = [i for i in left if left[i] and jobs[i].release_s <= now]
            if not open_:
                first = min(jobs[i].release_s for i in left if left[i])
                open_ = [i for i in left if left[i] and jobs[i].release_s == first]

            def key(i: int, found: Analysis = found) -> tuple[float, int, int]:
                job = found.timeline.jobs[i]
                first = job.due_s if found.policy == "edf" else found.tasks[job.task].priority
                return first, job.task, job.number

            assert step.job == min(open_, key=key)
            job = jobs[step.job]
            assert step.layer == len(found.tasks[job.task].layers) - left[step.job]
            left[step.job] -= 1
            before = steps[n - 1].job if n else step.job
            preempted += before != step.job and left[before] > 0
        assert not any(left.values())
    assert preempted > 10


def test_bounds_are_never_exceeded_by_shorter_times() -> None:
    draws = 0
    for found in random_analyses(3, 50):
        bounds = [response.bound_s for response in found.responses]
        for drawn in drawn_responses(found, 0.0, 200, seed=draws):
            assert all(a <= b for a, b in zip(drawn, bounds))
            draws += 1
    assert draws == 10_000


def test_where_deadlines_are_met_bounds_hold_in_all_hyperperiods() -> None:
    """Rings start anew in each; reads may run ahead into it. With full times and shorter ones."""
    met = [found for found in random_analyses(4, 400) if found.met]
    assert len(met) > 40
    random = Random(4)
    for found in met:
        for least in (1.0, 0.5, 0.0):

            def shorter(layer: Layer, least: float = least) -> Layer:
                times = (layer.read_s, layer.copy_s, layer.kernel_s)
                return Layer(
                    layer.name, layer.size_bytes, *(t * random.uniform(least, 1) for t in times)
                )

            items = items_of(found, 3, shorter)
            ends = simulate_events(items, found.layout)
            bound = {r.task: r.bound_s for r in found.responses}
            steps = [*found.timeline.steps] * 3
            for item, end, step in zip(items, ends, steps):
                name = found.tasks[found.timeline.jobs[step.job].task].name
                assert end - item.release <= bound[name] + 1e-9


def test_an_order_decided_while_it_runs_has_no_such_bound() -> None:
    """Why the order is kept: with shorter times EDF may let a less urgent layer in first."""
    random, later = Random(5), 0
    for found in random_analyses(5, 300):
        shorter = [
            PeriodicTask(
                t.name,
                tuple(
                    Layer(x.name, x.size_bytes, x.read_s, x.copy_s, x.kernel_s * random.random())
                    for x in t.layers
                ),
                t.period_s,
                t.deadline_s,
                t.priority,
            )
            for t in found.tasks
        ]
        anew = analyse(shorter, found.policy, found.layout)
        later += any(a.bound_s > b.bound_s for a, b in zip(anew.responses, found.responses))
        layers = layers_in_order(shorter, found.timeline, found.layout)
        kept = replayed(found.timeline, layers, found.layout.stages).kernels
        assert all(a <= b for a, b in zip(kept, found.timeline.kernels))
    assert later


def test_the_static_graph_of_one_network_says_the_same() -> None:
    for found in random_analyses(6, 200):
        layers = layers_in_order(found.tasks, found.timeline, found.layout)
        ends = replayed(found.timeline, layers, found.layout.stages)
        assert ends.kernels == found.timeline.kernels


def test_a_ring_that_is_filled_step_by_step_has_the_places_of_one_filled_at_once() -> None:
    random = Random(7)
    for _ in range(300):
        sizes = [random.randint(1, 9) for _ in range(random.randint(1, 20))]
        ring = max(sizes) + random.randint(0, 12)
        filling = Filling(ring)
        placed = [filling.place(size, i) for i, size in enumerate(sizes)]
        whole = places(sizes, ring)
        assert placed == list(zip(whole.offsets, whole.waits))
        larger = [size for size in breakpoints(sizes) if size > ring]
        assert filling.next_bytes == min(larger, default=None)


def test_by_hand() -> None:
    """A video network, urgent and frequent, comes between the layers of a long one."""
    short = task("short", [Layer("s", 2, 1.0, 0.0, 1.0)], 4)
    long = task("long", [Layer(f"l{i}", 2, 1.0, 0.0, 1.5) for i in range(2)], 8)
    found = analyse([short, long], "edf", shared([short, long], 4))
    # reads s 0-1, l0 1-2, l1 when s is gone 2-3, s 3.5-4.5 (when l0 is gone); kernels s 1-2,
    # l0 2-3.5, l1 3.5-5 (chosen at 3.5, before the second s is there), s 5-6
    assert found.timeline.kernels == (2.0, 3.5, 5.0, 6.0)
    assert [response.bound_s for response in found.responses] == [2.0, 5.0]
    assert found.met
    assert found.responses[0].lateness_s == -2.0
    assert (found.utilisation.read, found.utilisation.kernel) == (4 / 8, 5 / 8)
    tight = task("short", short.layers, 4, 1.5)
    late = analyse([tight, long], "fixed", shared([tight, long], 4))
    assert not late.met
    assert late.worst.task == "short"
    assert late.worst.missed == (0, 1)
    assert late.lateness_s == 0.5


def test_what_is_kept_is_not_read() -> None:
    a = task("a", [Layer("x", 5, 3.0, 1.0, 1.0)], 8)
    b = task("b", [Layer("y", 4, 2.0, 1.0, 1.0)] * 2, 8)
    layout = partitioned([a, b], [5, 4], 3)
    assert (layout.ring_of, layout.sizes, layout.kept_bytes) == ((-1, 0), (4,), 5)
    assert layout.memory_bytes == 2 * 4 + 5
    found = analyse([a, b], "edf", layout)
    assert found.responses[0].bound_s == 1.0
    assert found.utilisation.read == 4 / 8


def test_hyperperiods_are_exact() -> None:
    layers = [Layer("x", 1, 0.0, 0.0, 0.001)]
    tasks = [task("a", layers, 0.1), task("b", layers, "0.04"), task("c", layers, Fraction(1, 30))]
    assert hyperperiod(tasks) == Fraction(1, 5)
    assert [job.task for job in jobs_of(tasks)].count(2) == 6
    jobs = jobs_of(tasks)
    assert [job.release_s for job in jobs] == sorted(job.release_s for job in jobs)


def one(period: float | str, deadline: float | None = None) -> PeriodicTask:
    return task("a", [Layer("x", 7, 0.0, 0.0, 0.001)], period, deadline)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: jobs_of([one(0.0333), one(0.1)]), "after 33.3 s only: 1333 jobs, above 1000"),
        (lambda: jobs_of([]), "no tasks: name at least one"),
        (lambda: one(0.1, 0.2), "deadline of 200 ms must be above zero and at most its period"),
        (lambda: one(0), "its period must be above zero"),
        (lambda: one("soon"), "'soon' is not a number"),
        (lambda: one(float("nan")), "nan is not a number"),
        (lambda: task("a", [], 1), "task 'a' has no layers"),
        (lambda: shared([one(1)], 6), "operator 'a: x' needs 7 bytes at once, the budget is 6"),
        (lambda: partitioned([one(1), one(2)], [7, 6]), "'a: x' needs 7 bytes"),
    ],
)
def test_wrong_input_is_named(make: Callable[[], object], says: str) -> None:
    with pytest.raises((BadInput, BudgetTooSmall)) as error:
        make()
    assert says in str(error.value)


@pytest.mark.parametrize("policy", POLICIES)
def test_priorities_decide_only_where_they_are_asked_for(policy: Policy) -> None:
    layers = [Layer("x", 1, 0.0, 0.0, 1.0)]
    tasks = [task("a", layers, 8, 6, priority=0), task("b", layers, 8, 2, priority=1)]
    found = analyse(tasks, policy, shared(tasks, 1))
    assert [r.bound_s for r in found.responses] == ([2.0, 1.0] if policy == "edf" else [1.0, 2.0])


def test_why_the_answer_is_no_ends_with_what_would_do() -> None:
    worst = SimpleNamespace(task="a", worst_job=1, bound_s=0.002, deadline_s=0.001, lateness_s=1e-3)
    ring = SimpleNamespace(sizes=(4096,))

    def told(kind: str, **known: Any) -> str:
        least = SimpleNamespace(**{"layout": None, "proven": False, "why": "", **known})
        found = SimpleNamespace(kind=kind, analysis=SimpleNamespace(worst=worst), compared=[least])
        text = verdict(cast(Any, found))
        assert text.startswith("infeasible: a job 2 needs ")
        return text

    assert told("all kept").endswith(
        "even with all networks kept in memory: give it a longer period or deadline"
    )
    assert told("shared", layout=ring).endswith("meets all deadlines is 4096 bytes")
    assert told("shared", proven=True, why="too slow").endswith("meets all deadlines: too slow")
    assert told("shared").endswith("; try another ring, or auto")
