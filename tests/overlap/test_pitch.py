"""Segments by the paper's rules: what is padded, that plans stay right, and what they cost."""

from __future__ import annotations

from dataclasses import replace
from math import gcd
from pathlib import Path

import pytest

import planners as sp
from planners.backends.int8.random_net import random_net
from planners.core.details.pool import KernelRun, PoolLayout
from planners.core.errors import BadInput
from planners.core.graph import Graph
from planners.core.problem import Problem
from planners.core.progress import Clock
from planners.overlap.cost.work import KernelStyle, work
from planners.overlap.emit.saved_layout import layout_of
from planners.overlap.kernels.bottleneck import recomputing
from planners.overlap.kernels.candidates import Pull, alone, line
from planners.overlap.model.segments import Segments
from planners.overlap.options import OverlapOptions
from planners.overlap.order.orders import all_distances
from planners.overlap.place.padding import placed_anew, segments
from planners.overlap.planner import LayoutOffer, finished
from tests.backends.c.test_code import COMPILER, needs_compiler, runs_right
from tests.backends.int8.test_int8_plans import pruned
from tests.backends.int8_pool.execute import execute_int8
from tests.cases import cases
from tests.overlap.random_nets import random_net as some_net
from tests.overlap.small_nets import Builder, chained

RULES = ("min", "gcd")
EVERY = ("pixel", *RULES)


def pointwise(c_in: int, c_out: int, size: int = 4) -> Graph:
    b = Builder((1, c_in, size, size))
    return b.graph(b.conv("x", c_out))


def mixed() -> Graph:
    """Channels of which few divide one another, a residual, a pool, and operators on channels."""
    b = Builder((1, 3, 12, 10))
    x = b.conv("x", 10, (3, 3), (2, 2), (1, 1), activation="relu")
    y = b.conv(x, 24, activation="relu")
    y = b.depthwise(y, (3, 3), (1, 1), (1, 1))
    x = b.same("add", x, b.conv(y, 10))
    x = b.cat(b.conv(x, 6), b.pool("max_pool2d", x, (3, 3), (1, 1), (1, 1)))
    x = b.conv(x, 7, (3, 3), (1, 1), (1, 1))
    return b.graph(b.linear(b.global_average(x), 5))


def planned(graph: Graph, **options: object) -> tuple[sp.Plan, PoolLayout]:
    plan = sp.plan(graph, "overlap", "1MB", **options)
    return plan, layout_of(plan)


