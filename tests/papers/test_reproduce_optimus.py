"""The Optimus comparison: the paper's equations by hand, chips by hand, what the report claims."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from math import ceil, sqrt
from pathlib import Path
from typing import Any

import pytest

import planners as sp
from planners.papers.memo import Memo
from planners.papers.optimus.array_accelerators import (
    LOWER_BOUND_BYTES,
    LoopNest,
    layer_by_layer,
    row_stationary,
    sums_stationary,
)
from planners.papers.optimus.array_energy import (
    DATAFLOWS,
    Accesses,
    Array,
    Loops,
    accesses,
    unrolled,
)
from planners.papers.optimus.bench import Bench
from planners.papers.optimus.claims import claims
from planners.papers.optimus.costs import PartitionCase, graph_of
from planners.papers.optimus.paper import EIGHT, TABLE_3, TABLE_4, TABLE_5
from planners.papers.optimus.printed_model import PrintedModel, Rules
from planners.papers.optimus.report import facts, report
from planners.papers.optimus.study import OptimusStudy, OptimusTables, reproduce, search_row
from planners.papers.optimus.workloads import cifar_resnet, workload


def conv(name: str, source: str, channels: tuple[int, int], kernel: int = 3) -> sp.Operator:
    window = ((kernel, kernel), (1, 1), (kernel // 2,) * 2, (1, 1))
    macs = channels[0] * channels[1] * kernel**2 * 8 * 8
    return sp.Operator(name, "conv2d", (source,), (name,), (f"w{name}",), macs, *window)


def chain(*channels: int) -> sp.Graph:
    """3×3 convolutions on maps of 8 × 8, two bytes an element."""
    tensors = {"x": sp.Tensor("x", (1, channels[0], 8, 8), "input")}
    ops, source = [], "x"
    for i, (before, after) in enumerate(pairwise(channels)):
        name = f"c{i}"
        tensors[name] = sp.Tensor(name, (1, after, 8, 8))
        tensors[f"w{name}"] = sp.Tensor(f"w{name}", (after, before, 3, 3), "parameter")
        ops.append(conv(name, source, (before, after)))
        source = name
    return sp.Graph("chain", tensors, tuple(ops), ("x",), (source,), 2)


def ways(model: PrintedModel, mask: int) -> dict[int, int]:
    return {way.buffer_bytes: way.traffic_bytes for way in model.staircase(mask)}


def test_equations_3_and_4_of_one_layer() -> None:
    # Rows of x and c0: 2·8·2 = 32 B and 4·8·2 = 64 B; the parameters are 2·4·9·2 = 144 B.
    found = ways(PrintedModel(chain(2, 4), Rules(early=False)), 1)
    maps = 2 * 64 * 2 + 4 * 64 * 2
    # One row of the output needs three of the input; eight tiles load the parameters each.
    assert found[3 * 32 + 64] == maps + 8 * 144
    # Two rows, four tiles; and one row with the parameters kept, once.
    assert found[4 * 32 + 2 * 64] == maps + 4 * 144
    assert found[3 * 32 + 64 + 144] == maps + 144
    assert min(found.values()) == maps + 144


def test_algorithm_2_holds_one_of_two_neighbours_by_the_channel() -> None:
    graph = chain(8, 8, 8)
    row = 8 * 8 * 2
    whole = min(ways(PrintedModel(graph, Rules(early=False)), 0b11))
    # One row at the end wants three of c0 and five of x.
    assert whole == (5 + 3 + 1) * row
    early = min(ways(PrintedModel(graph, Rules(channel_tile=2)), 0b11))
    # x and c1 by two of eight channels, c0 whole; or c0 alone, which saves less.
    assert early == (5 + 1) * row // 4 + 3 * row


def test_earlier_fusers_keep_the_parameters_of_groups() -> None:
    model = PrintedModel(chain(4, 4, 4), Rules(early_groups=False, refill=False))
    parameters = 2 * 4 * 4 * 9 * 2
    maps = 2 * 4 * 64 * 2
    assert set(ways(model, 0b11).values()) == {maps + parameters}
    assert min(ways(model, 0b11)) >= parameters
    assert max(ways(model, 0b01).values()) > maps + parameters // 2


def test_parameters_with_a_buffer_of_their_own_need_none_of_the_maps() -> None:
    graph = chain(2, 4)
    (found,) = PrintedModel(graph, Rules(early=False, weights_bytes=144)).staircase(1)
    assert (found.buffer_bytes, found.traffic_bytes) == (160, 256 + 512 + 144)
    small = ways(PrintedModel(graph, Rules(early=False, weights_bytes=143)), 1)
    assert small[160] == 256 + 512 + 8 * 144


def test_an_array_that_the_loops_fill_is_never_idle() -> None:
    loops = Loops(1, 32, 8, 16, 16, 3, 3)
    graph = chain(8, 16)
    for dataflow in DATAFLOWS:
        spread = unrolled(loops, Array(side=4, dataflow=dataflow))
        used = 1
        for n in spread.values():
            used *= n
        assert used <= 16
    found = accesses(graph, graph.operators[0], Array(side=4))
    assert found.cycles == found.macs / 16 == 8 * 16 * 9 * 64 / 16


def test_what_an_array_asks_the_buffer_for() -> None:
    graph = chain(8, 16)
    op = graph.operators[0]
    weights, outputs = 16 * 8 * 9, 16 * 64
    last = None
    for size in (32, 64, 128, 512):
        found = accesses(graph, op, Array(side=4, register_bytes=size))
        assert found.buffer >= weights + outputs
        assert found.buffer <= found.hops <= 4 * found.macs
        assert found.registers == 4 * found.macs + found.hops
        # Larger files hold more, and each arrival in one costs more.
        assert last is None or found.hops <= last
        last = found.hops


def test_energy_is_by_where_it_goes() -> None:
    found = Accesses(10.0, 4.0, 3.0, 7.0, 1.0) + Accesses(10.0)
    parts = found.energy(Array(register_bytes=64, buffer_kib=256), dram_words=2)
    assert parts == {
        "register files": pytest.approx(20 * 0.1),
        "array": 1.0,
        "buffer": 5 * 9.0,
        "DRAM": 400.0,
        "MAC": 7.0,
    }


@pytest.mark.parametrize("accelerator", list(TABLE_4))
def test_layer_by_layer_moves_all_at_least_once(accelerator: str) -> None:
    graph = graph_of("alexnet", 4)
    moved = layer_by_layer(graph, accelerator)
    for op, size in zip(graph.operators, moved, strict=True):
        once = sum(graph.size_bytes(t) for t in (*op.inputs, *op.parameters, *op.outputs))
        assert size >= once
        assert op.kind == "conv2d" or size == once


def least_of_any_order(layer: LoopNest) -> int:
    """What Chen et al. prove for large layers: 2·MACs/√(R·S) words in, and the outputs out.

    R is how often windows overlap, S the words on chip.
    """
    loops = layer.loops
    macs = loops.B * loops.K * loops.C * loops.Y * loops.X * loops.R * loops.S
    overlap = max(1.0, loops.R * loops.S / loops.stride**2)
    words = LOWER_BOUND_BYTES / layer.width
    return ceil(2 * macs / sqrt(overlap * words)) * layer.width + layer.outputs


def test_a_large_convolution_comes_near_its_bound() -> None:
    # 2·MACs / √(9·S) words are read.
    loops = Loops(4, 512, 512, 28, 28, 3, 3)
    size = 4 * 512 * 28 * 28 * 2
    layer = LoopNest(loops, size, 512 * 512 * 9 * 2, size, 28, 2)
    macs = 4 * 512 * 512 * 28 * 28 * 9
    read = 2 * macs / (9 * 66.5 * 1024 / 2) ** 0.5 * 2
    assert least_of_any_order(layer) == pytest.approx(read + size, abs=2)
    assert 1 <= sums_stationary(layer) / least_of_any_order(layer) < 1.2
    assert row_stationary(layer) >= least_of_any_order(layer) * 0.8


def test_networks_as_the_paper_counts_them() -> None:
    nasnet = workload("timm:nasnetalarge")
    assert not any(op.kind == "pad" for op in nasnet.operators)
    depthwise = sum(op.groups > 1 for op in nasnet.operators)
    rest = sum(
        op.kind in ("cat", "relu", "batch_norm", "linear", "adaptive_avg_pool2d")
        for op in nasnet.operators
    )
    assert len(nasnet.operators) - depthwise - rest == 456 == TABLE_5["timm:nasnetalarge"].operators
    assert len(cifar_resnet(20).operators) == 1 + 9 * 3 + 2
    assert len(TABLE_3) == 8
    assert all(set(row) == set(EIGHT) for row in TABLE_4.values())


def test_a_row_of_table_5() -> None:
    found = search_row(Bench(Memo(), 20.0), "vgg16")
    assert (found["operators"], found["groups"], found["downsets"]) == (18, 171, 19)
    assert found["top_down"] == found["bottom_up"] == found["bytes"]
    assert found["status"] == "optimal"
    assert found["online_more"] >= 0


def test_a_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    kept, heard = tmp_path / "kept.jsonl", []
    cases = [PartitionCase("alexnet", fuser) for fuser in ("no_fusion", "optimus")]
    first = [Bench(Memo(kept, heard.append), 10.0).find(case) for case in cases]
    assert len(heard) == 2
    assert [Bench(Memo(kept, heard.append), 10.0).find(case) for case in cases] == first
    assert len(heard) == 2
    assert first[1].traffic_bytes is not None
    assert first[1].bound_bytes <= first[1].traffic_bytes <= (first[0].traffic_bytes or 0)
    kept.write_text("no results\n")
    with pytest.raises(sp.BadInput, match="does not hold results"):
        Memo(kept)


def test_a_buffer_that_a_layer_does_not_fit_is_told() -> None:
    bench = Bench(Memo(), 10.0)
    small, large = bench.sweep(PartitionCase("alexnet"), [1000, 131072])
    assert small.traffic_bytes is None
    assert 1000 < small.need_bytes <= 131072
    assert large.status == "optimal"


@pytest.fixture(scope="module")
def tables() -> OptimusTables:
    study = replace(OptimusStudy.small().only(("alexnet",)), buffers_kib=(128, 512))
    return reproduce(study, Memo())


def test_the_columns_are_in_order(tables: OptimusTables) -> None:
    for rows in (tables.traffic, tables.traffic_free):
        (row,) = rows
        assert row["Optimus"] <= row["Efficient-S"] <= row["no fusion"]
        assert row["Optimus"] <= row["online"]
        assert row["Optimus"] <= row["w/o model"]
        assert row["DNNVM"] <= row["DNNVM, kept"]
    (row,) = tables.traffic
    assert row["oracle"] <= row["joint"] <= row["Optimus"]
    assert row["both"] <= row["2-D tiles"] <= row["Optimus"]
    (row,) = tables.traffic_printed
    assert row["Optimus"] <= row["w/o full space 2"] <= row["Efficient-S, kept"]
    assert row["Efficient-S, kept"] <= row["Efficient-S, plain"]
    (free,) = tables.traffic_printed_free
    assert free["Optimus"] <= row["Optimus"]


def test_a_program_moves_what_the_search_says(tables: OptimusTables) -> None:
    (row,) = tables.checked
    assert row["equal"]
    assert row["traffic"] == tables.traffic[0]["Optimus"]
    assert row["peak"] <= 128 * 1024


def test_energy_and_sweeps_follow_the_traffic(tables: OptimusTables) -> None:
    for row in (*tables.energy, *tables.energy_printed, *tables.dataflows, *tables.arrays):
        assert row["energy"]["DRAM"] == row["traffic"] / 2 * 200
        assert row["seconds"] >= row["computing"]
    for rows in (tables.buffers, tables.buffers_printed):
        assert [row["KiB"] for row in rows] == [128, 512]
        assert rows[0]["oracle"] <= rows[1]["Optimus"] <= rows[0]["Optimus"]
    for row in tables.accelerators:
        assert row["own layers"] <= min(row["program"], row["layer by layer"])


def test_a_report_has_all_tables_and_claims(tables: OptimusTables) -> None:
    text = str(report(tables, OptimusStudy.small()))
    for name in ("Table 4", "Table 5", "Figures 14 and 15", *(f"Figure {n}" for n in (13, 16, 19))):
        assert f"## {name}" in text
    assert "spillway reproduce optimus --quick" in text
    assert "O_w\\|C_out" in text
    found = facts(tables)
    assert {claim["verdict"].split(":")[0] for claim in found["claims"]} <= {
        "reproduced",
        "differs",
    }


def made_up(printed: int, kept: int) -> dict[str, Any]:
    names = ("DNNVM, plain", "Efficient-S, plain")
    row: dict[str, Any] = {"network": "alexnet", "Optimus": printed}
    return row | dict.fromkeys(names, 100) | {"DNNVM, kept": kept, "Efficient-S, kept": kept}


def test_claims_say_where_they_differ() -> None:
    found = claims(OptimusTables(traffic_printed=[made_up(50, 51)]))
    verdicts = {claim.what: claim.agrees for claim in found}
    assert [ok for what, ok in verdicts.items() if "DNNVM" in what] == [True, False]
    far = claims(OptimusTables(traffic_printed=[made_up(1, 100)]))
    assert not any(claim.agrees for claim in far)
