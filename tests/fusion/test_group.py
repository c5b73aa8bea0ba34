"""What a group costs: rows by brute force, buffers by their addresses, traffic replayed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from gc import collect, get_objects
from typing import Any

import pytest

import planners as sp
from planners.core.access import needs
from planners.core.program import Compute
from planners.fusion.cost.floor import Floors
from planners.fusion.cost.group import GroupModel
from planners.fusion.emit.laid import lay_out
from planners.fusion.emit.layout import Arranger, Room
from planners.fusion.emit.program import emit
from planners.fusion.partition.cost_model import executable
from planners.fusion.partition.lattice import Dag
from planners.fusion.tile.axes import box_of, rows_in, rows_of
from planners.fusion.tile.strips import Flow, Group, flow, heights
from planners.fusion.tile.ways import GroupPlan
from planners.simulator.check import replay
from tests.cases import cases
from tests.fusion.networks import CASES, graph_of

MACHINE = sp.load_machine("npu_small")


def model_of(name: str, width: int = 1, **options: object) -> GroupModel:
    return GroupModel(graph_of(name, width), MACHINE, options)


def groups_of(model: GroupModel) -> Iterator[int]:
    """Every set of operators that can run as one."""
    for mask in range(1, 1 << len(model.graph.operators)):
        if model.staircase(mask):
            yield mask


@pytest.mark.parametrize("name", CASES)
def test_rows_are_those_that_the_operators_need(name: str) -> None:
    model = model_of(name)
    for mask in groups_of(model):
        group = model.group(mask)
        for rows in heights(model.graph, group):
            flows = flow(model.graph, group, (rows,))
            held = {t: int(flows.held(t)[0, 0]) for t in group.tensors}
            loaded = {t: int(flows.loaded(t)[0, 0]) for t in group.loaded}
            assert (held, loaded) == brute_force(model.graph, group, rows)


def brute_force(graph: sp.Graph, group: Group, step: int) -> tuple[dict[str, int], dict[str, int]]:
    """Strip by strip with sets of rows: which are held at once, and how many are loaded."""
    sizes = {t: rows_of(graph.tensors[t]) for t in group.tensors}
    tallest = max(sizes[t] for t in group.sinks)
    strips = -(-tallest // step)
    made: dict[str, set[int]] = {t: set() for t in group.made}
    uses: list[dict[str, set[int]]] = []  # rows that each strip reads, makes or stores
    for strip in range(strips):
        last = strip == strips - 1
        used: dict[str, set[int]] = {t: set() for t in group.tensors}
        goal = {t: set(range(sizes[t] if last else 0)) for t in group.made}
        for tensor in group.sinks:
            goal[tensor] |= set(
                range(-(-min((strip + 1) * step, tallest) * sizes[tensor] // tallest))
            )
        for member in reversed(group.members):
            out = member.op.outputs[0]
            wanted = goal[out]
            fresh = set(range(max(wanted, default=-1) + 1)) - made[out]
            made[out] |= fresh
            used[out] |= fresh
            if fresh:
                box = box_of(graph.tensors[out], (min(fresh), max(fresh) + 1))
                for tensor, part in needs(graph, member.op, out, box):
                    if tensor in group.tensors:
                        rows = set(range(*rows_in(graph.tensors[tensor], part)))
                        used[tensor] |= rows
                        goal.get(tensor, set()).update(rows)
            for other in member.op.outputs[1:]:
                used[other] |= goal[other]
        uses.append(used)
    held, loaded = {}, dict.fromkeys(group.loaded, 0)
    for tensor in group.tensors:
        there: set[int] = set()
        most = 0
        for strip, used in enumerate(uses):
            # Rows between those that are read are there too: they come in one go.
            now = used[tensor] and set(range(min(used[tensor]), max(used[tensor]) + 1))
            later = set().union(*(u[tensor] for u in uses[strip:]))
            kept = {y for y in there if later and y >= min(later)}
            if tensor in loaded:
                loaded[tensor] += len(now - there)
            there = kept | now
            most = max(most, max(there) - min(there) + 1 if there else 0)
        held[tensor] = most
    return held, loaded


@pytest.mark.parametrize("name", CASES)
def test_buffers_are_what_addresses_need(name: str) -> None:
    for model in (model_of(name), model_of(name, width=2, channel_tile=3), model_of(name, bands=4)):
        for mask in groups_of(model):
            for way in model.staircase(mask):
                layout = Arranger(model.graph, model.group(mask), way).layout(Room(False, 1, 0))
                assert layout.size_bytes == way.buffer_bytes


def often(name: str, most_bands: int) -> Any:
    """The group of most operators is replayed for its many ways when there is time."""
    seldom = most_bands == 1 or name in ("random 0", "chain of four images", "tail")
    return pytest.param(name, most_bands, marks=pytest.mark.long if seldom else ())


@pytest.mark.parametrize(("name", "most_bands"), [often(n, b) for n in CASES for b in (1, 4)])
def test_traffic_is_what_a_replay_moves(name: str, most_bands: int) -> None:
    """Groups and ways to run them, the other operators alone, in just enough memory."""
    model = model_of(name, bands=most_bands)
    dag, every = Dag.from_graph(model.graph), [*groups_of(model)]
    for mask in random.Random(name).sample(every, min(cases(4, 48), len(every))):
        singles = [1 << i for i in range(dag.count) if not mask >> i & 1]
        order = executable(dag, [mask, *singles])
        assert order is not None
        least = [model.staircase(single)[0] for single in singles]
        ways = model.staircase(mask)
        banded = [way for way in ways if way.bands > 1]
        for way in {ways[0], ways[len(ways) // 2], ways[-1], *banded[::20]}:
            budget = max(p.buffer_bytes for p in (way, *least))
            chosen = {mask: way} | dict(zip(singles, least, strict=True))
            assert_moves(model, [(m, chosen[m]) for m in order], budget)


def assert_moves(model: GroupModel, groups: list[tuple[int, GroupPlan]], budget_bytes: int) -> None:
    graph = model.graph
    laid = lay_out(graph, [(model.group(m), way) for m, way in groups], budget_bytes)
    program = emit(graph, MACHINE, laid, budget_bytes)
    report = replay(graph, program)
    assert report.traffic_bytes == sum(way.traffic_bytes for _, way in groups)
    assert report.noncompulsory_bytes >= 0
    assert report.extent_bytes <= budget_bytes
    # Halos stay in line buffers, and nothing is computed twice beyond what rounding up adds; but
    # what is held by the channel is computed anew for each strip.
    computes = [item for item in program.instructions if isinstance(item, Compute)]
    assert report.macs >= graph.macs
    if not any(computed_anew(model.group(m), way) for m, way in groups):
        assert report.macs <= graph.macs + sum(len(item.writes) for item in computes)
    assert len(computes) >= len(graph.operators)


def computed_anew(group: Group, way: GroupPlan) -> bool:
    sliced = {group.tensors[i] for i in way.sliced}
    return way.bands > 1 or bool(sliced & set(group.made) - group.sinks)


@pytest.mark.parametrize("name", CASES)
def test_a_staircase_goes_down(name: str) -> None:
    model = model_of(name)
    for mask in groups_of(model):
        ways = model.staircase(mask)
        for low, high in zip(ways, ways[1:]):
            assert low.buffer_bytes < high.buffer_bytes
            assert low.traffic_bytes > high.traffic_bytes
        best = model.best(mask, ways[-1].buffer_bytes - 1)
        assert best == (ways[-2] if len(ways) > 1 else None)
        assert model.best(mask, ways[0].buffer_bytes - 1) is None
        roomy = model.roomiest(mask, ways[-1].buffer_bytes)
        assert roomy is not None
        assert roomy.traffic_bytes == ways[-1].traffic_bytes
        # No more than each operator's maps and parameters once, no less than what must cross.
        once = sum(model.graph.size_bytes(t) for t in crossing(model, mask))
        assert ways[-1].traffic_bytes <= once


def crossing(model: GroupModel, mask: int) -> list[str]:
    group = model.group(mask)
    parameters = [p for member in group.members for p in member.op.parameters]
    return [*group.loaded, *group.stored, *parameters]


@pytest.mark.parametrize("name", CASES)
def test_no_larger_group_needs_less_than_the_floor(name: str) -> None:
    model = model_of(name)
    floors = Floors(model.graph, model.tables)
    least = {m: model.staircase(m)[0].buffer_bytes for m in groups_of(model) if m.bit_count() > 1}
    for mask in least:
        for larger, buffer in least.items():
            if not mask & ~larger:
                assert floors(mask) <= buffer


def test_why_operators_stay_alone() -> None:
    model = model_of("tail")
    kinds = {op.kind: 1 << i for i, op in enumerate(model.graph.operators)}
    assert "all rows" in model.why_not(kinds["linear"] | kinds["adaptive_avg_pool2d"])
    assert model.why_not(0) == "no operators"
    assert model.why_not(kinds["linear"]) == ""
    residual = model_of("residual")
    ends = 1 | 1 << len(residual.graph.operators) - 1
    assert "comes back" in residual.why_not(ends)
    assert residual.staircase(ends) == ()


def test_groups_that_differ_in_names_only_are_evaluated_once() -> None:
    import torch

    net = torch.nn.Sequential(*(torch.nn.Conv2d(3, 3, 3, padding=1) for _ in range(6)))
    graph = sp.from_torch(net, (torch.randn(1, 3, 8, 8),))
    model = GroupModel(graph, MACHINE, {})
    pairs = [model.staircase(0b11 << i) for i in range(5)]
    # The graph's input and output are loaded and stored like any other map.
    assert pairs == [pairs[0]] * 5
    assert model.evaluations == 1


def test_what_is_known_of_groups_holds_no_flows() -> None:
    """Those are megabytes for each group, thousands of groups in a long search."""

    def flows() -> dict[int, Flow]:
        collect()
        return {id(each): each for each in get_objects() if type(each) is Flow}

    graph, before = graph_of("residual"), flows()  # what other tests may hold
    model = GroupModel(graph, MACHINE, {})
    assert all(model.staircase(1 << i) for i in range(len(graph.operators)))
    assert flows().keys() <= before.keys()


def test_local_layers_can_be_free_for_comparison() -> None:
    free, paid = model_of("chain", free_local_layers=True), model_of("chain")
    for i, op in enumerate(free.graph.operators):
        local = op.kind == "max_pool2d" or op.groups > 1
        assert (free.staircase(1 << i)[-1].traffic_bytes == 0) == local
        assert paid.staircase(1 << i)[-1].traffic_bytes > 0


@pytest.mark.parametrize("objective", ["traffic", "latency"])
def test_a_map_that_nothing_reads_is_not_stored(objective: str) -> None:
    """Also where its only operator runs in passes over channels."""
    shapes = {"x": (1, 3, 3, 2), "dead": (1, 3, 3, 2), "end": (1, 1, 3, 2)}
    tensors = {name: sp.Tensor(name, shape) for name, shape in shapes.items()}
    tensors["x"] = sp.Tensor("x", shapes["x"], "input")
    tensors["w"] = sp.Tensor("w", (3, 3, 3, 3), "parameter")
    tensors["v"] = sp.Tensor("v", (1, 3, 1, 1), "parameter")
    one: dict[str, tuple[int, int]] = {"stride": (1, 1), "dilation": (1, 1)}
    wide = {"kernel": (3, 3), "padding": (1, 1), **one}
    thin = {"kernel": (1, 1), "padding": (0, 0), **one}
    ops = (
        sp.Operator("wide", "conv2d", ("x",), ("dead",), ("w",), macs=486, **wide),
        sp.Operator("last", "conv2d", ("x",), ("end",), ("v",), macs=18, **thin),
    )
    graph = sp.Graph("dead", tensors, ops, ("x",), ("end",))
    for budget in (37, 80):
        plan = sp.plan(graph, "fusion", budget, objective=objective, time_limit=0.3)
        assert sp.check(plan).noncompulsory_bytes == plan.claims.noncompulsory_bytes
