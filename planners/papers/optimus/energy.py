"""Figures 13, 17 and 18: energy by where it goes, and latency, on arrays of processing elements.

DRAM is what the plans move; the chip is analysed by `planners.papers.optimus.array_energy`. Latency
is the sum over groups of the longer of its cycles and its DRAM time: double buffering hides the
other.
"""

from __future__ import annotations

from collections.abc import Sequence

from planners.core.machine import load_machine
from planners.core.masks import bits
from planners.papers.optimus.array_energy import DATAFLOWS, WORD_BYTES, Accesses, Array, accesses
from planners.papers.optimus.bench import Bench
from planners.papers.optimus.costs import Accounting, PartitionCase, graph_of
from planners.papers.optimus.paper import CHANNEL_TILE, KIB, TABLE_3
from planners.papers.table import Row

PARTS = ("DRAM", "buffer", "array", "register files", "MAC")
FUSERS: tuple[tuple[str, str, Accounting], ...] = (
    ("DNNVM", "dnnvm", "program"),
    ("Efficient-S", "efficient_s", "program"),
    ("online", "online", "program"),
    ("Optimus", "optimus", "program"),
)
PRINTED: tuple[tuple[str, str, Accounting], ...] = (
    ("DNNVM", "dnnvm", "printed, plain"),
    ("Efficient-S", "efficient_s", "printed, plain"),
    ("online", "online", "printed"),
    ("Optimus", "optimus", "printed"),
)


def rows(bench: Bench, networks: Sequence[str], printed: bool) -> list[Row]:
    """Figure 13: energy in MACs and seconds of each fuser on each network."""
    columns = PRINTED if printed else FUSERS
    return [
        {"network": network, "fuser": name}
        | measured(bench, PartitionCase(network, fuser, how), Array())
        for network in networks
        for name, fuser, how in columns
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


def ratios(found: Sequence[Row], fuser: str, what: str) -> dict[str, float]:
    """How many times Optimus's `what` a fuser has, by network."""
    by = {(row["network"], row["fuser"]): row.get(what) for row in found}
    names = dict.fromkeys(row["network"] for row in found)
    pairs = {name: (by[name, fuser], by[name, "Optimus"]) for name in names}
    return {name: a / b for name, (a, b) in pairs.items() if a and b}
