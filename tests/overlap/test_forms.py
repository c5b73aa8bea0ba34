"""The forms that a bottleneck can run in, each as a program that `check` replays."""

from __future__ import annotations

import pytest

import planners as sp
from planners.allocation.overlapping.exact import pack_overlapping
from planners.catalogue.vmcu import BottleneckShape, bottleneck
from planners.core.problem import Problem
from planners.overlap.kernels.bottleneck import recomputing
from planners.overlap.kernels.candidates import RunCandidate, line
from planners.overlap.options import OverlapOptions
from planners.overlap.place.packing import packing_of
from planners.overlap.planner import finished, of_point
from planners.overlap.search.chain import ChainWay, turned
from planners.overlap.search.front import FrontPoint
from tests.overlap.small_nets import Builder
from tests.overlap.test_loops import compared

SHAPES = (
    BottleneckShape("residual", 5, 4, 12, 4, 3),
    BottleneckShape("window beyond the map", 3, 4, 8, 4, 7),
    BottleneckShape("strided", 6, 3, 10, 5, 5, (1, 2, 1)),
    BottleneckShape("wider", 5, 3, 7, 6, 3),
    BottleneckShape("narrower", 5, 6, 7, 3, 3),
)


def plan_of(graph: sp.Graph, run: RunCandidate) -> sp.Plan:
    """The plan that has this run only."""
    packed = pack_overlapping(packing_of(graph, [run], graph.outputs))
    assert packed is not None
    way = ChainWay(0, len(graph.operators), (run,), packed, run.extra_macs)
    layout = turned(graph, [way], way.size_bytes)
    chosen = OverlapOptions.from_values({"objective": "ram", "parameters": False})
    request = Problem.start(graph, sp.load_machine("npu_small"), way.size_bytes, chosen)
    points = [of_point(graph, FrontPoint(way.size_bytes, 0, (way,)))]
    return finished(request, layout, packed.bound_bytes, points)


@pytest.mark.parametrize("module", SHAPES, ids=lambda module: module.name)
def test_every_form_of_a_bottleneck_is_a_program_that_holds(module: BottleneckShape) -> None:
    graph = bottleneck(module)
    positions = range(len(graph.operators))
    first = line(graph, positions)
    assert first is not None
    runs = [first, *recomputing(graph, positions)]
    assert {run.form for run in runs} == {"line", "window", "columns", "tile"}
    for run in runs:
        plan = plan_of(graph, run)
        done = sp.check(plan)
        assert done.peak_bytes <= plan.claims.objective_bytes


@pytest.mark.parametrize("kernel", [1, 3, 5])
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize(
    ("size", "channels"),
    [
        (10, (4, 6, 4)),
        (10, (3, 8, 5)),
        pytest.param(14, (4, 8, 4), marks=pytest.mark.long),
        pytest.param(14, (3, 20, 5), marks=pytest.mark.long),
    ],
)
def test_rows_of_windows_are_written_as_loops(
    kernel: int, stride: int, size: int, channels: tuple[int, int, int]
) -> None:
    graph = bottleneck(BottleneckShape("tall", size, *channels, kernel, (1, stride, 1)))
    for run in recomputing(graph, range(len(graph.operators))):
        assert compared(plan_of(graph, run), False)


def test_a_first_row_that_reads_nothing_but_padding_leaves_the_input_whole() -> None:
    """It is made before any pixel between has been, and may not lie over what they still read."""
    net = Builder((1, 2, 11, 5))
    first = net.conv("x", 4, (3, 2), padding=(0, 1))
    second = net.conv(first, 5, (3, 3), stride=(2, 1), padding=(0, 1))
    graph = net.graph(net.conv(second, 3, (1, 3), stride=(2, 1), padding=(1, 1)))
    run = line(graph, range(3))
    assert run is not None
    sp.check(plan_of(graph, run))
