"""The scoreboard: hazards by the byte, overlap that follows from addresses, causes of stalls."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import planners as sp
from planners.core.machine import Engine
from planners.core.program import (
    Barrier,
    Compute,
    Instruction,
    Load,
    Memory,
    Program,
    Store,
    whole,
)
from planners.core.program_json import program_from_json, program_to_json
from planners.simulator.hazards import START, Event, Hazards
from planners.simulator.records.interval import Interval
from planners.simulator.timing import schedule
from planners.simulator.traffic import energy
from tests.random_graphs import random_graph
from tests.simulator.programs import HOST, at, home


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 30), st.integers(1, 10)), max_size=40))
def test_hazards_equal_a_memory_that_remembers_every_byte(
    accesses: list[tuple[bool, int, int]],
) -> None:
    hazards = Hazards()
    writes, reads = [START] * 50, [START] * 50
    for n, (is_write, start, size) in enumerate(accesses):
        stop, event = start + size, Event(float(n + 1), n)
        assert hazards.last_write(start, stop) == max(writes[start:stop])
        assert hazards.last_read(start, stop) == max(reads[start:stop])
        if is_write:
            hazards.write(start, stop, event)
            writes[start:stop], reads[start:stop] = [event] * size, [START] * size
        else:
            hazards.read(start, stop, event)
            reads[start:stop] = [event] * size


def chain(offsets: list[int], budget: int = 30, barrier: bool = False) -> tuple[Interval, ...]:
    """Three operators on inputs of ten bytes, loaded to these offsets; everything takes 1 s."""
    names = [f"x{i}" for i in range(len(offsets))]
    tensors = {n: sp.Tensor(n, (10,), "input") for n in names}
    tensors |= {f"y{i}": sp.Tensor(f"y{i}", (1,)) for i in range(len(offsets))}
    ops = [sp.Operator(f"op{i}", "any", (n,), (f"y{i}",)) for i, n in enumerate(names)]
    graph = sp.Graph("chain", tensors, tuple(ops), tuple(names), ())
    items: list[Instruction] = []
    for i, offset in enumerate(offsets):
        piece, region = at(graph, whole(graph.tensors[f"x{i}"]), "scratchpad", offset)
        out = at(graph, whole(graph.tensors[f"y{i}"]), "results", i)
        items.append(Load(i, piece, home(graph, piece), region))
        if barrier and i:
            items.insert(-1, Barrier(i))
        items.append(Compute(i, f"op{i}", (at(graph, piece, "scratchpad", offset),), (out,), 0))
    memories = (Memory("scratchpad", budget), Memory("results", 9, parent="scratchpad"), HOST)
    program = Program(memories, tuple(items), {"input": "host", "output": "host"}, ("",) * 3)
    return schedule(program, sp.load_machine("npu_small"), graph, duration=lambda item: 1.0)


def starts(intervals: tuple[Interval, ...], engine: str) -> list[float]:
    return [i.start_s for i in intervals if i.engine == engine]


def test_two_places_let_the_next_load_run_beside_the_compute() -> None:
    found = chain([10, 20, 10], budget=30)
    assert starts(found, "dma_in") == [0.0, 1.0, 2.0]
    assert starts(found, "compute") == [1.0, 2.0, 3.0]


def test_one_place_makes_loads_wait_for_the_reader_and_says_so() -> None:
    found = chain([10, 10, 10])
    assert starts(found, "dma_in") == [0.0, 2.0, 4.0]
    assert starts(found, "compute") == [1.0, 3.0, 5.0]
    load, compute = found[2], found[3]
    assert (load.stall_s, load.cause, load.blocker) == (1.0, "write after read", 1)
    assert (compute.stall_s, compute.cause, compute.blocker) == (1.0, "read after write", 2)


def test_nothing_passes_a_barrier() -> None:
    found = chain([10, 20, 10], barrier=True)
    assert starts(found, "dma_in") == [0.0, 2.0, 4.0]
    assert found[2].cause == "barrier"


@given(st.integers(0, 10**6), st.integers(1, 20), st.floats(0, 1))
def test_serial_is_the_sum_and_overlap_is_between_the_busiest_engine_and_that(
    seed: int, operators: int, share: float
) -> None:
    graph = random_graph(seed, operators, largest=5000)
    b = sp.budgets(graph)
    plan = sp.plan(graph, budget=b.MR + round(share * (b.MP - b.MR)))
    overlapped, serial = sp.simulate(plan), sp.simulate(plan, serial=True)
    total = sum(serial.busy_s.values())
    assert serial.makespan_s == pytest.approx(total)
    assert max(overlapped.busy_s.values()) <= overlapped.makespan_s * (1 + 1e-9)
    assert overlapped.makespan_s <= serial.makespan_s * (1 + 1e-9)
    assert all(i.stall_s == 0 for i in serial.intervals)
    assert overlapped.traffic_bytes == plan.claims.offchip_bytes
    by_engine: dict[str, list[Interval]] = {}
    for interval in overlapped.intervals:
        by_engine.setdefault(interval.engine, []).append(interval)
    for intervals in by_engine.values():
        assert all(a.stop_s <= b.start_s for a, b in zip(intervals, intervals[1:], strict=False))


def test_energy_counts_each_byte_and_mac_once() -> None:
    plan = sp.plan(random_graph(4, 12, largest=900), budget="MR")
    machine, report = plan.machine, sp.check(plan)
    found = sp.simulate(plan).energy
    host = machine.memory("host")
    assert found["compute"] == pytest.approx(report.macs * machine.mac_pj * 1e-12)
    expected = (
        report.loaded_bytes * host.read_pj_per_byte + report.stored_bytes * host.write_pj_per_byte
    )
    assert found["host"] == pytest.approx(expected * 1e-12)


def on(plan: sp.Plan, kind: type, engine: str) -> sp.Plan:
    """The plan with all its instructions of a kind on an engine."""
    items = [
        replace(item, engine=engine) if isinstance(item, kind) else item
        for item in plan.program.instructions
    ]
    return replace(plan, program=replace(plan.program, instructions=tuple(items)))


@pytest.mark.parametrize(
    ("kind", "engine", "reason"),
    [
        (
            Load,
            "teleport",
            r"step 1, instruction 0: x\[.*: machine 'npu_small' has no engine 'tele",
        ),
        (Load, "compute", "engine 'compute' moves nothing from host to scratchpad"),
        (Load, "dma_out", "engine 'dma_out' moves nothing from host to scratchpad"),
        (Store, "dma_in", "engine 'dma_in' moves nothing from scratchpad to host"),
        (Compute, "dma_in", "engine 'dma_in' computes nothing"),
    ],
)
def test_an_instruction_on_the_wrong_engine_is_named(kind: type, engine: str, reason: str) -> None:
    broken = on(sp.plan(random_graph(4, 5)), kind, engine)
    for reading in (sp.check, sp.simulate):
        with pytest.raises(sp.InvalidPlan, match=reason):
            reading(broken)


def test_another_machine_without_an_engine_of_the_program_is_named() -> None:
    plan = sp.plan(random_graph(4, 5))
    extra = replace(plan.machine, engines=(*plan.machine.engines, Engine("second", 1e9)))
    moved = replace(on(plan, Load, "second"), machine=extra)
    sp.check(moved)
    with pytest.raises(sp.BadInput, match="'npu_small' has no engine 'second'"):
        sp.simulate(moved, "npu_small")


def test_a_faster_memory_never_makes_a_plan_slower() -> None:
    rng = random.Random(0)
    for _ in range(20):
        plan = sp.plan(random_graph(rng.randrange(999), 15, largest=9999))
        engines = tuple(replace(e, bytes_per_s=e.bytes_per_s * 2) for e in plan.machine.engines)
        memories = tuple(
            replace(
                m,
                read_bytes_per_s=m.read_bytes_per_s * 2,
                write_bytes_per_s=m.write_bytes_per_s * 2,
            )
            for m in plan.machine.memories
        )
        faster = replace(plan.machine, engines=engines, memories=memories)
        assert sp.simulate(plan, faster).makespan_s <= sp.simulate(plan).makespan_s


def three_loads(joined: bool) -> tuple[Program, tuple[Interval, ...]]:
    """Three loads of ten bytes, the second joined to the first or not; they take 3 s and none."""
    tensors = {name: sp.Tensor(name, (10,), "input") for name in ("a", "b", "c")}
    op = sp.Operator("op", "any", ("a", "b", "c"), ("y",))
    graph = sp.Graph("loads", {**tensors, "y": sp.Tensor("y", (1,))}, (op,), tuple(tensors), ())
    loads = []
    for i, tensor in enumerate(tensors.values()):
        piece, region = at(graph, whole(tensor), "scratchpad", 10 * i)
        loads.append(Load(0, piece, home(graph, piece), region, joined=joined and i == 1))
    homes = {"input": "host", "output": "host"}
    program = Program((Memory("scratchpad", 30), HOST), tuple(loads), homes, ("",))
    return program, schedule(program, sp.load_machine("npu_small"), graph, seconds=[3.0, 0.0])


def test_joined_loads_end_together_and_share_their_time() -> None:
    _, apart = three_loads(joined=False)
    assert [(i.start_s, i.stop_s) for i in apart[:2]] == [(0.0, 3.0), (3.0, 3.0)]
    program, together = three_loads(joined=True)
    assert [(i.start_s, i.stop_s) for i in together[:2]] == [(0.0, 1.5), (1.5, 3.0)]
    assert together[2].start_s == 3.0
    assert together[2].stop_s - 3.0 == pytest.approx(10 / 8e9)
    assert program_from_json(program_to_json(program)) == program


def test_a_memory_may_be_a_part_of_another_of_the_machine() -> None:
    program, _ = three_loads(joined=False)
    ring = replace(program.memories[0], name="ring", level="host")
    loads = [
        replace(item, target=item.target._replace(memory="ring"))
        for item in program.instructions
        if isinstance(item, Load)
    ]
    moved = replace(program, memories=(ring, program.memories[1]), instructions=tuple(loads))
    found = energy(moved, sp.load_machine("npu_small"))
    assert set(found) == {"compute", "host"}
    assert program_from_json(program_to_json(moved)) == moved


@pytest.mark.parametrize("objective", [{}, {"objective": "traffic_then_latency"}])
def test_seconds_that_a_plan_gives_its_instructions_are_not_believed(
    objective: dict[str, str],
) -> None:
    plan = sp.plan(random_graph(1, 4), budget="MP", **objective)
    count = len(list(plan.program.instructions))
    edited = plan.to_json() | {"details": {"seconds": [0.0] * count}}
    for broken in (replace(plan, details=edited["details"]), sp.Plan.from_json(edited)):
        assert sp.simulate(broken).makespan_s == sp.simulate(plan).makespan_s > 0
        assert sp.simulate(broken).times == "roofline of npu_small"
