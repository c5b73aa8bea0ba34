"""The Optimus comparison as Markdown: what it shows first, then how to read it, then the tables."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from planners.papers.optimus import tables as tables_of
from planners.papers.optimus.claims import claims
from planners.papers.optimus.study import OptimusStudy, OptimusTables
from planners.papers.report import how, table, written

READING = """\
## How to read it

Batch 4, 16 bits, 128 KB, a 16 × 16 array (T_c = 16), all traffic counted: parameters too, and every
operator reads and writes its maps. MB are millions of bytes. *Proven*: no partition of the network
into fused groups moves less at these costs; a gap says how much less none can move.

| accounting | a group costs | layers alone |
|---|---|---|
| **programs** | what its program moves, byte by byte; every piece has an address | the best \
program there is |
| **programs, kept** | the same, but all parameters of a group stay on chip | the best program |
| **equations** | eq. 3 with the tiles of eq. 4 and Algorithm 2, as printed: refilled parameters \
have no place in the buffer, and halos of maps held by the channel are free | the same equations |
| **kept** (w/o model) | input, output and parameters once, where all fit (the costs of the \
earlier fusers) | as Optimus's |
| **plain** | the same | eq. 3 without Algorithm 2 |

* *Fused-layer* fuses chains; *DNNVM* paths without branch operators (the space of *w/o full space
  1*); *Efficient-S* neighbours in one order of all operators (*w/o full space 2*). Each is the best
  of its space, found exactly: no heuristic of theirs is copied.
* *Programs against its costs as in the paper* sets what runs here beside what the equations (kept)
  give the baselines: two accountings. Much of what it shows is better layers alone, and tiles, not
  which groups: the row with one cost model for all says how much is.
* Not the paper's: *2-D tiles* may cut maps into up to 8 bands of columns, *joint* decides groups
  and what stays on chip between them together, *both* does both.
* *Oracle*: everything once. No partition reaches it where maps must leave the chip.
* MobileNet is V2 (the paper cites V1), AlexNet torchvision's; AlexNet and VGG16 are without their
  classifiers, which makes the paper's 18 operators of VGG16. ResNet-1202 is CIFAR's, on 32 × 32.
* The paper's figures are not in numbers: only what its text says of them can be compared."""

ENERGY = """\
Energy in MACs (10⁹), each access at the artefact's cost: DRAM 200, buffer 6, hop 0.25, register
file 0.1 (64 B), MAC 1. DRAM is what the plan moves; the chip is an analysis in the style of Eyeriss
(`planners/papers/optimus/array_energy.py`). *Ratios* are to Optimus, energy without the MACs.
Latency is the sum over groups of the longer of array cycles and DRAM time at 6.4 GB/s: double
buffering hides the
other. *DRAM-bound* is the share of time in which the array waits."""

TABLE_4 = """\
Percent saved. The paper does not say how its layer-by-layer baselines run; these are assumed
(`planners/papers/optimus/array_accelerators.py`), each layer at its best tiles, without
compression:

* *Eyeriss*: row-stationary; sums of some channels in a buffer of 100 KB, filters beside it.
* *ShiDianNao*: output-stationary; 64 KB in, 64 KB out, 128 KB of synapses (sizes recalled).
* *lower bound*: sums-stationary in 66.5 KB (recalled), which comes near the least of any order of
  one convolution that its authors prove.

*Programs* use the buffer as one pool. *Own layers*: a layer alone may run as the accelerator runs
it, which no program here stands for. ShiDianNao's buffers are kept apart in the equations only."""


def report(tables: OptimusTables, study: OptimusStudy) -> str:
    """The whole report of a study."""
    parts = [
        "# Optimus, reproduced",
        how("optimus", study.quick),
        _summary(tables),
        _replayed(tables),
        READING,
        "## Table 5: groups and search",
        _TABLE_5.format(same=_same(tables)),
        tables_of.search(tables.search),
        *_traffic(tables),
        *_energy(tables),
        *_sweeps(tables),
        "## Table 4: three accelerators",
        TABLE_4,
        tables_of.accelerators(tables.accelerators),
    ]
    return written(parts)


def facts(tables: OptimusTables) -> dict[str, Any]:
    """The same as one JSON object: all rows, and the claims."""
    statements = [
        {"what": c.what, "paper": c.paper, "here": c.ours, "agrees": c.agrees}
        | {"because": c.remark, "verdict": c.verdict}
        for c in claims(tables)
    ]
    return asdict(tables) | {"claims": statements}


