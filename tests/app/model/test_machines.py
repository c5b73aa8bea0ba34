"""Numbers of a machine: read as they are typed, planned with, kept in links, plans and scripts."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Any
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

import planners as sp
from app.jobs.handlers.sweep import make_plan
from app.jobs.job_context import JobContext
from app.jobs.worker_affinity import affinity_of
from app.links.url import from_query, pinned_in, problem_of, to_query
from app.model.machines import (
    MachineNumbers,
    fields_text,
    format_number,
    machine_of,
    numbers_in,
    parse,
    summary,
    title_of,
)
from app.model.pareto import points_csv
from app.model.state import Look, ProblemFields
from app.outputs.scripts import as_python, plan_as_python
from app.session.session import Session
from app.session.streams import key_of
from app.session.sweeping import fields_of_point, points_beside
from app.widgets.machine_field import MachineField

READ, LATENCY = "host.read_bytes_per_s", "dma_in.latency_s"
SLOW = "host.read_bytes_per_s=4e9"
SMALL = {"model": "squeezenet1_1", "input_shape": "1x3x64x64", "time_limit": 10}
Until = Callable[[Callable[[], object]], None]


@pytest.mark.parametrize(
    ("name", "typed", "value"),
    [
        (READ, "4 GB/s", 4e9),
        (READ, "6.4e9", 6.4e9),
        (READ, " 500MB/s ", 5e8),
        (READ, "4 gb/s", 4e9),
        (READ, ".5 TB/s", 5e11),
        (LATENCY, "200 ns", 2e-7),
        (LATENCY, "1.5 µs", 1.5e-6),
        (LATENCY, "2e-7", 2e-7),
        (LATENCY, "0", 0.0),
        ("macs_per_s", "128 GMAC/s", 128e9),
        ("clock_hz", "800 MHz", 8e8),
        ("mac_pj", "0.23", 0.23),
        ("mac_pj", "230 fJ", 0.23),
        ("host.read_pj_per_byte", "8 pJ/bit", 64.0),
        ("bits_per_mac", "16", 16),
        ("host.size_bytes", "64 MiB", 2**26),
    ],
)
def test_numbers_are_read_with_their_units(name: str, typed: str, value: float) -> None:
    assert parse(name, typed) == value


@pytest.mark.parametrize(
    ("name", "typed", "line"),
    [
        (READ, "fast", "'fast' is not a number; write e.g. 4 GB/s"),
        (READ, "4", "4 of what? Write a unit, e.g. 4 GB/s; without one it is bytes a second"),
        (READ, "4 ns", "'ns' is not a unit here; write GB/s, TB/s"),
        (READ, "1e9999 GB/s", "is not a number"),
        (READ, "9" * 50, "is not a number"),
        (LATENCY, "200", "200 of what? Write a unit, e.g. 200 ns"),
        (LATENCY, "nan", "is not a number"),
        ("mac_pj", "0,23", "is not a number"),
    ],
)
def test_what_is_no_number_of_that_kind_says_what_to_write(
    name: str, typed: str, line: str
) -> None:
    with pytest.raises(sp.BadInput, match=line.replace("?", r"\?")):
        parse(name, typed)


@pytest.mark.parametrize("name", sp.presets())
def test_every_number_of_every_preset_is_shown_so_that_it_reads_back(name: str) -> None:
    for field, value in sp.presets()[name].numbers().items():
        assert parse(field, format_number(field, value)) == value


@given(st.floats(1e-3, 1e20))
def test_rates_are_shown_so_that_they_read_back(value: float) -> None:
    text = format_number(READ, value)
    if len(text) < 40:
        assert parse(READ, text) == value


def test_numbers_are_shown_in_the_unit_that_suits() -> None:
    shown = {READ: 5e8, LATENCY: 0.0, "host.size_bytes": 65536, "mac_pj": 0.23}
    texts = [format_number(name, value) for name, value in shown.items()]
    assert texts == ["500 MB/s", "0 ns", "64 KiB", "0.23 pJ"]
    assert format_number("host.size_bytes", 0) == "not bounded"
    assert format_number("host.read_pj_per_byte", 64.0) == "64 pJ/B"


def test_a_link_has_what_is_changed_and_nothing_else() -> None:
    problem = ProblemFields(machine_fields=f"{SLOW},{LATENCY}=2e-7")
    query = to_query(problem, Look())
    asked = dict(parse_qsl(query.lstrip("?"), keep_blank_values=True))
    assert asked["machine_fields"] == "host.read_bytes_per_s=4e9,dma_in.latency_s=2e-7"
    found, _, wrong = from_query(asked)
    assert wrong == []
    assert found["machine_fields"] == problem.machine_fields
    same, _, wrong = from_query({**asked, "machine_fields": "host.read_bytes_per_s=8e9"})
    assert (same["machine_fields"], wrong) == ("", [])  # as the preset has it
    pinned, wrong = pinned_in({"v": "1", "pinned": '{"machine_fields":"mac_pj=2"}'}, found)
    assert (pinned["machine_fields"], wrong) == ("mac_pj=2", [])


@pytest.mark.parametrize(
    "text",
    [
        "host.reed_bytes_per_s=4e9",
        "host.read_bytes_per_s",
        "host.read_bytes_per_s=-1",
        "host.read_bytes_per_s=nan",
        "host.read_bytes_per_s=1e400",
        "bits_per_mac=1.5",
        "scratchpad.size_bytes=4096",
        "=",
    ],
)
def test_a_link_with_numbers_that_make_no_sense_says_so(text: str) -> None:
    found, _, wrong = from_query({"v": "3", "machine": "npu_small", "machine_fields": text})
    assert found == {"machine": "npu_small"}
    assert len(wrong) == 1
    said, why = wrong[0].split(" cannot be used. ")
    assert said == f"The link's machine_fields = {text!r}"
    assert len(why) > 10


def test_numbers_of_one_machine_are_none_of_another() -> None:
    asked = {"v": "1", "machine": "stm32f746", "machine_fields": "copy.bytes_per_s=1e9"}
    if "copy.bytes_per_s" not in sp.presets()["stm32f746"].numbers():
        assert len(from_query(asked)[2]) == 1
    asked["machine"] = "abacus"
    assert len(from_query(asked)[2]) >= 1


def test_the_plan_is_made_and_timed_with_the_numbers() -> None:
    session = Session(None)  # type: ignore[arg-type]
    session.problem.param.update(**SMALL, planner="fusion", budget="48 KiB")
    times = {}
    context = JobContext(lambda line: None)
    for text in ("", "host.read_bytes_per_s=1e9", "dma_in.latency_s=0.001"):
        session.problem.machine_fields = text
        request = session.request()
        assert request.get("machine_fields", "") == text
        plan = make_plan(context, context.graph(request), request, request["budget"])
        times[text] = sp.simulate(plan).makespan_s
        found = problem_of(plan)
        assert (found["machine"], found["machine_fields"]) == ("npu_small", text)
    usual, *slow = times.values()
    assert all(seconds > 1.2 * usual for seconds in slow)


def test_what_is_known_of_one_machine_is_not_told_of_another() -> None:
    session = Session(None)  # type: ignore[arg-type]
    plain = session.request()
    assert "machine_fields" not in plain  # the usual problem is asked as ever
    session.problem.machine_fields = SLOW
    changed = session.request()
    assert affinity_of(plain) != affinity_of(changed)
    assert key_of(plain) != key_of(changed)
    assert machine_of(changed).memory("host").read_bytes_per_s == 4e9
    point = {"problem": plain, "status": "optimal", "budget_bytes": 4096}
    assert points_beside([point], [changed]) == []
    assert points_beside([point], [plain]) == [point]
    assert fields_of_point(point)["machine_fields"] == ""
    assert fields_of_point({**point, "problem": changed})["machine_fields"] == SLOW


def test_copied_python_plans_on_the_changed_machine() -> None:
    problem = ProblemFields(**SMALL, machine_fields=f"{SLOW},{LATENCY}=2e-7")
    told: list[dict[str, Any]] = []
    for text in (as_python(problem), None):
        names: dict[str, Any] = {}
        with redirect_stdout(io.StringIO()):
            exec(text or plan_as_python(told[0]["plan"]), names)
        told.append(names)
    first, second = (names["plan"].machine for names in told)
    assert first == second
    assert numbers_in("npu_small", problem.machine_fields) == {READ: 4e9, LATENCY: 2e-7}
    assert first.memory("host").read_bytes_per_s == 4e9
    assert title_of(first).endswith("(host.read 4 GB/s, dma_in.latency 200 ns)")


def editor() -> tuple[Session, MachineNumbers, list[str]]:
    """A session that plans nothing, its numbers, and the texts that it was to plan with."""
    session = Session(None)  # type: ignore[arg-type]
    planned: list[str] = []

    def plan(**_: Any) -> None:
        planned.append(session.problem.machine_fields)

    session.planning.plan = plan  # type: ignore[method-assign]
    return session, MachineNumbers(session.problem, session.change), planned


def test_typed_numbers_are_planned_and_the_preset_comes_back() -> None:
    session, numbers, planned = editor()
    numbers.enter(READ, "4 GB/s")
    numbers.enter(LATENCY, "200 ns")
    assert planned == [SLOW, f"{SLOW},{LATENCY}=2e-7"]
    assert numbers.words == "host.read 4 GB/s, dma_in.latency 200 ns"
    numbers.enter(READ, "")  # nothing: the preset's
    assert session.problem.machine_fields == f"{LATENCY}=2e-7"
    numbers.back()
    assert session.problem.machine_fields == numbers.words == ""


def test_a_wrong_number_is_kept_as_typed_and_changes_nothing() -> None:
    session, numbers, planned = editor()
    numbers.enter(READ, "4 GB/s")
    numbers.enter(READ, "fast")
    numbers.enter(LATENCY, "-3 ns")
    rows = {row.name: row for row in numbers.rows}
    assert (rows[READ].text, rows[READ].changed) == ("fast", True)
    assert "write e.g. 4 GB/s" in rows[READ].wrong
    assert rows[LATENCY].wrong == "it must be a finite number, zero or above, not -3e-09"
    assert planned == [SLOW]
    assert numbers.words == "2 to mend, host.read 4 GB/s"
    numbers.enter(READ, "4 GB/s")
    numbers.enter("scratchpad.size_bytes", "4096")  # the budget's
    assert planned == [SLOW]
    session.change(machine="stm32f746")
    assert session.problem.machine_fields == ""
    assert not any(row.wrong for row in numbers.rows)


def test_every_number_but_the_budget_has_a_row_with_its_source() -> None:
    _, numbers, _ = editor()
    names = set(sp.presets()["npu_small"].numbers()) - {"scratchpad.size_bytes"}
    assert {row.name for row in numbers.rows} == names
    assert all(row.source and row.preset and row.label and row.group for row in numbers.rows)


def test_the_field_says_what_is_changed_when_folded() -> None:
    session, _, _ = editor()
    field = MachineField(session)
    assert field.head.label == "▸ Machine's numbers"
    assert field.fields.rows == []  # nothing is sent before it is seen
    session.change(machine_fields=SLOW)
    assert field.head.label == "▸ Machine's numbers: host.read 4 GB/s"
    field.open(True)
    field._typed(f"{LATENCY} soon")
    row = next(row for row in field.fields.rows if row["name"] == LATENCY)
    assert row["text"] == "soon"
    assert "is not a number" in row["wrong"]
    session.change(machine="eyeriss")
    assert field.head.label == "▾ Machine's numbers"
    assert field.preset.value == "eyeriss"


def test_many_changes_are_summed_up() -> None:
    machine = sp.presets()["npu_small"]
    numbers = {name: value * 2 + 1 for name, value in machine.numbers().items()}
    assert summary(numbers).endswith(f" and {len(numbers) - 2} more")
    assert summary({}) == fields_text("npu_small", {}) == ""


def test_a_session_shows_the_plan_of_the_changed_machine(session: Session, until: Until) -> None:
    before = session.work.shown.trace.makespan_s
    session.change(machine_fields="host.read_bytes_per_s=1e9")
    assert session.stale
    until(lambda: (session.poll(), not session.busy)[1])
    assert session.work.shown.trace.makespan_s > before
    assert not session.stale
    session.back()
    assert session.problem.machine_fields == "host.read_bytes_per_s=1e9"


def test_a_table_of_points_names_what_is_changed() -> None:
    from app.session.initial_plan import stored_first

    point = dict(stored_first()["points"][0])
    point["problem"] = {**point["problem"], "machine_fields": SLOW}
    assert f"npu_small {SLOW}" in points_csv([point])
