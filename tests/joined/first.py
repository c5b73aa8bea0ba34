"""The first joined program of a problem, and one of other segments."""

from __future__ import annotations

from planners.core.objective import Objective
from planners.joined.build import JoinedBuilder, JoinedProgram
from planners.joined.evaluator import Judge, Judged
from planners.joined.options import JoinedOptions
from planners.joined.part_search import FIRST_WORK
from planners.joined.segments import Segment
from planners.joined.strategies import SLICES


def first_program(builder: JoinedBuilder) -> JoinedProgram:
    """The program of the segments that are tried first."""
    every = [builder.blocks(builder.slice_bytes(share)) for share in SLICES]
    blocks, (best, _) = min(
        ((blocks, builder.best_segments(blocks)) for blocks in every), key=lambda each: each[1][1]
    )
    clock = builder.clock.work(FIRST_WORK)
    segments = next(builder.spills.in_order(blocks, best, clock))
    base = builder.unstreamed(blocks, segments, clock)
    assert base is not None
    program = builder.streamed(base, blocks.slice_bytes)
    assert program is not None
    return program


def first_plan(builder: JoinedBuilder, objective: Objective, options: JoinedOptions) -> Judged:
    """Its plan."""
    return Judge(builder, objective, options).evaluate(first_program(builder))


def program_of(
    builder: JoinedBuilder, program: JoinedProgram, segments: tuple[Segment, ...], work: int
) -> JoinedProgram | None:
    """The program of other segments, in slices as large, whose parts have so much work."""
    base = builder.unstreamed(program.blocks, segments, builder.clock.work(work))
    return None if base is None else builder.streamed(base, program.slice_bytes)