_TABLE_5 = """\
*Groups* are all convex sets of operators; *fit* those within 128 KB that the search was offered.
*Search* is ours (shortest path over downsets) with every cost known, *with costs* from nothing;
*Algorithm 1* is the paper's, over the groups that fit, costs known{same}.
The paper's milliseconds are those of a Core i7-6700; ours of Python, CPU time of one core of the
machine that ran this. Where the clock ended the search, the online variant may move less.
*Online* has its look-up table built before, as in the paper."""


def _same(tables: OptimusTables) -> str:
    """Whether the paper's algorithm reaches the traffic of ours, where it was run."""
    both = [row for row in tables.search if "bottom_up" in row]
    same = sum(row["bottom_up"] == row["top_down"] == row["bytes"] for row in both)
    return f": the same traffic in {same} of {len(both)}" if both else ""


def _summary(tables: OptimusTables) -> str:
    head = ["the paper states", "paper", "here", "verdict"]
    rows = [[c.what, c.paper, c.ours, c.verdict] for c in claims(tables)]
    return "## What it shows\n\n" + table(head, rows, texts=4)


def _replayed(tables: OptimusTables) -> str:
    done = [row for row in tables.checked if row.get("traffic") is not None]
    if not done:
        return ""
    same = sum(row["equal"] for row in done)
    text = (
        f"Replayed by `check`, byte by byte: Optimus's programs of {len(done)} networks at batch "
        f"4; {same} moved exactly what the search said. Longer programs are left out here. "
        "Makespan on the scoreboard, beside the sum over groups that Figure 13 uses:"
    )
    by = {r["network"]: r["seconds"] for r in tables.energy if r["fuser"] == "Optimus"}
    body = [
        [
            row["network"],
            f"{row['traffic']:,}",
            f"{row['instructions']:,}",
            f"{1000 * row['makespan_s']:.2f}",
            f"{1000 * by[row['network']]:.2f}",
        ]
        for row in done
    ]
    head = ["network", "bytes moved", "instructions", "scoreboard, ms", "Figure 13, ms"]
    return text + "\n\n" + table(head, body)


def _traffic(tables: OptimusTables) -> list[str]:
    kept = ["no fusion", "fused-layer", "DNNVM", "Efficient-S", "DNNVM, kept"]
    kept += ["Efficient-S, kept", "w/o model"]
    printed = ["no fusion, plain", "DNNVM, plain", "Efficient-S, plain", "no fusion"]
    printed += ["DNNVM, kept", "Efficient-S, kept", "w/o model"]
    printed += ["w/o full space 1", "w/o full space 2"]
    parts = ["## Figures 14 and 15: off-chip traffic, MB"]
    for title, rows, against in (
        ("Programs: one cost model and the best layers for all", tables.traffic, kept),
        ("The paper's equations", tables.traffic_printed, printed),
    ):
        parts += [f"### {title}", tables_of.traffic(rows), tables_of.reductions(rows, against)]
    for title, rows in (
        ("Programs, local layers free", tables.traffic_free),
        ("The paper's equations, local layers free", tables.traffic_printed_free),
    ):
        parts += [f"### {title}", tables_of.traffic(rows)]
    parts.append(
        "*Local layers free*: element-wise, pooling and depth-wise operators alone cost nothing, "
        "as in the authors' public artefact; inside groups they count."
    )
    return parts


def _energy(tables: OptimusTables) -> list[str]:
    return [
        "## Figure 13: energy and latency",
        ENERGY,
        "### Programs",
        tables_of.energy(tables.energy),
        "### The paper's equations, baselines plain",
        tables_of.energy(tables.energy_printed),
        "## Figure 17: dataflows and register files",
        "Optimus's programs; energy without the MACs (10⁹ MACs) by bytes of the register file.",
        tables_of.dataflows(tables.dataflows),
        "## Figure 18: the configurations of Table 3",
        "Optimus's programs, O_w|C_out, T_c the side of the array.",
        tables_of.arrays(tables.arrays),
    ]


def _sweeps(tables: OptimusTables) -> list[str]:
    return [
        "## Figure 16: traffic by size of the buffer, MB",
        "### Programs",
        tables_of.sweep(tables.buffers, "KiB"),
        "### The paper's equations, baselines kept",
        tables_of.sweep(tables.buffers_printed, "KiB"),
        "## Figure 19: traffic an image by images at once, MB",
        "### Programs",
        tables_of.sweep(tables.batches, "images"),
        "### The paper's equations, baselines kept",
        tables_of.sweep(tables.batches_printed, "images"),
    ]
