"""The vMCU comparison as Markdown: what it shows first, then how to read it, then the tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from planners.catalogue.vmcu import MISPRINTS
from planners.papers.report import from_to, how, section, written
from planners.papers.vmcu import tables as tables_of
from planners.papers.vmcu.accounts import ACCOUNTINGS, saved
from planners.papers.vmcu.claims import PLAN, MeasuredClaim, claims
from planners.papers.vmcu.paper import F411RE_BYTES
from planners.papers.vmcu.plans import segments_table
from planners.papers.vmcu.study import VmcuStudy, VmcuTables

READING = """\
## How to read it

int8, batch 1, activations only: weights are in flash. KB are 1000 bytes, KiB 1024. The paper does
not say what its figures of RAM count, and its text alone does not give its own numbers, so each
statement stands beside three accountings:

| accounting | vMCU | TinyEngine | HMCOS |
|---|---|---|---|
| **tensors** | A and E overlapped by d: max(A + d, E) | the most that is live, depthwise \
convolutions in place | the least peak of whole tensors over all orders |
| **+ workspace** | and the window of section 5.2: (R² + 1)·mid + C_out | and an im2col buffer: \
2(H + 2p)² of a depthwise convolution, 4·k²·C_in of another | the same: it schedules, it has no \
kernels |
| **+ rows, static** | max(A + a row of A, D) + min(B, R rows of B + a row of C) + a row of D + \
2.6 KB | max(A + B, A·res + B + D) + max((H + 2p)², 2·mid) + 2.6 KB | max(A + B, A·res + B + C) + \
2.6 KB |

The third is a reading, inferred from the stated numbers and from nothing else: it is not in the
paper, and 2.6 KB is ours. *Reproduced* means within one point of a share, 0.5 % of bytes, exactly
for counts. A · res: A stays for the addition. HMCOS here is the proven least over all orders,
which a heuristic reaches at best.

*Our plans* are programs of `planners/overlap`, every byte at an address of one circular pool,
replayed by `check`; the RAM is the pool's size, workspace in it, with no static overhead and no
repeated work. Beside them TinyEngine and HMCOS stand as in *+ workspace*. \\* marks programs too
long to be replayed here."""

CONVENTIONS = """\
## Conventions and misprints

* Modules are Table 2 as printed. In the released networks {misprints}.
* S1 is called the bottleneck of MCUNet-5fps-VWW, but Table 2 lists 8 of its 15 blocks: TinyEngine
  and HMCOS are bound by the second block of the whole network, which is not listed (see *What
  binds*). B1 is the stem and the first block as one: 92.9 KB of it are the input image.
* 464.6 KB for HMCOS at B3 are three maps of 44 × 44 × 80 (464,640 bytes), one more than a
  depthwise convolution reads and writes.
* 247.8 KB for TinyEngine at B2 are A + B exactly (247,808 bytes): no workspace, no overhead.
* Section 7.3 gives 102.7 KB for B1 on a board of 128 KB; Figures 7 to 12 are images, and only the
  first of the nine shapes of Figure 7 is in the text. P2 to P9 are ours: outputs as large as
  inputs in the first three only, and more than 128 KB apart in cases 1, 2 and 4, as it says.
* For fully connected layers the paper's d = min(N, K) − 1 is in segments; ours are of one byte
  where it matters, so that no tensor is padded to a multiple of another's channels.
* Depthwise layers: the paper says that its result equals TinyEngine's in place. Overlapped, they
  need p·W + p pixels beyond their input; TinyEngine's in-place kernel 2(H + 2p)² bytes."""

FORMS = """\
Bytes of RAM in all, and millions of MACs computed again. *plain*: each operator by itself, its
output over its dying input. *line*: operators run together, each inner pixel computed once and kept
in a line buffer while it is needed. *window* (the paper's): the pixels under the depthwise window
computed for each output. *columns*: of the window, only what the last one of the row did not have.
*tile*: the window for some channels at a time, with partial sums in 32 bits."""

SEGMENTS = """\
The size of a segment (section 5.3), for the form of least RAM without repeated work: bytes of RAM
and thousands of modulo operations, one for each segment that is loaded or stored. *pixel*: a pixel
is a segment, at any byte, nothing is padded. *min*: the smaller of the pixels read and written,
the larger padded to whole segments (tensors padded in brackets); *gcd*: their greatest common
divisor; *byte*: one byte. Distances are whole segments: the paper's closed form has one less
where a segment has several bytes, as its kernels keep one in registers and ours write byte by
byte."""

NETWORKS = """\
KiB of RAM. *Ours* repeats no work; *least* is the other end of the front, with the MACs that it
repeats beside those of the network. Blocks run in the form that suits each, and where not stated
otherwise no split of the network into such runs needs less. *s* is planning, the program included,
on the machine that ran this. HMCOS is the proven least over all orders, TFLite Micro its greedy
planner in default order; neither counts workspace, TinyEngine's buffers are counted."""

PUBLISHED = """\
TinyEngine's model (`planners/overlap/baselines/frameworks.py`): the tensors' peak, the largest
workspace of a layer, twice the stem's weights. Beside it the peak SRAM, in KiB, that its authors
publish for their
MCUNet models."""


BOARDS = """\
A model (`planners/overlap/cost/mcu.py`): MACs, bytes of RAM and flash, copies and modulo
operations, at the rates of a board; no stopwatch. It leaves out loops, stalls and how far they are
unrolled, which the paper names as a reason for what it measures, so that its shares are not
reproduced here. Figure
8 on an STM32F767, Table 3 on an STM32F411."""

