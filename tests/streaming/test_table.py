"""A user's table of times: constants and samples, and what is said where it is wrong."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

import planners as sp
from planners.core.errors import BadInput
from planners.core.graph import Graph
from planners.streaming.model.layers import divided, units_of
from planners.streaming.model.table import read_table
from tests.streaming.nets import chain, random_layers

HEAD = "layer,read_s,copy_s,kernel_s\n"


def network() -> Graph:
    graph, _ = chain(random_layers(Random(4), most=6), Random(4))
    return graph


def rows(graph: Graph) -> list[str]:
    return [f"{op.name},{i + 1},0.5,2" for i, op in enumerate(graph.operators)]


def write(path: Path, lines: list[str], head: str = HEAD) -> str:
    path.write_text(head + "\n".join(lines) + "\n")
    return str(path)


def test_a_plan_takes_the_times_of_the_table(tmp_path: Path) -> None:
    graph = network()
    path = write(tmp_path / "times.csv", rows(graph))
    plan = sp.plan(graph, "streaming", "1KiB", "npu_small", pipeline="seq", times=path)
    streams = [bool(op.parameters) for op in graph.operators]
    expected = sum(2 + (i + 1.5) * s for i, s in enumerate(streams))
    assert plan.details.streamed.delay_s == expected
    assert sp.simulate(plan).makespan_s == expected
    assert sp.simulate(sp.Plan.from_json(plan.to_json())).makespan_s == expected
    # On another machine the plan takes that machine's times.
    assert sp.simulate(plan, "jetson_xavier").makespan_s < 0.1


def test_samples_give_the_median_the_bound_and_the_band(tmp_path: Path) -> None:
    graph = network()
    lines = [f"{op.name},1,1,{k}" for op in graph.operators for k in (2, 3, 9)]
    path = write(tmp_path / "times.csv", lines)
    table = read_table(graph, path)
    assert {layer.kernel_s for layer in table.layers(units_of(graph))} == {3.0}
    assert {layer.kernel_s for layer in table.largest(units_of(graph))} == {9.0}
    plan = sp.plan(graph, "streaming", "1KiB", "npu_small", times=path, draws=500, seed=1)
    found, band = plan.details.streamed, plan.details.streamed.band
    assert band.least_s < found.delay_s < band.largest_s <= found.bound_s
    again = sp.plan(graph, "streaming", "1KiB", "npu_small", times=path, draws=500, seed=1)
    assert again.details.streamed.band == band


def test_a_slice_takes_its_share(tmp_path: Path) -> None:
    graph = sp.load("squeezenet1_1", bytes_per_element=4)
    path = write(tmp_path / "times.csv", rows(graph))
    units = divided(graph, 4)
    assert len(units) > len(graph.operators)
    layers = read_table(graph, path).layers(units)
    for position in range(len(graph.operators)):
        own = [
            layer
            for unit, layer in zip(units, layers, strict=True)
            if unit.operator == position and layer.size_bytes
        ]
        if own:
            assert sum(layer.read_s for layer in own) == pytest.approx(position + 1)
            assert sum(layer.kernel_s for layer in own) == pytest.approx(2)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda lines: lines[1:], r"layer 'l0' is missing \(1 in all\)"),
        (lambda lines: ["l0,-1,0,1", *lines[1:]], "line 2: read_s must be seconds"),
        (lambda lines: ["l0,0,nan,1", *lines[1:]], "line 2: copy_s must be seconds"),
        (lambda lines: ["l0,0,inf,1", *lines[1:]], "line 2: copy_s must be seconds"),
        (lambda lines: ["l0,0,0,", *lines[1:]], "line 2: kernel_s must be seconds"),
        (lambda lines: ["l0,0,0", *lines[1:]], "line 2: 3 cells, not 4"),
        (lambda lines: [*lines, "ll0,0,0,1"], "has no layer 'll0'; did you mean 'l0'"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(change, reason: str, tmp_path: Path) -> None:
    graph = network()
    path = write(tmp_path / "times.csv", change(rows(graph)))
    with pytest.raises(BadInput, match=reason):
        read_table(graph, path)


def test_the_first_line_names_the_columns(tmp_path: Path) -> None:
    path = write(tmp_path / "times.csv", [], head="layer,read\n")
    with pytest.raises(BadInput, match="the first line must be layer,read_s,copy_s,kernel_s"):
        read_table(network(), path)
