"""Figures 12 to 19: off-chip traffic by each fuser, programs replayed, energy and latency.

Traffic is in bytes, by buffer (Figure 16) and by images at once (Figure 19) too. DRAM is what the
plans move; the chip is analysed by `planners.papers.optimus.array_energy`. Latency is the sum over
groups of the longer of its cycles and its DRAM time: double buffering hides the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice

from planners.core.machine import load_machine
from planners.core.masks import bits
from planners.core.problem import Problem
from planners.core.progress import Clock
from planners.fusion.baselines.fusers import oracle
from planners.fusion.cost.group import GroupModel
from planners.fusion.options import FusionOptions
from planners.fusion.partition.cost_model import Partition
from planners.fusion.planner import plan_partition
from planners.papers.optimus.array_energy import DATAFLOWS, WORD_BYTES, Accesses, Array, accesses
from planners.papers.optimus.bench import Bench
from planners.papers.optimus.costs import Accounting, PartitionCase, graph_of
from planners.papers.optimus.paper import CHANNEL_TILE, IMAGES, KIB, TABLE_3
from planners.papers.report import Row, share_saved
from planners.simulator.simulate import simulate

BUFFERS_KIB = (16, 32, 64, 128, 256, 512, 1024, 2048)
BATCHES = (1, 2, 4, 8, 16, 32)
SWEPT = ("no fusion", "DNNVM", "Efficient-S", "Optimus")
MOST_INSTRUCTIONS = 60_000  # that a program replayed here may have
MEASURED = ("DNNVM", "Efficient-S", "online", "Optimus")
PARTS = ("DRAM", "buffer", "array", "register files", "MAC")


Fusers = Mapping[str, tuple[str, Accounting]]
"""Fuser and accounting by column."""

PROGRAM: Fusers = {
    "no fusion": ("no_fusion", "program"),
    "fused-layer": ("fused_layer", "program"),
    "DNNVM": ("dnnvm", "program"),
    "Efficient-S": ("efficient_s", "program"),
    "w/o model": ("optimus", "program, kept"),
    "online": ("online", "program"),
    "Optimus": ("optimus", "program"),
}
JOINT: Fusers = {
    "2-D tiles": ("tiles", "program"),
    "joint": ("joint", "program"),
    "both": ("tiles and joint", "program"),
}
KEPT: Fusers = {
    "DNNVM, kept": ("dnnvm", "program, kept"),
    "Efficient-S, kept": ("efficient_s", "program, kept"),
}
PRINTED: Fusers = {
    "no fusion, plain": ("no_fusion", "printed, plain"),
    "DNNVM, plain": ("dnnvm", "printed, plain"),
    "Efficient-S, plain": ("efficient_s", "printed, plain"),
    "no fusion": ("no_fusion", "printed"),
    "DNNVM, kept": ("dnnvm", "printed, kept"),
    "Efficient-S, kept": ("efficient_s", "printed, kept"),
    "w/o model": ("optimus", "printed, kept"),
    "w/o full space 1": ("dnnvm", "printed"),
    "w/o full space 2": ("efficient_s", "printed"),
    "online": ("online", "printed"),
    "Optimus": ("optimus", "printed"),
}


def fusers(printed: bool, names: Sequence[str], baselines: str) -> Fusers:
    """Some of the fusers: of programs, or of the equations with `baselines` kept or plain."""
    if not printed:
        return {name: PROGRAM[name] for name in names}
    kinds = {name: f"{name}, {baselines}" for name in ("DNNVM", "Efficient-S")}
    return {name: PRINTED[kinds.get(name, name)] for name in names}


def traffic_rows(
    bench: Bench,
    networks: Sequence[str],
    *,
    free_local: bool = False,
    printed: bool = False,
    joint: bool = False,
) -> list[Row]:
    """Traffic in bytes of each network by each fuser, with the proof of Optimus's, and, where
    `joint` asks for it, by what goes beyond the paper.
    """
    columns = PRINTED if printed else {**PROGRAM, **(JOINT if joint else {}), **KEPT}
    return [_traffic_row(bench, network, free_local, columns) for network in networks]


def _traffic_row(
    bench: Bench,
    network: str,
    free_local: bool,
    columns: Fusers,
) -> Row:
    row: Row = {"network": network}
    for name, (fuser, accounting) in columns.items():
        result = bench.find(PartitionCase(network, fuser, accounting, free_local=free_local))
        row[name] = result.traffic_bytes
        if name == "Optimus":
            row |= {"status": result.status, "gap": result.gap, "groups": len(result.groups)}
            row |= {"cap": result.cap, "need": result.need_bytes}
        if name == "both":
            row["both gap"] = result.gap
    return row | {"oracle": oracle(graph_of(network, 4)).objective_bytes}


def savings(rows: Sequence[Row], against: str) -> dict[str, float]:
    """The share that Optimus saves against a column, by network where both are there."""
    shares = {row["network"]: share_saved(row["Optimus"], row[against]) for row in rows}
    return {name: share for name, share in shares.items() if share is not None}


def buffer_rows(
    bench: Bench, networks: Sequence[str], kib: Sequence[int], printed: bool
) -> list[Row]:
    """Figure 16: a row for each network and size of the buffer; None where a layer does not fit."""
    rows = []
    for network in networks:
        least = oracle(graph_of(network, IMAGES)).objective_bytes
        lines = {
            name: bench.sweep(PartitionCase(network, fuser, how), [k * KIB for k in kib])
            for name, (fuser, how) in fusers(printed, SWEPT, "kept").items()
        }
        for i, k in enumerate(kib):
            row: Row = {"network": network, "KiB": k, "oracle": least}
            row |= {name: line[i].traffic_bytes for name, line in lines.items()}
            row |= {"gap": lines["Optimus"][i].gap, "need": lines["Optimus"][i].need_bytes}
            rows.append(row)
    return rows


def batch_rows(
    bench: Bench, networks: Sequence[str], batches: Sequence[int], printed: bool
) -> list[Row]:
    """Figure 19: bytes for each image, a row for each network and number of images at once."""
    rows = []
    for network in networks:
        for images in batches:
            row: Row = {"network": network, "images": images}
            for name, (fuser, how) in fusers(printed, SWEPT, "kept").items():
                case = PartitionCase(network, fuser, how, images=images)
                traffic = bench.find(case).traffic_bytes
                row[name] = None if traffic is None else traffic / images
            least = oracle(graph_of(network, images)).objective_bytes
            rows.append(row | {"oracle": least / images, "gap": bench.find(case).gap})
    return rows


def replayed_rows(bench: Bench, networks: Sequence[str]) -> list[Row]:
    """What the replay of Optimus's plan of each network moved, and its makespan; `traffic` is None
    of programs too long to replay here.

    Raises `InvalidPlan` where a plan is not right.
    """
    return [_replayed_row(bench, PartitionCase(network)) for network in networks]


def _replayed_row(bench: Bench, case: PartitionCase) -> Row:
    """One plan, replayed, unless it is kept from before."""
    result = bench.find(case)
    if result.traffic_bytes is None:
        return {"network": case.network, "traffic": None}
    key = ["check", *case, result.traffic_bytes]
    kept: Row = bench.memo.result(key, lambda: _replayed(bench, case))
    return kept


def _replayed(bench: Bench, case: PartitionCase) -> Row:
    result, model = bench.find(case), bench.base(case).model
    assert isinstance(model, GroupModel)
    chosen = FusionOptions.from_values({"channel_tile": case.channel_tile})
    partition = Partition(result.groups, result.traffic_bytes or 0, result.bound_bytes, "feasible")
    request = Problem(model.graph, model.machine, case.budget_bytes, chosen, Clock(600.0))
    plan = plan_partition(request, model, partition)
    if len(list(islice(plan.program.instructions, MOST_INSTRUCTIONS + 1))) > MOST_INSTRUCTIONS:
        return {"network": case.network, "traffic": None}
    trace = simulate(plan)
    return {
        "network": case.network,
        "traffic": trace.traffic_bytes,
        "equal": trace.traffic_bytes == result.traffic_bytes,
        "peak": trace.peak_bytes,
        "makespan_s": trace.makespan_s,
        "instructions": len(trace.intervals),
    }


def energy_rows(bench: Bench, networks: Sequence[str], printed: bool) -> list[Row]:
    """Figure 13: energy in MACs and seconds of each fuser on each network."""
    return [
        {"network": network, "fuser": name}
        | measured(bench, PartitionCase(network, fuser, how), Array())
        for network in networks
        for name, (fuser, how) in fusers(printed, MEASURED, "plain").items()
    ]


def dataflow_rows(bench: Bench, network: str, registers: Sequence[int]) -> list[Row]:
    """Figure 17: Optimus on each dataflow, with register files of so many bytes."""
    table = []
    for dataflow, axes in DATAFLOWS.items():
        # T_c: the channels that the array wants at once.
        tile = CHANNEL_TILE if any(axis[0] in "KC" for axis in axes) else 1
        for size in registers:
            array = Array(register_bytes=size, dataflow=dataflow)
            row = measured(bench, PartitionCase(network, channel_tile=tile), array)
            table.append({"dataflow": dataflow, "register bytes": size} | row)
    return table


def array_rows(bench: Bench, network: str) -> list[Row]:
    """Figure 18: Optimus in the eight configurations of Table 3."""
    table = []
    for number, (side, registers, kib) in enumerate(TABLE_3, 1):
        case = PartitionCase(network, budget_bytes=kib * KIB, channel_tile=side)
        row = measured(bench, case, Array(side, registers, kib))
        what = f"{side} × {side}, {registers} B, {kib} KB"
        table.append({"network": network, "config": number, "what": what} | row)
    return table


def measured(bench: Bench, case: PartitionCase, array: Array) -> Row:
    """Bytes moved, energy by part and seconds of a case; nothing where it does not fit."""
    result = bench.find(case)
    if result.traffic_bytes is None:
        return {"traffic": None, "need": result.need_bytes}
    graph, machine = graph_of(case.network, case.images), load_machine("optimus")
    bytes_per_s = machine.memory(machine.offchip).read_bytes_per_s
    total, seconds, busy = Accesses(), 0.0, 0.0
    for mask in result.groups:
        way = bench.way(case, mask)
        # Passes over the channels bring different weights each time.
        tiles = max(1, way.strips // getattr(way, "channel_passes", 1))
        of_group = sum((accesses(graph, graph.operators[i], array, tiles) for i in bits(mask)),
                       Accesses())  # fmt: skip
        computing = of_group.cycles / machine.clock_hz
        seconds += max(computing, way.traffic_bytes / bytes_per_s)
        busy += computing
        total += of_group
    energy = total.energy(array, result.traffic_bytes / WORD_BYTES)
    return {
        "traffic": result.traffic_bytes,
        "seconds": seconds,
        "computing": busy,
        "energy": energy,
        "without MAC": sum(energy.values()) - energy["MAC"],
    }


def ratios(rows: Sequence[Row], fuser: str, what: str) -> dict[str, float]:
    """How many times Optimus's `what` a fuser has, by network."""
    by = {(row["network"], row["fuser"]): row.get(what) for row in rows}
    names = dict.fromkeys(row["network"] for row in rows)
    pairs = {name: (by[name, fuser], by[name, "Optimus"]) for name in names}
    return {name: a / b for name, (a, b) in pairs.items() if a and b}
