"""Programs over rows, segments and slices: checked, timed and executed like any other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

import planners as sp
from planners.core.program import Compute, Load, Piece
from planners.core.program_json import program_from_json, program_to_json
from planners.executor.execute import execute
from planners.simulator.check import replay
from planners.simulator.timing import schedule
from tests.simulator.programs import (
    EXAMPLES,
    RowsInRings,
    SegmentsInPool,
    StreamedLayers,
    budget_of,
    plan_of,
)


@pytest.mark.parametrize("example", EXAMPLES)
def test_a_program_over_pieces_computes_what_pytorch_does(example: type[Any]) -> None:
    torch.manual_seed(1)
    case = example()
    program = case.program()
    plan = plan_of(case.graph, program, budget_of(program))
    sp.check(plan)
    done = execute(plan, case.module, case.inputs)
    assert done.arena_bytes == 4 * budget_of(program)
    torch.testing.assert_close(done.outputs, done.reference, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("example", EXAMPLES)
def test_a_program_over_pieces_survives_json(example: type[Any]) -> None:
    program = example().program()
    again = program_from_json(program_to_json(program))
    assert again.instructions == tuple(program.instructions)
    assert again.memories == program.memories


def test_rows_move_once_and_fill_their_line_buffers() -> None:
    case = RowsInRings()
    report = replay(case.graph, case.program())
    assert report.noncompulsory_bytes == 0
    # Three rows of input and three between the convolutions, or one of those on its way out.
    assert report.peak_bytes == 6 * case.row_bytes
    assert report.extent_bytes == case.budget_bytes
    # Only a lazy pass holds instructions: the program can be replayed again.
    assert replay(case.graph, case.program()) == report


def test_a_line_buffer_one_row_short_overwrites_what_is_still_read() -> None:
    with pytest.raises(sp.InvalidPlan, match="overwrites") as error:
        replay(*_graph_and_program(RowsInRings(rows_held=2)))
    assert error.value.kind == "overlap"


def test_the_distance_between_output_and_input_is_tight() -> None:
    replay(*_graph_and_program(SegmentsInPool(spare=3)))
    tight = SegmentsInPool().distance
    with pytest.raises(sp.InvalidPlan, match="overwrites"):
        replay(*_graph_and_program(SegmentsInPool(distance=tight - 1, spare=3)))


def test_a_layer_is_read_while_the_one_before_runs() -> None:
    case = StreamedLayers()
    machine = sp.load_machine("npu_small")
    intervals = schedule(
        case.program(),
        machine,
        case.graph,
        duration=lambda item: 5.0 if isinstance(item, Compute) else 1.0,
    )
    reads = [i for i in intervals if i.engine == "storage"]
    first = next(i for i in intervals if i.engine == "compute")
    # The ring holds two layers: the third waits until the first has run.
    assert [i.start_s for i in reads] == [0.0, 1.0, 2.0, first.stop_s]
    assert (reads[3].cause, reads[3].blocker) == ("write after read", first.instruction)


def _graph_and_program(case: Any) -> tuple[sp.Graph, Any]:
    return case.graph, case.program()


@pytest.mark.parametrize("axis", range(4))
def test_a_piece_lies_in_its_tensor(axis: int) -> None:
    """Its bytes and its region are those of a piece that does."""
    case = RowsInRings()
    items = list(case.program().instructions)
    at, load = next((i, item) for i, item in enumerate(items) if isinstance(item, Load))
    (name, box), size = load.piece, case.graph.tensors[load.piece.tensor].shape[axis]
    shifted = tuple((a + size, b + size) if i == axis else (a, b) for i, (a, b) in enumerate(box))
    items[at] = replace(load, piece=Piece(name, shifted))
    program = replace(case.program(), instructions=tuple(items))
    with pytest.raises(sp.InvalidPlan, match="lies outside of the tensor's shape") as error:
        replay(case.graph, program)
    assert error.value.kind == "box"


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"step": 999}, "order"),
        ({"step": -1}, "order"),
        ({"frees": (7,)}, "frees"),
        ({"frees": (-1,)}, "frees"),
        ({"macs": 181}, "macs"),
        ({"reads": ()}, "missing operand"),
    ],
    ids=str,
)
def test_a_computation_that_is_not_its_operators_is_refused(change: Any, kind: str) -> None:
    case = RowsInRings()
    items = list(case.program().instructions)
    at, first = next((i, item) for i, item in enumerate(items) if isinstance(item, Compute))
    items[at] = replace(first, **change)
    with pytest.raises(sp.InvalidPlan) as error:
        replay(case.graph, replace(case.program(), instructions=tuple(items)))
    assert error.value.kind == kind
