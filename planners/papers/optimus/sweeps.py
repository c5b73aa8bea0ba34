"""Figures 16 and 19: traffic by the size of the buffer, and by the number of images at once."""

from __future__ import annotations

from collections.abc import Sequence

from planners.fusion.baselines.fusers import oracle
from planners.papers.optimus.bench import Bench
from planners.papers.optimus.costs import Accounting, PartitionCase, graph_of
from planners.papers.optimus.paper import IMAGES, KIB
from planners.papers.table import Row

BUFFERS_KIB = (16, 32, 64, 128, 256, 512, 1024, 2048)
BATCHES = (1, 2, 4, 8, 16, 32)

FUSERS: tuple[tuple[str, str, Accounting], ...] = (
    ("no fusion", "no_fusion", "program"),
    ("DNNVM", "dnnvm", "program"),
    ("Efficient-S", "efficient_s", "program"),
    ("Optimus", "optimus", "program"),
)
PRINTED: tuple[tuple[str, str, Accounting], ...] = (
    ("no fusion", "no_fusion", "printed"),
    ("DNNVM", "dnnvm", "printed, kept"),
    ("Efficient-S", "efficient_s", "printed, kept"),
    ("Optimus", "optimus", "printed"),
)


def buffer_rows(
    bench: Bench, networks: Sequence[str], kib: Sequence[int], printed: bool
) -> list[Row]:
    """Figure 16: a row for each network and size of the buffer; None where a layer does not fit."""
    rows = []
    for network in networks:
        least = oracle(graph_of(network, IMAGES)).objective_bytes
        lines = {
            name: bench.sweep(PartitionCase(network, fuser, how), [k * KIB for k in kib])
            for name, fuser, how in (PRINTED if printed else FUSERS)
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
            for name, fuser, how in PRINTED if printed else FUSERS:
                case = PartitionCase(network, fuser, how, images=images)
                traffic = bench.find(case).traffic_bytes
                row[name] = None if traffic is None else traffic / images
            least = oracle(graph_of(network, images)).objective_bytes
            rows.append(row | {"oracle": least / images, "gap": bench.find(case).gap})
    return rows
