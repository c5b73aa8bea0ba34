"""Programs as loops: what is said of a loop is what is said of its rounds, one by one."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from planners.core.errors import InvalidPlan
from planners.core.loops import (
    MOST_INSTRUCTIONS,
    LoopedInstructions,
    among,
    expanded,
    items_of,
    numbers,
    pieces_of,
    rolled,
    size_of,
)
from planners.core.plan import Plan
from planners.core.program import Barrier, Compute, Load, Piece, Region, Release, Repeat
from planners.core.program_json import program_from_json, program_to_json
from planners.simulator.check import replay
from planners.simulator.symbolic import Replay
from tests.cases import cases as as_many
from tests.simulator.looped import NAMES, cases, corrupted, flat, loops, rows, verdict
from tests.simulator.programs import plan_of


@pytest.mark.parametrize("name", NAMES)
def test_a_loop_says_what_its_rounds_say(name: str) -> None:
    graph, program = cases()[name]
    assert any(loops(tuple(items_of(program)))), "the case has no loop"
    assert replay(graph, program) == replay(graph, flat(program))
    computed = [each for each in items_of(flat(program)) if isinstance(each, Compute)]
    named = sum(len(each.reads) + len(each.writes) for each in computed)
    assert pieces_of(items_of(program)) == named


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(as_many(4, 12)))
def test_what_is_wrong_is_found_where_its_rounds_have_it(name: str, seed: int) -> None:
    graph, program = cases()[name]
    wrong = corrupted(program, seed)
    assert verdict(graph, wrong) == verdict(graph, flat(wrong))


def test_corruptions_are_mostly_found() -> None:
    """Else the test before would compare right programs only."""
    graph, program = cases()["rows"]
    verdicts = [verdict(graph, corrupted(program, seed)) for seed in range(40)]
    assert sum(isinstance(each, tuple) for each in verdicts) > 20


def test_a_piece_that_rests_is_met_in_a_middle_round() -> None:
    """The first and the last round are right: only what moves past what stays is wrong."""
    graph, program = rows(24, 3)
    items = tuple(items_of(program))
    (loop,) = [item for item in items if isinstance(item, Repeat)]
    at = items.index(loop)
    (op, _) = graph.operators
    bottom = next(m for m in program.memories if m.name.endswith(op.outputs[0]))
    assert bottom.size_bytes is not None
    for number in range(loop.count):
        changed = replace(loop, body=tuple(loop.body), count=number) if number else None
        written = (*items[:at], *([changed] if changed else []), *items[at + 1 :])
        wrong = replace(program, instructions=LoopedInstructions(written))
        assert verdict(graph, wrong) == verdict(graph, flat(wrong))


def test_rounds_are_rolled_and_unrolled() -> None:
    dice = random.Random(3)
    for _ in range(200):
        rounds = []
        start = 0
        for _ in range(dice.randrange(1, 30)):
            start += dice.choice((1, 1, 1, 1, 7))
            piece = Piece("x", ((start, start + 1),))
            turn = start % dice.choice((1, 2))
            rounds.append([Barrier(0), Release(0, piece, Region("m", 4 * turn, 1))])
        items = tuple(rolled(rounds))
        assert list(expanded(items)) == [item for each in rounds for item in each]
        assert size_of(items) == 2 * len(rounds)


@pytest.mark.parametrize("name", NAMES)
def test_some_of_a_loop_is_some_of_its_rounds(name: str) -> None:
    """Those that load, those of one operator, and none: loops within loops too."""
    items = tuple(items_of(cases()[name][1]))
    operators = {i.operator for i in expanded(items) if isinstance(i, Compute)}

    def of(item: Any, operator: str) -> bool:
        return isinstance(item, Compute) and item.operator == operator

    for wanted in (
        lambda item: isinstance(item, Load),
        *(partial(of, operator=each) for each in sorted(operators)),
        lambda _: False,
    ):
        some = tuple(among(items, wanted))
        assert list(expanded(some)) == [item for item in expanded(items) if wanted(item)]
    assert not some


def test_loops_come_back_from_a_file() -> None:
    for graph, program in cases().values():
        data = json.loads(json.dumps(program_to_json(program)))
        again = program_from_json(data)
        assert again.instructions == program.instructions
        plan = plan_of(graph, program, 1 << 20)
        assert Plan.from_json(json.loads(json.dumps(plan.to_json()))) == plan


BAD = {
    "no rounds": lambda row: row.__setitem__(1, 0),
    "half a round": lambda row: row.__setitem__(1, 1.5),
    "a move too few": lambda row: row[3].pop(),
    "a number too few": lambda row: row[3][0].pop(),
    "a word": lambda row: row[3][0].__setitem__(0, "1"),
    "too many rounds": lambda row: row.__setitem__(1, 10**12),
    "nothing, without end": lambda row: row.__setitem__(slice(1, 4), [10**15, [], []]),
}


@pytest.mark.parametrize("name", BAD)
def test_a_malformed_loop_is_refused(name: str) -> None:
    data = json.loads(json.dumps(program_to_json(cases()["rows"][1])))
    row = next(row for row in data["instructions"] if row[0] == "repeat")
    BAD[name](row)
    with pytest.raises(ValueError):
        program_from_json(data)


def test_loops_are_not_nested_without_end() -> None:
    data = json.loads(json.dumps(program_to_json(cases()["rows"][1])))
    row: Any = ["barrier", 0]
    moves: Any = [0]
    for _ in range(20):
        row, moves = ["repeat", 1, [row], [moves]], [moves]
    data["instructions"] = [row]
    with pytest.raises(ValueError, match="lie in one another"):
        program_from_json(data)


def test_a_loop_of_nothing_does_nothing() -> None:
    graph, program = cases()["rows"]
    nothing = Repeat(9, (), ())
    items = (nothing, *items_of(program), Repeat(5, (nothing,), ((),)))
    assert replay(graph, replace(program, instructions=LoopedInstructions(items))) == replay(
        graph, program
    )


def test_numbers_are_in_the_order_that_the_format_states() -> None:
    _, program = cases()["rows"]
    compute = next(item for item in program.instructions if isinstance(item, Compute))
    assert numbers(compute)[0] == compute.step
    assert numbers(compute)[-1] == compute.writes[-1].region.offset
    assert len(numbers(compute)) == 1 + 5 * (len(compute.reads) + len(compute.writes))


def test_a_program_that_is_too_long_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its loops say how long it is: nothing is replayed."""
    graph, program = cases()["rows"]
    again = Repeat(MOST_INSTRUCTIONS, (Barrier(0),), ((0,),))
    longer = replace(program, instructions=LoopedInstructions((again, *items_of(program))))
    monkeypatch.setattr(Replay, "run", lambda _: pytest.fail("it is replayed"))
    with pytest.raises(InvalidPlan, match=r"more than 4,194,304 instructions") as raised:
        replay(graph, longer)
    assert raised.value.kind == "length"
    with pytest.raises(ValueError, match="4,194,304"):
        program_from_json(program_to_json(longer))
