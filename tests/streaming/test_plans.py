"""Plans: valid, timed by the scoreboard as planned, and equal in their outputs."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from random import Random

import pytest

import planners as sp
from planners.core.errors import BadInput, BudgetTooSmall
from planners.core.machine import load_machine
from planners.core.program import Load
from planners.core.progress import Clock
from planners.simulator.account import account
from planners.simulator.check import replay
from planners.simulator.timing import schedule as timed
from planners.streaming.emit.program import emit, start_of, stored_s
from planners.streaming.model.layers import units_of
from planners.streaming.model.times import times_of
from planners.streaming.options import PIPELINES
from planners.streaming.place.activations import pack_activations
from planners.streaming.schedule.pipelines import asynchronous, fixed, zero_copy
from tests.cases import cases, in_turn
from tests.streaming.algorithm1 import simulate_algorithm1
from tests.streaming.nets import chain, clock_of, random_layers

XAVIER = "jetson_xavier_980pro"


def test_the_scoreboard_is_algorithm_1_on_random_networks() -> None:
    random, machine = Random(3), load_machine(XAVIER)
    for number in range(cases(250)):
        layers = random_layers(random, most=8)
        graph, times = chain(layers, random)
        units, twice = units_of(graph), number % 4 == 3
        least = max(*(layer.size_bytes for layer in layers), 1)
        cpu, gpu = (least + random.randint(0, 2 * least) for _ in range(2))
        if number % 2:
            made = zero_copy(times.layers(units, 2), cpu, twice=twice)
            ends = simulate_algorithm1(made.layers, cpu, None, twice=twice)
        else:
            made = asynchronous(times.layers(units, 3), cpu, gpu, twice=twice)
            ends = simulate_algorithm1(made.layers, cpu, gpu, twice=twice)
        program = emit(graph, machine, units, made, pack_activations(graph, Clock(600.0, None)))
        found = timed(program, machine, graph, seconds=clock_of(graph, times, made, program))
        kernels = [i.stop_s for i in found if i.engine == "compute"]
        assert kernels == pytest.approx(ends, abs=1e-9)
        assert found[-1].stop_s == pytest.approx(ends[-1], abs=1e-9)
        report = replay(graph, program)
        assert report.noncompulsory_bytes == 0
        assert report.peak_bytes == account(graph, program).peak_bytes


@pytest.mark.parametrize("kind", ["pre", "seq", "sync"])
def test_the_scoreboard_gives_the_closed_forms(kind: str) -> None:
    random, machine = Random(4), load_machine(XAVIER)
    for _ in range(100):
        graph, times = chain(random_layers(random, most=8), random)
        made = fixed(kind, times.layers(units_of(graph)))
        activations = pack_activations(graph, Clock(600.0, None))
        program = emit(graph, machine, units_of(graph), made, activations)
        found = timed(program, machine, graph, seconds=clock_of(graph, times, made, program))
        assert found[-1].stop_s == pytest.approx(made.delay_s + made.preload_s, abs=1e-9)
        replay(graph, program)


@pytest.mark.parametrize(
    ("pipeline", "machine", "slices"),
    in_turn(PIPELINES, [*product((XAVIER, "jetson_xavier", "npu_small"), (1, 3))]),
)
def test_plans_take_the_planned_time(pipeline: str, machine: str, slices: int) -> None:
    graph = sp.load("squeezenet1_1", bytes_per_element=4)
    plan = sp.plan(graph, "streaming", "64MiB", machine, pipeline=pipeline, slices=slices)
    sp.check(plan)
    found = plan.details.streamed
    trace = sp.simulate(plan)
    assert trace.makespan_s == pytest.approx(found.delay_s + found.preload_s, rel=1e-9)
    assert plan.claims.objective_bytes == sum(found.rings.values()) + found.activation_bytes
    assert sum(layer.size_bytes for layer in found.layers) == 4 * graph.parameter_count
    again = sp.Plan.from_json(plan.to_json())
    assert sp.simulate(again).makespan_s == trace.makespan_s
    assert sp.simulate(plan, machine).makespan_s == trace.makespan_s


@pytest.mark.parametrize(
    "options",
    [
        {"pipeline": "exact"},
        {"pipeline": "async", "slices": 3, "twice": True},
        {"pipeline": "sync"},
        {"pipeline": "2s", "slices": 0},
    ],
)
def test_plans_compute_what_the_network_does(options: dict[str, object]) -> None:
    graph = sp.load("squeezenet1_1", input_shape=(1, 3, 64, 64), bytes_per_element=4)
    plan = sp.plan(graph, "streaming", "64MiB", XAVIER, **options)
    sp.check(plan)
    assert sp.execute(plan).max_abs_error < 1e-4


def test_exact_has_no_more_delay_than_any_sweep_within_the_budget() -> None:
    graph = sp.load("resnet18", bytes_per_element=4)
    for budget in ("24MiB", "32MiB", "48MiB"):
        delays = {
            name: sp.plan(graph, "streaming", budget, XAVIER, pipeline=name).details.streamed
            for name in ("exact", "2s", "2s-md", "async-md")
        }
        best = min(found.delay_s for found in delays.values())
        assert delays["exact"].delay_s == best
        front = delays["exact"].front
        assert all(a[0] < b[0] and a[1] > b[1] for a, b in zip(front, front[1:]))


def test_slices_need_less_memory() -> None:
    graph = sp.load("resnet18", bytes_per_element=4)
    whole = sp.plan(graph, "streaming", "64MiB", "jetson_xavier", pipeline="2s")
    cut = sp.plan(graph, "streaming", "64MiB", "jetson_xavier", pipeline="2s", slices=4)
    assert 3.9 * cut.details.streamed.rings["shared"] < whole.details.streamed.rings["shared"]


def test_the_largest_layer_is_named_where_nothing_fits() -> None:
    graph = sp.load("resnet18", bytes_per_element=4)
    with pytest.raises(BudgetTooSmall) as caught:
        sp.plan(graph, "streaming", "4MiB", XAVIER, pipeline="2s")
    sizes = {op.name: sum(map(graph.size_bytes, op.parameters)) for op in graph.operators}
    assert caught.value.operator == max(sizes, key=lambda name: sizes[name])
    assert caught.value.need_bytes == max(sizes.values()) + 4014080
    with pytest.raises(BadInput, match="layer '.*' has .* bytes of parameters, the ring 1048576"):
        sp.plan(graph, "streaming", "64MiB", XAVIER, pipeline="2s", ring="1MiB")


def test_parameters_that_operators_share_are_read_again_and_never_twice_at_once() -> None:
    random, machine = Random(5), load_machine(XAVIER)
    for _ in range(100):
        graph, times = chain(random_layers(random, most=7), random)
        named = [name for op in graph.operators for name in op.parameters]
        if len(named) < 2 or len(graph.operators) < 2:
            continue
        last = graph.operators[-1]
        shared = tuple(dict.fromkeys([*last.parameters, named[0]]))
        graph = replace(graph, operators=(*graph.operators[:-1], replace(last, parameters=shared)))
        layers = times.layers(units_of(graph), 2)
        made = zero_copy(layers, 2 * max(layer.size_bytes for layer in layers))
        activations = pack_activations(graph, Clock(600.0, None))
        program = emit(graph, machine, units_of(graph), made, activations)
        replay(graph, program)


def test_joined_loads_are_one_transfer() -> None:
    graph = sp.load("resnet18", bytes_per_element=4)
    plan = sp.plan(graph, "streaming", "64MiB", XAVIER, pipeline="2s", times="roofline")
    assert any(item.joined for item in plan.program.instructions if isinstance(item, Load))
    layers = times_of(graph, plan.machine).layers(units_of(graph), overlapped=False)
    machine = load_machine(XAVIER)
    largest = max(layers, key=lambda layer: layer.size_bytes)
    assert largest.size_bytes / largest.read_s < machine.engine("storage").bytes_per_s


def test_inputs_and_outputs_take_their_time() -> None:
    graph = sp.load("squeezenet1_1", bytes_per_element=4)
    machine = load_machine("npu_small")
    times, units = times_of(graph, machine), units_of(graph)
    start = start_of(graph, machine, units, times)
    assert start.kernels[0] == graph.size_bytes("x") / 8e9
    made = zero_copy(times.layers(units, 2), 8 * 2**20, start)
    assert stored_s(graph, units, made, times) > made.delay_s


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"pipeline": "3s"}, "choose one of exact, pre, seq"),
        ({"ring": "1MiB"}, "a ring size is for async and 2s"),
        ({"slices": -1}, "slices must be a whole number"),
        ({"pipeline": "sync", "twice": True}, "no rings that could be mapped twice"),
        ({"spread": float("nan")}, "spread must be a number from 0 to 1,000,000"),
        ({"pipe": "2s"}, "streaming has no option 'pipe'"),
        ({"times": "nowhere.csv"}, "cannot read times from nowhere.csv"),
    ],
)
def test_wrong_options_say_what_to_do(options: dict[str, object], reason: str) -> None:
    graph = sp.load("squeezenet1_1", bytes_per_element=4)
    with pytest.raises(BadInput, match=reason):
        sp.plan(graph, "streaming", "64MiB", XAVIER, **options)


def test_a_machine_without_a_drive_has_two_stages() -> None:
    graph = sp.load("squeezenet1_1")
    with pytest.raises(BadInput, match="no engine 'storage'"):
        sp.plan(graph, "streaming", "64MiB", "eyeriss", pipeline="async")
    sp.check(sp.plan(graph, "streaming", "64MiB", "eyeriss"))
