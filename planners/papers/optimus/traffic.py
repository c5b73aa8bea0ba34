"""Figures 14 and 15: off-chip traffic of the networks by each fuser, and what each idea brings."""

from __future__ import annotations

from collections.abc import Sequence

from planners.fusion.baselines.fusers import oracle
from planners.papers.optimus.bench import Bench
from planners.papers.optimus.costs import Accounting, PartitionCase, graph_of
from planners.papers.table import Row, share_saved

# Column, fuser and accounting: first what runs, then the paper's arithmetic.
PROGRAM: tuple[tuple[str, str, Accounting], ...] = (
    ("no fusion", "no_fusion", "program"),
    ("fused-layer", "fused_layer", "program"),
    ("DNNVM", "dnnvm", "program"),
    ("Efficient-S", "efficient_s", "program"),
    ("w/o model", "optimus", "program, kept"),
    ("online", "online", "program"),
    ("Optimus", "optimus", "program"),
)
JOINT: tuple[tuple[str, str, Accounting], ...] = (
    ("2-D tiles", "tiles", "program"),
    ("joint", "joint", "program"),
    ("both", "tiles and joint", "program"),
)
KEPT: tuple[tuple[str, str, Accounting], ...] = (
    ("DNNVM, kept", "dnnvm", "program, kept"),
    ("Efficient-S, kept", "efficient_s", "program, kept"),
)
PRINTED: tuple[tuple[str, str, Accounting], ...] = (
    ("no fusion, plain", "no_fusion", "printed, plain"),
    ("DNNVM, plain", "dnnvm", "printed, plain"),
    ("Efficient-S, plain", "efficient_s", "printed, plain"),
    ("no fusion", "no_fusion", "printed"),
    ("DNNVM, kept", "dnnvm", "printed, kept"),
    ("Efficient-S, kept", "efficient_s", "printed, kept"),
    ("w/o model", "optimus", "printed, kept"),
    ("w/o full space 1", "dnnvm", "printed"),
    ("w/o full space 2", "efficient_s", "printed"),
    ("online", "online", "printed"),
    ("Optimus", "optimus", "printed"),
)


def rows(
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
    columns = PRINTED if printed else (*PROGRAM, *JOINT * joint, *KEPT)
    return [_row(bench, network, free_local, columns) for network in networks]


def _row(
    bench: Bench,
    network: str,
    free_local: bool,
    columns: Sequence[tuple[str, str, Accounting]],
) -> Row:
    row: Row = {"network": network}
    for name, fuser, accounting in columns:
        result = bench.find(PartitionCase(network, fuser, accounting, free_local=free_local))
        row[name] = result.traffic_bytes
        if name == "Optimus":
            row |= {"status": result.status, "gap": result.gap, "groups": len(result.groups)}
            row |= {"cap": result.cap, "need": result.need_bytes}
        if name == "both":
            row["both gap"] = result.gap
    return row | {"oracle": oracle(graph_of(network, 4)).objective_bytes}


def savings(found: Sequence[Row], against: str) -> dict[str, float]:
    """The share that Optimus saves against a column, by network where both are there."""
    shares = {row["network"]: share_saved(row["Optimus"], row[against]) for row in found}
    return {name: share for name, share in shares.items() if share is not None}
