"""How long programs of layouts are: counted before they are written, coarser or refused if long."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

import planners as sp
from planners.core.details.pool import KernelRun
from planners.overlap.emit.count import effort, instructions
from tests.importers.few_blocks import few_blocks


@pytest.mark.parametrize(
    ("name", "side"), [("mcunet_vww1", 32), pytest.param("mcunet_in0", 48, marks=pytest.mark.long)]
)
@pytest.mark.parametrize("objective", ["macs", "ram", "latency"])
def test_instructions_are_known_before_they_are_written(
    objective: str, name: str, side: int
) -> None:
    graph = sp.load(name, input_shape=(1, 3, side, side))
    plan = sp.plan(graph, "overlap", "MR", objective=objective)
    assert plan.details.pool is not None
    written = sum(1 for _ in plan.program.instructions)
    assert 0.5 * written <= instructions(graph, plan.details.pool.layout) <= 2 * written


def test_a_long_program_is_written_in_rows_where_these_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = sp.load("mcunet_in0")
    fine = sp.plan(graph, "overlap", "MP")
    monkeypatch.setattr("planners.core.program_size.MOST_WRITTEN", 5000)
    coarse = sp.plan(graph, "overlap", "MP")
    assert sum(1 for _ in coarse.program.instructions) < 5000
    assert sum(1 for _ in fine.program.instructions) > 5000
    assert coarse.claims.bound_bytes <= fine.claims.objective_bytes < coarse.claims.objective_bytes
    assert coarse.claims.status == "feasible"
    assert coarse.claims.peak_bytes <= coarse.budget_bytes
    assert any("the time limit" in note for note in coarse.notes)
    sp.check(coarse)
    assert coarse.details.pool is not None
    least = min(point.ram_bytes for point in coarse.details.pool.front)
    assert least <= fine.claims.objective_bytes  # It says what less memory there is.


def test_the_least_memory_in_rows_where_segments_are_more_than_are_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Products of tokens with channels last name each of their inputs for each of their outputs."""
    graph = sp.from_torch(few_blocks("convnext"), torch.ones(1, 3, 32, 32))
    monkeypatch.setattr("planners.core.program_size.MOST_WRITTEN", 5000)
    in_rows(graph, sp.plan(graph, "overlap", "MP", objective="ram", time_limit=600), 2)


@pytest.mark.long
def test_the_least_memory_in_rows_where_segments_take_minutes_to_write() -> None:
    """The limit is what coarsens: its seconds are compared with counts of instructions."""
    graph = sp.load("convnext_tiny", input_shape=[[1, 3, 128, 128]])
    in_rows(graph, sp.plan(graph, "overlap", "MP", objective="ram", time_limit=3), 1000)


def in_rows(graph: sp.Graph, plan: sp.Plan, shorter: int) -> None:
    """A plan near the bound whose instructions are so much fewer than what pixels would take."""
    assert plan.claims.bound_bytes <= plan.claims.objective_bytes <= 1.05 * plan.claims.bound_bytes
    assert plan.details.pool is not None
    fine = replace(plan.details.pool.layout, runs=_by_pixel(plan.details.pool.layout.runs))
    assert any(run.rows for run in plan.details.pool.layout.runs)
    assert instructions(graph, plan.details.pool.layout) < effort(graph, fine) / shorter


def _by_pixel(runs: tuple[KernelRun, ...]) -> tuple[KernelRun, ...]:
    return tuple(replace(run, rows=0) for run in runs)


def test_a_program_that_nothing_makes_short_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("planners.core.program_size.MOST_WRITTEN", 100)
    words = r"about \d.* instructions, more than the 100 .*latency"
    with pytest.raises(sp.NoPlanFound, match=words):
        sp.plan(sp.load("mcunet_in0"), "overlap", "MR", objective="ram")
