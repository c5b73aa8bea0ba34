"""The time of a compute instruction, by hand: maps, rates and ports of an array."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest

import planners as sp
from planners.core.compute_maps import ComputeMap, ComputePorts
from planners.core.compute_seconds import ComputeSeconds, seconds_by_port
from planners.core.graph import Graph, Operator, Part, Tensor
from planners.core.machine import Machine
from planners.core.program import Box, Piece

IDEAL = replace(sp.load_machine("npu_ideal"), clock_hz=1e9)
ETHOS = (
    ComputeMap(("dense",), (2, 2), outputs=8, inputs=32, kernel=1, cycles=4, hold_cycles=32),
    ComputeMap(("dense",), (2, 2), outputs=8, inputs=8, kernel=4, cycles=4, hold_cycles=32),
    ComputeMap(("depthwise",), (2, 2), outputs=8, kernel=4, cycles=4, hold_cycles=32),
    ComputeMap(("pool",), (2, 2), outputs=8, kernel=1, cycles=1),
)
"""An array as large as an Ethos-U55-256's, with both of its ways for dense convolutions."""
SQUARE = (
    ComputeMap(("dense",), outputs=16, inputs=16),
    ComputeMap(("depthwise",), outputs=16),
)


def machine(*maps: ComputeMap, **rates: float) -> Machine:
    """A machine of 1 GHz, so that a nanosecond is a cycle."""
    return replace(IDEAL, compute_maps=maps, compute_rates=rates)


def graph_of(
    kind: str,
    data: tuple[int, ...],
    out: tuple[int, ...],
    macs: int,
    weight: tuple[int, ...] = (),
    **more: Any,
) -> Graph:
    tensors = [Tensor("data", data, "input"), Tensor("out", out)]
    tensors += [Tensor("weight", weight, "parameter")] if weight else []
    names = ("weight",) if weight else ()
    op = Operator("op", kind, ("data",), ("out",), names, macs=macs, **more)
    return Graph("one", {t.name: t for t in tensors}, (op,), ("data",), ("out",))