TABLE_3_TEXT = """\
Table 3 as printed, then latency relative to TinyEngine's. A window that expands its pixels anew for
each output, as section 5.2 reads, does the expansion R² times, and the model has it two to four
times as slow; the paper measures no such thing. That also speaks for the reading of *+ rows*."""

HEADROOM = """\
How many times larger a module's image (each side), its channels in and out, or all channels
(*width*) may be, in the RAM that TinyEngine needs for it as it is. Accountings compare with
themselves, by the pixel or channel; our plans (channels by 8) with TinyEngine as in *+ workspace*.
The paper does not say at which steps it grew them: of 3 × 3 pixels no growth of 1.29 is a size."""


def report(tables: VmcuTables, study: VmcuStudy) -> str:
    """The whole report of a study."""
    measured = _claims(tables)
    parts = [
        "# vMCU, reproduced",
        how("vmcu", study.quick),
        "## What it shows",
        _summary(tables, measured),
        tables_of.claims(measured),
        READING,
        CONVENTIONS.format(misprints=_misprints()),
        *_layers(tables),
        *_modules(tables),
        *_segments(tables),
        *_networks(tables),
        *_boards(tables),
    ]
    return written(parts)


def facts(tables: VmcuTables) -> dict[str, Any]:
    """The same as one JSON object: all rows, and the claims."""
    measured = _claims(tables)
    told = [asdict(claim) | {"reproduced_by": claim.reproduced_by} for claim in measured]
    return asdict(tables) | {"claims": told}


def _claims(tables: VmcuTables) -> list[MeasuredClaim]:
    return claims(tables.layers, tables.modules, tables.layer_costs, tables.headroom)


def _summary(tables: VmcuTables, found: Sequence[MeasuredClaim]) -> str:
    done = [claim for claim in found if claim.reproduced_by]
    none = len(found) - len(done)
    lines = [
        f"* Of {len(found)} numbers that the paper states, {len(done)} are reproduced by at least "
        f"one accounting, {none} by none."
    ]
    for key in ACCOUNTINGS:
        of = [claim for claim in found if key in claim.here]
        hits = sum(key in claim.reproduced_by for claim in of)
        lines.append(f"  *{tables_of.TITLES[key]}* reproduces {hits} of {len(of)}.")
    return "\n".join([*lines, *_modules_saved(tables), *_networks_saved(tables)])


def _modules_saved(tables: VmcuTables) -> list[str]:
    if not tables.modules:
        return []
    saves = [saved(row[PLAN], "TinyEngine") for row in tables.modules]
    return [
        f"* Our plans of the modules, without repeated work, need {from_to(saves)} less than "
        "TinyEngine, workspace counted in both."
    ]


def _networks_saved(tables: VmcuTables) -> list[str]:
    rows = [row for row in tables.networks if row["published_kib"] is not None]
    if not rows:
        return []
    saves = [1 - row["ram"] / row["TinyEngine"]["bytes"] for row in rows]
    few = [row["network"] for row in rows if row["ram"] <= F411RE_BYTES]
    theirs = sum(row["TinyEngine"]["bytes"] <= F411RE_BYTES for row in rows)
    return [
        f"* Whole MCUNet networks, without repeated work: {from_to(saves)} less than TinyEngine; "
        f"{len(few)} of {len(rows)} fit 128 KiB, {theirs} with TinyEngine."
    ]


def _misprints() -> str:
    return ", ".join(f"{text} in {name}" for name, text in MISPRINTS.items())


def _layers(tables: VmcuTables) -> list[str]:
    if not tables.layers:
        return []
    text = "KB of tensors, and shares saved in each accounting."
    return section("Figure 7: pointwise convolutions", text, tables_of.layers(tables.layers))


def _modules(tables: VmcuTables) -> list[str]:
    rows = tables.modules
    if not rows:
        return []
    return [
        *section("Figures 9 and 10: modules, KB", tables_of.modules(rows)),
        *section("Our forms of the modules", FORMS, tables_of.forms(rows)),
    ]


def _segments(tables: VmcuTables) -> list[str]:
    if not tables.segments:
        return []
    return section("Sizes of segments", SEGMENTS, segments_table(tables.segments))


def _networks(tables: VmcuTables) -> list[str]:
    rows = tables.networks
    if not rows:
        return []
    parts = section("Whole networks", NETWORKS, tables_of.networks(rows))
    parts += ["### What binds", tables_of.binding(rows)]
    parts += ["### RAM against repeated work", tables_of.fronts(rows)]
    if any(row["published_kib"] is not None for row in rows):
        parts += ["### TinyEngine, published", PUBLISHED, tables_of.published(rows)]
    return parts


def _boards(tables: VmcuTables) -> list[str]:
    measured = tables.layer_costs or tables.module_costs
    parts = section("Figure 8 and Table 3: latency and energy", BOARDS, of=measured)
    if tables.layer_costs:
        parts.append(tables_of.layer_costs(tables.layer_costs))
    if tables.module_costs:
        parts += [TABLE_3_TEXT, tables_of.module_costs(tables.module_costs)]
    if tables.headroom:
        parts += section(
            "Figures 11 and 12: headroom", HEADROOM, tables_of.headroom(tables.headroom)
        )
    return parts