@pytest.mark.parametrize(("rule", "segment", "pitch"), [("min", 16, 32), ("gcd", 8, None)])
def test_a_pointwise_convolution_has_the_papers_segments(
    rule: str, segment: int, pitch: int | None
) -> None:
    graph = pointwise(16, 24)
    (out,) = graph.outputs
    _, layout = planned(graph, segment=rule)
    (run,) = layout.runs
    assert (run.segment_bytes, layout.pitches.get(out)) == (segment, pitch)
    assert (layout.offsets["x"] - layout.offsets[out]) % layout.pool_bytes % segment == 0


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("sizes", [(16, 24), (24, 16), (16, 16), (5, 7), (30, 6)], ids=str)
def test_pools_of_one_kernel_are_the_closed_formula(sizes: tuple[int, int], rule: str) -> None:
    """max(MN, MK) + min(N, K) − 1 in segments (section 4).

    One more where a segment has several bytes: they are written one by one, not at once.
    """
    m, each = 16, min(sizes) if rule == "min" else gcd(*sizes)
    k, n = (-(-c // each) for c in sizes)
    _, layout = planned(pointwise(*sizes), segment=rule)
    assert layout.pool_bytes == each * (m * max(n, k) + min(n, k) - (each == 1))


def test_between_two_kernels_a_pixel_is_whole_segments_of_both() -> None:
    b = Builder((1, 8, 4, 4))
    middle = b.conv("x", 12)
    graph = b.graph(b.conv(middle, 10))
    runs = [KernelRun("alone", (op.name,)) for op in graph.operators]
    (first, second), pitches = segments(graph, runs, "min")
    assert (first, second) == (8, 10)
    assert pitches == {middle: 40}
    assert segments(graph, runs, "gcd") == ([4, 2], {})


def test_operators_on_channels_take_what_segments_there_are() -> None:
    b = Builder((1, 8, 4, 4))
    y = b.conv("x", 12)
    z = b.depthwise(y, (3, 3), (1, 1), (1, 1))
    graph = b.graph(b.same("relu", z))
    runs = [KernelRun("alone", (op.name,)) for op in graph.operators]
    assert segments(graph, runs, "min") == ([8, 4, 12], {y: 16})


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("options", [{}, {"fuse": False}, {"objective": "ram"}], ids=str)
def test_plans_are_valid_and_run_exactly(rule: str, options: dict[str, object]) -> None:
    graph = mixed()
    plan, layout = planned(graph, segment=rule, **options)
    report = sp.check(plan)
    assert report.peak_bytes <= layout.pool_bytes == plan.claims.objective_bytes
    plain, close = planned(graph, **options)
    assert close.pool_bytes <= layout.pool_bytes
    if "objective" not in options:  # With it, what repeats work has less RAM.
        assert plan.claims.bound_bytes == plain.claims.bound_bytes
    done = execute_int8(layout, random_net(graph, 0))
    assert done.bit_exact
    assert done.pool_bytes == layout.pool_bytes


@pytest.mark.parametrize("rule", RULES)
def test_random_networks_are_valid_and_exact(rule: str) -> None:
    padded = 0
    seeds = cases(15, 160)
    for seed in range(seeds):
        graph = pruned(some_net(seed, 2 + seed % 7)[0])
        if any(op.kind == "add" and len(op.inputs) < 2 for op in graph.operators):
            continue
        plan, layout = planned(graph, segment=rule, time_limit=600)
        sp.check(plan)
        padded += bool(layout.pitches)
        assert execute_int8(layout, random_net(graph, seed), seed=seed).bit_exact, seed
    assert 8 * padded > seeds if rule == "min" else not padded


def test_distances_of_padded_pixels_are_tight() -> None:
    """With one byte less between output and input some of the input is lost."""
    spoilt = 0
    for c_in, c_out, pitches in ((6, 4, (8, 5)), (4, 6, (4, 9)), (5, 5, (7, 7)), (7, 3, (9, 3))):
        b = Builder((1, c_in, 5, 4))
        graph = b.graph(b.conv("x", c_out, (3, 3), (1, 1), (1, 1)))
        (out,) = graph.outputs
        padding = {"x": pitches[0], out: pitches[1]}
        d = Pull(graph, [0]).distance("x", padding)
        size = max(Segments(graph, "x").span_bytes(pitches[0]) + d, 20 * pitches[1])
        net = random_net(graph, 1)
        layout = PoolLayout(size, {out: 0, "x": d}, (KernelRun("alone", ("conv2d.0",)),), padding)
        assert execute_int8(layout, net).bit_exact
        close = replace(layout, offsets={out: 0, "x": d - 1})
        spoilt += not execute_int8(close, net, seed=1).bit_exact
    assert spoilt == 4


@needs_compiler
@pytest.mark.parametrize("rule", RULES)
def test_the_c_code_keeps_the_padding(rule: str, tmp_path: Path) -> None:
    graph = mixed()
    _, layout = planned(graph, segment=rule)
    runs_right(random_net(graph, 0), layout, tmp_path)


def test_a_padded_tensor_cannot_be_read_as_one_vector(tmp_path: Path) -> None:
    b = Builder((1, 8, 2, 2))
    y = b.conv("x", 12)
    graph = b.graph(b.linear(y, 3))
    plan, layout = planned(graph, segment="min", fuse=False)
    assert y in layout.pitches
    sp.check(plan)
    message = f"tensor {y!r} is read as one vector, so it cannot be padded"
    with pytest.raises(BadInput, match=message):
        execute_int8(layout, random_net(graph, 0))
    with pytest.raises(BadInput, match=message):
        sp.write_code(plan, tmp_path / "c", weights="random")


def test_modulo_operations_are_one_for_each_segment() -> None:
    graph = pointwise(16, 24)
    counts = {rule: planned(graph, segment=rule)[0].details.pool.modulos for rule in EVERY}
    assert counts == {"pixel": 16 * 2, "min": 16 * (1 + 2), "gcd": 16 * (2 + 3)}
    layout = planned(graph, segment="min")[1]
    assert work(graph, layout, KernelStyle(segment_bytes=1)).modulos == 16 * (16 + 24)


def test_unknown_rules_are_refused() -> None:
    with pytest.raises(BadInput, match="segment='max': choose one of pixel, min, gcd"):
        planned(pointwise(4, 4), segment="max")


def blocks() -> Graph:
    """Two bottlenecks, one with a residual, whose channels do not divide one another."""
    b = Builder((1, 3, 8, 7))
    x = b.conv("x", 6)
    y = b.depthwise(b.conv(x, 20, activation="relu"), (3, 3), (1, 1), (1, 1))
    x = b.same("add", x, b.conv(y, 6))
    y = b.depthwise(b.conv(x, 15, activation="relu"), (3, 3), (2, 2), (1, 1))
    return b.graph(b.conv(b.conv(y, 9), 4))


def in_form(graph: Graph, form: str) -> PoolLayout:
    """Both blocks run in a form, apart on bytes of their own."""
    forms = [alone(graph, 0)]
    for first, stop in ((1, 5), (5, 8)):
        runs = [line(graph, range(first, stop)), *recomputing(graph, range(first, stop))]
        forms.append(next(run for run in runs if run is not None and run.form == form))
    forms.append(alone(graph, 8))
    return chained(graph, forms)


@pytest.mark.parametrize("form", ["line", "window", "columns", "tile"])
def test_every_form_runs_padded(form: str, tmp_path: Path) -> None:
    graph, clock = blocks(), Clock(600)
    plain = in_form(graph, form)
    layout = placed_anew(graph, plain, "min", clock, all_distances(graph))
    assert layout.pitches
    assert {run.form for run in layout.runs} == {"alone", form}
    offer = LayoutOffer(layout.pool_bytes, 0, 0, (graph.operators[0].name,), lambda: layout)
    chosen = OverlapOptions.from_values({"segment": "min"})
    machine = sp.load_machine("stm32f411")
    request = Problem(graph, machine, layout.pool_bytes, chosen, clock)
    sp.check(finished(request, layout, 0, [offer]))
    net = random_net(graph, 0)
    assert execute_int8(layout, net).bit_exact
    if COMPILER:
        runs_right(net, layout, tmp_path)