def conv(
    channels: int, outputs: int, size: tuple[int, int], kernel: int = 3, groups: int = 1, n: int = 1
) -> Graph:
    window = {"kernel": (kernel,) * 2, "stride": (1, 1), "padding": (kernel // 2,) * 2}
    macs = n * outputs * size[0] * size[1] * kernel**2 * channels // groups
    return graph_of(
        "conv2d",
        (n, channels, *size),
        (n, outputs, *size),
        macs,
        (outputs, channels // groups, kernel, kernel),
        **window,
        dilation=(1, 1),
        groups=groups,
    )


def cycles(graph: Graph, on: Machine, box: Box | None = None, sums: Any = None) -> float:
    """Of all of a graph's operator, or of the part that makes a box."""
    op = graph.operators[0]
    box = box or tuple((0, n) for n in graph.tensors["out"].shape)
    macs = op.macs * Piece("out", box).elements // graph.tensors["out"].elements
    return 1e9 * ComputeSeconds(graph, on).array_s("op", [Piece("out", box)], sums, macs)


DENSE = machine(ETHOS[0])


@pytest.mark.parametrize(
    ("graph", "on", "expected"),
    [
        # 3 of 32 input channels: 4 × 4 steps of pixels, 2 of outputs, 9 of the window, 4 cycles.
        pytest.param(conv(3, 16, (8, 8)), DENSE, 16 * 2 * 9 * 4, id="3 of 32 inputs"),
        # The other way takes 8 channels and 4 of the window: 3 steps for 9.
        pytest.param(conv(3, 16, (8, 8)), machine(*ETHOS), 16 * 2 * 3 * 4, id="the quicker way"),
        # One pixel on 2 × 2, and a weight stays for 32 cycles: 8 outputs and 32 inputs at a time.
        pytest.param(conv(64, 64, (1, 1), 1), DENSE, 8 * 2 * 32, id="1 x 1 on 2 x 2"),
        pytest.param(conv(64, 64, (7, 8), 1), DENSE, 8 * 2 * 4 * 4 * 4, id="7 rows on 2 x 2"),
        # Of 3 × 3 two steps each way of 2 × 2: 4 of 4 cycles, less than a weight stays.
        pytest.param(conv(64, 64, (3, 3), 1), DENSE, 8 * 2 * 32, id="weights that stay"),
        pytest.param(conv(64, 64, (8, 8), 1, n=3), DENSE, 8 * 2 * 12 * 4 * 4, id="three images"),
        # Depthwise: 24 channels in 3 steps, 9 of the window in 3, 5 × 5 pixels in 9.
        pytest.param(
            conv(24, 24, (5, 5), groups=24), machine(*ETHOS), 3 * 3 * 9 * 4, id="depthwise"
        ),
        pytest.param(
            conv(24, 24, (5, 5), groups=24), machine(*SQUARE), 2 * 9 * 25, id="on a diagonal"
        ),
        # Without a way of its own each channel is a group, of 1 output and 1 input.
        pytest.param(
            conv(24, 24, (5, 5), groups=24), machine(SQUARE[0]), 24 * 9 * 25, id="as groups"
        ),
        # 4 groups of 6 outputs and 5 inputs: each takes a step of its own.
        pytest.param(conv(20, 24, (4, 4), groups=4), machine(*SQUARE), 4 * 9 * 16, id="groups"),
        # One image: 1 of 2 × 2 pixels; 1000 outputs in 125 steps, 512 inputs in 16.
        pytest.param(
            graph_of("linear", (1, 512), (1, 1000), 512_000), DENSE, 125 * 16 * 32, id="one row"
        ),
        pytest.param(
            graph_of("linear", (1, 197, 64), (1, 197, 80), 197 * 64 * 80),
            machine(*SQUARE),
            5 * 4 * 197,
            id="tokens",
        ),
        # 12 heads of 50 × 64 times 64 × 50: what is held is another for each head.
        pytest.param(
            graph_of("matmul", (12, 50, 64), (12, 50, 50), 12 * 50 * 50 * 64),
            machine(*SQUARE),
            12 * 4 * 4 * 50,
            id="heads",
        ),
        # 2 × 2 windows of 16 channels over 4 × 4: 4 steps of pixels, 2 of channels, 4 of windows.
        pytest.param(
            graph_of(
                "max_pool2d",
                (1, 16, 8, 8),
                (1, 16, 4, 4),
                0,
                kernel=(2, 2),
                stride=(2, 2),
                padding=(0, 0),
                dilation=(1, 1),
            ),
            machine(*ETHOS),
            4 * 2 * 4,
            id="pool",
        ),
        # All of a map to one pixel: its window is the map.
        pytest.param(
            graph_of("adaptive_avg_pool2d", (1, 8, 7, 7), (1, 8, 1, 1), 0),
            machine(*ETHOS),
            49,
            id="all of a map",
        ),
        # What comes after the array: the slowest of what an operator does.
        pytest.param(
            graph_of("add", (1, 8, 4, 4), (1, 8, 4, 4), 0), machine(add=0.5), 256, id="add"
        ),
        pytest.param(
            graph_of("sigmoid", (1, 8, 4, 4), (1, 8, 4, 4), 0),
            machine(default=4, lut=1),
            128,
            id="looked up",
        ),
        pytest.param(
            graph_of("relu", (1, 8, 4, 4), (1, 8, 4, 4), 0),
            machine(default=4, lut=1),
            32,
            id="relu",
        ),
        pytest.param(conv(16, 16, (4, 4), 1), machine(*SQUARE, default=4), 64, id="outputs leave"),
        pytest.param(conv(16, 16, (4, 4), 1), machine(default=1e9), 16 * 256 / 256, id="no map"),
    ],
)
def test_cycles_by_hand(graph: Graph, on: Machine, expected: float) -> None:
    assert cycles(graph, on) == pytest.approx(expected, rel=1e-12)


def test_a_part_rounds_its_own_axes_up() -> None:
    graph, on = conv(64, 64, (8, 8), 1), DENSE
    one, both = ((0, 1), (0, 64), (0, 7), (0, 8)), ((0, 1), (0, 64), (0, 8), (0, 8))
    assert cycles(graph, on, one) == cycles(graph, on, both) == 8 * 2 * 16 * 4
    # 12 channels from the middle of one step to the middle of another: where they lie is the same.
    some = [((0, 1), (first, first + 12), (0, 8), (0, 8)) for first in (0, 4, 20)]
    assert {cycles(graph, on, box) for box in some} == {2 * 2 * 16 * 4}
    # Half of the input channels: one step of 32.
    assert cycles(graph, on, both, (0, 32)) == 8 * 1 * 16 * 4


def test_where_channels_lie_matters_where_groups_part_them() -> None:
    graph, on = conv(64, 64, (4, 4), groups=2), machine(*SQUARE)
    inside, across = (((0, 1), (first, first + 16), (0, 4), (0, 4)) for first in (0, 24))
    assert cycles(graph, on, inside) == 1 * 2 * 9 * 16
    assert cycles(graph, on, across) == 2 * 2 * 9 * 16  # 8 channels of each group


def test_a_kind_of_its_own_is_taken_where_there_is_one() -> None:
    pointwise = ComputeMap(("pointwise",), cycles=0.5)
    on = machine(ComputeMap(("dense", "linear"), cycles=3.0), pointwise)
    assert cycles(conv(4, 4, (2, 2), 1), on) == 0.5 * 64
    assert cycles(conv(4, 4, (2, 2), 3), on) == 3 * 64 * 9
    assert cycles(graph_of("linear", (1, 8), (1, 8), 64), on) == 3 * 64


def test_elements_that_are_moved_after_a_product_have_no_rows() -> None:
    parts = (
        Part("c", "conv2d", (1, 32, 8, 8), ("data",), ("window",)),
        Part("out", "permute", (1, 8, 8, 32), ("c",), ("permute", 0, 2, 3, 1)),
    )
    graph = conv(16, 32, (8, 8), 1)
    op = replace(graph.operators[0], parts=parts)
    tensors = {**graph.tensors, "out": Tensor("out", (1, 8, 8, 32))}
    moved = replace(graph, tensors=tensors, operators=(op,))
    assert cycles(moved, DENSE) == 4 * 16 * 4  # all of it: as it is multiplied
    half = ((0, 1), (0, 4), (0, 8), (0, 32))
    assert cycles(moved, DENSE, half) == 4 * 16 * 4  # 32 pixels in a row, on rows of two


def test_ports_read_side_by_side_and_one_port_reads_and_writes_in_turn() -> None:
    read, written = {"scratchpad": 3.0, "host": 2.0}, {"scratchpad": 4.0}

    def seconds(**ports: Any) -> float:
        on = replace(IDEAL, compute_ports=ComputePorts(**ports))
        return float(seconds_by_port(read, written, on, max))

    assert seconds() == 5
    assert seconds(parallel=(("scratchpad",), ("host",))) == 4
    assert seconds(parallel=(("host",),)) == 4  # what no group names is a group
    assert seconds(parallel=(("scratchpad",), ("host",)), shared=("scratchpad",)) == 7
    assert seconds(shared=("scratchpad",)) == 9


def test_weights_that_are_compressed_cross_a_port_sooner() -> None:
    tensors = [
        Tensor("data", (1, 64), "input"),
        Tensor("weight", (32, 64), "parameter", compressed=0.25),
        Tensor("out", (1, 32)),
    ]
    op = Operator("op", "linear", ("data",), ("out",), ("weight",), macs=2048)
    graph = Graph("one", {t.name: t for t in tensors}, (op,), ("data",), ("out",))
    for weights, part in ((1.0, 1.0), (0.5, 0.5), ("entropy", 0.25)):
        on = replace(IDEAL, compute_ports=ComputePorts(weights=weights))
        found = ComputeSeconds(graph, on)
        assert found.crossing("weight", "host") == part
        assert found.crossing("weight", "scratchpad") == found.crossing("data", "host") == 1
    assert Graph.from_json(graph.to_json()) == graph


def test_no_parts_of_an_operator_are_quicker_than_its_least() -> None:
    draw = Random(57)
    for _ in range(300):
        groups = draw.choice([1, 1, 2, 4, 24])
        graph = conv(
            24, 24, (draw.randint(1, 9), draw.randint(1, 9)), draw.choice([1, 3]), groups=groups
        )
        maps = [
            ComputeMap(
                (draw.choice(["dense", "depthwise"]),),
                (draw.randint(1, 3), draw.randint(1, 3)),
                draw.randint(1, 9),
                draw.randint(1, 9),
                draw.randint(1, 5),
                draw.choice([1, 4]),
                draw.choice([0, 40]),
            )
            for _ in range(draw.randint(0, 3))
        ]
        on = machine(*maps, default=draw.choice([1.0, 8.0, 1e9]))
        op, shape = graph.operators[0], graph.tensors["out"].shape
        cuts = [sorted({0, n, draw.randint(0, n)}) for n in shape[1:]]
        ends = [list(zip(cut, cut[1:], strict=False)) for cut in cuts]
        boxes = [((0, 1), c, h, w) for c in ends[0] for h in ends[1] for w in ends[2]]
        parts = sum(cycles(graph, on, box) for box in boxes)
        assert parts >= 1e9 * ComputeSeconds(graph, on).least_s(op) * (1 - 1e-12)


FAULTS = {
    "an axis of 0": (
        {"compute_maps": [{"kinds": ["dense"], "inputs": 0}]},
        "inputs must be a whole",
    ),
    "a part of a lane": (
        {"compute_maps": [{"kinds": ["dense"], "outputs": 1.5}]},
        "outputs must be",
    ),
    "no kind": ({"compute_maps": [{"kinds": []}]}, "kinds names none"),
    "kinds missing": ({"compute_maps": [{"outputs": 8}]}, "field 'kinds' is missing"),
    "an unknown kind": (
        {"compute_maps": [{"kinds": ["wide"]}]},
        "'wide' is not a kind of operator",
    ),
    "one pixel axis": (
        {"compute_maps": [{"kinds": ["dense"], "pixels": [2]}]},
        "pixels must be two",
    ),
    "an unknown field": ({"compute_maps": [{"kinds": ["dense"], "output": 8}]}, "mean 'outputs'"),
    "no cycles": ({"compute_maps": [{"kinds": ["dense"], "cycles": 0}]}, "cycles must be a finite"),
    "cycles of NaN": (
        {"compute_maps": [{"kinds": ["dense"], "cycles": float("nan")}]},
        "cycles must",
    ),
    "no list": ({"compute_maps": {"kinds": ["dense"]}}, "compute_maps must be a list of tables"),
    "a rate of NaN": (
        {"compute_rates": {"add": float("nan")}},
        "compute_rates.add must be a finite",
    ),
    "a rate of 0": ({"compute_rates": {"add": 0}}, "compute_rates.add must be above zero"),
    "a rate of words": ({"compute_rates": {"add": "fast"}}, "add must be a number"),
    "no port": ({"compute_ports": {"parallel": [["rom"]]}}, "compute_ports names no memory: 'rom'"),
    "two ports": ({"compute_ports": {"parallel": [["host"], ["host"]]}}, "'host' is in two groups"),
    "names, no groups": (
        {"compute_ports": {"parallel": ["host"]}},
        "parallel must be a list of names",
    ),
    "weights of 0": ({"compute_ports": {"weights": 0}}, "weights must be a number above 0"),
    "unknown weights": ({"compute_ports": {"weights": "zip"}}, "weights must be a number above 0"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_makes_no_sense_in_a_machine_file_is_told_in_a_line(fault: str) -> None:
    table, words = FAULTS[fault]
    with pytest.raises(sp.BadInput) as told:
        Machine.from_json({**IDEAL.to_json(), **table})
    assert words in str(told.value)
    assert "\n" not in str(told.value)


def test_an_array_reads_its_inputs_again_for_each_run_of_outputs() -> None:
    dense = ComputeSeconds(conv(20, 40, (4, 4)), machine(*SQUARE))
    box = ((0, 1), (0, 40), (0, 4), (0, 4))
    assert dense.input_reads("op", box, None) == 3
    assert dense.input_reads("op", ((0, 1), (0, 16), (0, 4), (0, 4)), None) == 1
    each = ComputeSeconds(conv(40, 40, (4, 4), groups=40), machine(*SQUARE))
    assert each.input_reads("op", box, None) == 1
    assert ComputeSeconds(conv(20, 40, (4, 4)), IDEAL).input_reads("op", box, None) == 1


def test_what_is_read_again_and_what_leaks_are_energy_and_no_traffic() -> None:
    graph = conv(20, 40, (4, 4))
    on = replace(machine(*SQUARE), leakage_w=0.5)
    plan, before = (sp.plan(graph, "cosma", 10**6, each) for each in (on, IDEAL))
    found, ideal = sp.simulate(plan), sp.simulate(before)
    assert found.traffic_bytes == ideal.traffic_bytes
    assert found.energy["leakage"] == pytest.approx(0.5 * found.makespan_s)
    onchip = on.memory(on.onchip)
    twice = 2 * graph.size_bytes("data") * onchip.read_pj_per_byte * 1e-12
    more = found.energy[on.onchip] - ideal.energy[on.onchip]
    assert more == pytest.approx(twice)
    assert "leakage" not in ideal.energy
    assert Machine.from_json(on.to_json()) == on
    with pytest.raises(sp.BadInput, match="leakage_w must be a finite number"):
        replace(on, leakage_w=float("nan"))
