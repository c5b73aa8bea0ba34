"""Moves from joined plans: whole sequences of ways, never a worse plan, what others would cost."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest

import planners as sp
from planners.core.bounds.floors import ProblemFloors
from planners.core.machine import load_machine, with_scratchpad
from planners.core.objective import Objective
from planners.core.progress import Clock
from planners.joined.build import JoinedBuilder
from planners.joined.evaluator import Judge, Judged
from planners.joined.local_search import LocalSearch
from planners.joined.options import JoinedOptions
from tests.joined.first import first_plan, program_of
from tests.joined.networks import graph_of


def begun(budget: int, weights: str = "counted", limit_s: float = 400.0) -> tuple[Judge, Judged]:
    """The first joined program of a network, and what judges those near it."""
    graph, machine = graph_of(side=16), load_machine("npu_small")
    chosen = JoinedOptions.from_values(
        {"objective": "latency", "weights": weights, "others": False}
    )
    aim = Objective("latency", ProblemFloors(graph, machine, weights), budget)
    builder = JoinedBuilder(
        graph,
        with_scratchpad(machine, budget),
        budget,
        "latency",
        Clock(limit_s),
        in_place=weights == "in-place",
    )
    judge = Judge(builder, aim, chosen)
    return judge, first_plan(builder, aim, chosen)


def done(search: LocalSearch) -> Judged:
    """The best plan of a search that has all of its time."""
    search.run(search.builder.clock)
    return search.explained()


def test_after_any_exchanges_every_operator_runs_once_and_in_order() -> None:
    judge, first = begun(9000)
    search, rng = LocalSearch(judge.builder, judge, first), Random(3)
    marks, found = search.marks, list(first.joined_program.segments)
    exchanges, done = search.exchanges, 0
    for _ in range(300):
        exchange = rng.choice(exchanges)
        after = exchange.applied(found, marks)
        if after is None:
            continue
        found, done = after, done + 1
        assert (found[0].first, found[-1].stop) == (0, marks[-1])
        assert all(
            a.stop == b.first and (a.fused, a.spilled) != (b.fused, b.spilled)
            for a, b in pairwise(found)
        )
        for segment in found:
            ends = [segment.first, *(way.stop for way in segment.ways)]
            begins = [*(way.first for way in segment.ways), segment.stop]
            assert not segment.ways or ends == begins
        assert any(exchange.way in segment.methods for segment in found)
    assert done > 50


@pytest.mark.parametrize(
    ("budget", "weights"),
    [pytest.param(6000, "counted", marks=pytest.mark.long), (9000, "in-place")],
)
def test_no_single_move_from_what_is_found_is_better(budget: int, weights: str) -> None:
    judge, first = begun(budget, weights)
    search = LocalSearch(judge.builder, judge, first)
    best = done(search)
    assert best.value <= first.value
    assert sp.check(best.plan).peak_bytes <= budget
    assert sp.simulate(best.plan).makespan_s == pytest.approx(best.value)
    assert not judge.builder.clock.ended
    judge.builder.tried.clear()
    again = LocalSearch(judge.builder, judge, best)
    assert not any(again._better(exchange, Clock(40.0)) for exchange in again.exchanges)
    said = [segment.why for segment in best.plan.details.stretches]
    assert judge.met(best) or any("the next best (" in why for why in said)
    assert min((cost for cost, _ in search.costs), default=0.0) >= -1e-9


def test_a_worse_plan_is_made_better() -> None:
    """Begun where all blocks run as fused groups but the last."""
    judge, first = begun(14_000)
    search = LocalSearch(judge.builder, judge, first)
    found = list(first.joined_program.segments)
    for start, stop in pairwise(search.marks[:-1]):
        exchange = next(
            m for m in search.exchanges if (m.first, m.stop, m.way) == (start, stop, None)
        )
        found = exchange.applied(found, search.marks) or found
    made = program_of(judge.builder, first.joined_program, tuple(found), work=1)
    assert made is not None
    bad = judge.evaluate(made)
    assert judge.better(first, bad)
    judge.builder.tried.clear()
    best = LocalSearch(judge.builder, judge, bad).run(judge.builder.clock.work(400))
    assert judge.better(best, bad)


def test_without_time_the_plan_stays() -> None:
    judge, first = begun(9000)
    search = LocalSearch(judge.builder, judge, first)
    assert search.run(Clock(0.0)).plan.program == first.plan.program
