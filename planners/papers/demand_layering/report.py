"""The Demand Layering comparison as Markdown: what it shows, how to read it, then the tables."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from planners.papers.demand_layering import tables as tables_of
from planners.papers.demand_layering.beyond import WITHIN as TARGET
from planners.papers.demand_layering.claims import (
    MIB,
    WITHIN,
    claims,
    errors,
    rms,
    worst,
)
from planners.papers.demand_layering.paper import TITLES
from planners.papers.demand_layering.study import StreamingStudy, StreamingTables
from planners.papers.report import Claim, from_to, how, section, written
from planners.streaming.model.xavier import BESIDE_COPY, KERNEL_S

READING = """\
## How to read it

Times are a **model** of the paper's board, a Jetson AGX Xavier with a 980 PRO, and no stopwatch:
its constants (`planners/streaming/model/xavier.py`) were fitted to the delays of Table II and
YOLOv4's 160.8 ms, so that the delays beside them say how well a dozen constants describe thirty
numbers, and predict little. The memories, the fronts and the bound are exact for the times that are
given. MB are 1024² bytes here, as in the paper's tables.

**What is counted.** The paper does not say. Its Table I is met to the last digit with every section
of the Darknet file a layer; with all that the weights file holds for the model's size, scale, mean
and variance of batch norm included, four numbers a channel; and with batch norm folded into weights
and one bias a channel for the largest layer. What streams here is folded: networks are graphs of
sections with a weight and a bias each (`reproduce_demand_layering_sections.py`), and Pre is twice
that, less than half a percent below twice the file. Graphs that the planner imports from the same
networks carry all four numbers a channel, and fuse sections; their plans differ a little from
these.

Every pipeline of every network is a plan of `planners/streaming`, a program of loads, copies and
kernels at addresses of rings. Each was replayed by `check`, and the scoreboard's time is the delay
that is told. Memory is that of the rings, as in the paper; *one memory*, below, counts all."""

TABLE_1 = """\
Size of the weights file in float32, sections, and the largest section, as `darknet_table` counts
them."""

TABLE_2 = """\
Ours / the paper's, in percent against Pre. Memory first: Seq, Sync, Async and 2S follow from the
largest layer; Async-MD and 2S-MD are what the paper's sweep finds with the model's times (steps of
1 MB, a size it does not print)."""

FRONTS = """\
Delay is a step function of the ring's size; all its breakpoints are evaluated, and no other. The
sweep is the paper's (V-D), from the largest layer to the model's size by 1 MB. *Front*: points that
no other beats. *Rises*: breakpoints at which a larger ring is slower, for a layer that now fits at
the end may wait longer there (the paper sees it too). *Most saved*: the most memory at no more
delay, and the most delay (points of Pre's) in no more memory, against any point of the sweep's
front. *s*: seconds on the machine that ran this, for all sizes together."""

RINGS = """\
The paper's two rings are equal. Each may have its own size: all pairs of breakpoints that could be
on the front are evaluated, and the front is exact. A ring without an end is mapped twice, to
addresses that follow each other, so that no layer must lie in one piece before the end: one more
thing that the paper does not have. *Most saved* as above, against equal rings, and against one ring
that has an end."""

RESOLUTIONS = """\
Sums of times, delays, and rings. *Exact*: the least memory of the least delay, where the sweep
takes the next step; *within 1 %*: the least memory whose delay is so near to it. While kernels
together take less than reads, reads bind and no memory hides them."""

ENERGY = """\
Of one inference, without what is loaded before. Joules follow from the bytes that the program reads
and writes in each memory and from its MACs, at energies of the literature (`machines show`), and
from ten watts of baseline over the delay, which are **assumed**: the paper's figure is an image.
Pre reads nothing; of what the others add, the drive has most. A scheduling thread that keeps a core
busy, as the paper's does, is not counted."""

SIZES = """\
Quantiles over all layers, those without parameters included, at the default resolution; *all* is
the sum."""

BOUNDS = """\
The paper leaves a safe bound to future work. Places in rings depend on sizes alone, so that the
delay never falls when a time rises: upper bounds in, a bound on the delay out, at the cost of one
evaluation. It is the delay itself where all times are at their largest, so that no smaller bound
holds with the same limits. Draws beneath it: *each* time for itself up to 20 % longer, uniformly;
all *together* by one such factor, the machine slow as a whole; *long-tailed*, log-normal samples,
100 of each layer's time with a deviation of 10 %, written to a table as `--times` takes it, and
drawn from it. All three are assumed. Where times vary each for themselves, their sum hardly
varies, and the bound is loose by what all of them at once would take."""

SLICES = """\
In two stages, in the memory of 2S: one largest layer. Layers larger than a fraction of it are cut
into slices of their output channels, each a layer with a kernel of its own, which reads the
layer's input again and costs a launch of {launch:.3f} ms; the model counts both. Delays in percent
of Pre's, whose layers are whole. *Each operator its own*: the planner's choice (`slices=0`), its
program replayed. *Bound*: what no slices can go below in that ring, however fine, were their
kernels and reads free of overheads of their own (`least_delay`)."""

JOINT = """\
What a network takes in all, MB: activations (every section's output, packed by lifetimes) and
weights. *Beside them*: a ring and the activations, apart, as the paper has them. *In one memory*:
both placed together, weights read ahead wherever activations leave room. *Bound*: what no addresses
can go below at that delay, with these layers in this order; *beyond activations*: how much more
than activations alone take. Networks whose activations peak early, when weights are small, stream
in the room that activations leave later: there, near zero delay costs next to nothing. Such plans
are replayed too."""


def report(tables: StreamingTables, study: StreamingStudy) -> str:
    """The whole report of a study."""
    statements = claims(tables)
    of = tables_of
    parts = ["# Demand Layering, reproduced", _how(study), "## What it shows", _summary(tables)]
    parts += [of.claims(statements)] if statements else []
    parts.append(READING)
    for rows, title, text, made in (
        (tables.table_1, "Table I", TABLE_1, [of.table_1]),
        (tables.pipelines, "Table II", TABLE_2, []),
        (tables.fronts, "Figure 13: the exact front", FRONTS, [of.fronts, of.curves]),
        (tables.fronts, "Rings of separate sizes, and without an end", RINGS, []),
        (tables.resolutions, "Figures 6, 14, 15: resolutions", RESOLUTIONS, [of.resolutions]),
        (tables.pipelines, "Figure 16: energy", ENERGY, [of.energy]),
        (tables.sizes, "Figure 5: distributions", SIZES, [of.sizes]),
        (tables.bounds, "A guaranteed bound", BOUNDS, [of.bounds]),
        (tables.slices, "Layers in slices", SLICES.format(launch=1000 * KERNEL_S), [of.slices]),
        (tables.joint, "One memory for weights and activations", JOINT, [of.joint]),
    ):
        if rows:
            parts += [*section(title, text, *(show(rows) for show in made)), *_more(title, tables)]
    return written(parts)


def facts(tables: StreamingTables) -> dict[str, Any]:
    """The same as one JSON object: all rows, the claims, and the errors of Table II."""
    differences = {
        key: [asdict(error) for error in errors(tables.pipelines, key)]
        for key in ("saved", "added")
    }
    return asdict(tables) | {"claims": [asdict(c) for c in claims(tables)], "errors": differences}


def _more(title: str, tables: StreamingTables) -> list[str]:
    of = tables_of
    if title == "Table II":
        rows = tables.pipelines
        return [
            "Memory:",
            of.table_2(rows, "saved"),
            "Delay:",
            of.table_2(rows, "added"),
            _accuracy(tables),
            "### Figure 12: memory and delay",
            of.pipelines(rows),
        ]
    if title.startswith("Rings"):
        return [
            of.rings(tables.fronts),
            "MB of all rings within a delay:",
            of.levels(tables.fronts),
        ]
    return []


def _how(study: StreamingStudy) -> str:
    return how("demand-layering", study.quick) + " This is a cut of it." * study.quick


def _summary(tables: StreamingTables) -> str:
    lines = [*_agreement(claims(tables)), *_table_1(tables), *_table_2(tables)]
    lines += [*_fronts(tables), *_bounded(tables), *_sliced(tables), *_joined(tables)]
    return "\n".join(f"* {line}" for line in lines)


def _agreement(found: list[Claim]) -> list[str]:
    if not found:
        return []
    agree = sum(claim.agrees for claim in found)
    return [f"Of {len(found)} statements below, {agree} agree."]


def _table_1(tables: StreamingTables) -> list[str]:
    if not tables.table_1:
        return []
    shown = [
        (round(r["size_bytes"] / MIB, 1), r["layers"], round(r["largest_bytes"] / MIB, 1))
        for r in tables.table_1
    ]
    same = sum(list(row) == r["printed"] for row, r in zip(shown, tables.table_1, strict=True))
    return [f"Table I: {same} of {len(shown)} rows to the last digit."]


def _table_2(tables: StreamingTables) -> list[str]:
    if not tables.pipelines:
        return []
    added, saved = errors(tables.pipelines, "added"), errors(tables.pipelines, "saved")
    within = sum(abs(error.points) <= WITHIN for error in added)
    near = sum(abs(error.points) <= 1.0 for error in saved)
    return [
        f"Table II: {within} of {len(added)} delays are within {WITHIN:g} points (rms "
        f"{rms(added):.2f}, worst {worst(added).points:+.1f}), {near} of {len(saved)} memories "
        f"within 1 (worst {worst(saved).points:+.1f})."
    ]


def _accuracy(tables: StreamingTables) -> str:
    """Which percentages are far off, and how far all are."""
    parts = []
    for key, limit, what in (("added", WITHIN, "Delays"), ("saved", 1.0, "Memories")):
        misses = errors(tables.pipelines, key)
        far = [e for e in misses if abs(e.points) > limit]
        names = ", ".join(f"{e.network} {TITLES[e.pipeline]} ({e.points:+.1f})" for e in far)
        parts.append(
            f"{what}: rms {rms(misses):.2f} points, worst {worst(misses).points:+.1f}; beyond "
            f"{limit:g}: {names or 'none'}."
        )
    alone = [
        row["sync_alone"] - row["pipelines"]["sync"]["paper_added"] for row in tables.pipelines
    ]
    others = [e.points for e in errors(tables.pipelines, "added") if e.pipeline != "sync"]
    most = max([*alone, *others], key=abs)
    parts.append(
        f"The model slows a kernel down by {BESIDE_COPY} of its layer's copy wherever three stages "
        "overlap. Were Sync free of that, as Seq is, the worst delay of all would be "
        f"{most:+.1f} points off."
    )
    parts.append(
        "Memories of -MD pipelines are where a curve first reaches its least value, which hangs on "
        "single layers' times; the paper's measured ones vary, the model's do not."
    )
    return "\n".join(f"* {part}" for part in parts)


def _fronts(tables: StreamingTables) -> list[str]:
    rows = tables.fronts
    if not rows:
        return []
    both = [row[way] for row in rows for way in ("2s", "async")]
    fine = sum(it["no_worse"] for it in both)
    slowest = max([it["seconds"] for it in both] + [row["separate"]["seconds"] for row in rows])
    points = [it["breakpoints"] for it in both]
    saved = [1 - row["separate"]["least"][0] / row["async"]["least"][0] for row in rows]
    return [
        f"The exact front ({min(points)} to {max(points)} breakpoints) is the same or better than "
        f"the sweep everywhere in {fine} of {len(both)} pipelines, in {slowest:.2f} s at most, "
        "pairs of ring sizes included.",
        f"Rings of separate sizes reach the least delay of three stages in {min(saved):.0%} to "
        f"{max(saved):.0%} less memory than equal ones.",
    ]


def _bounded(tables: StreamingTables) -> list[str]:
    rows = [row[way] for row in tables.bounds for way in ("each", "together", "long-tailed")]
    if not rows:
        return []
    above = sum(row["above"] for row in rows)
    draws = sum(row["draws"] for row in rows)

    def ratios(way: str) -> str:
        margins = [100 * (row[way]["bound_s"] / row[way]["largest_s"] - 1) for row in tables.bounds]
        return from_to(margins, "{:.1f} %")

    return [
        f"The guaranteed bound: {above} of {draws:,} draws are above it. It is "
        f"{ratios('together')} above the largest draw where times vary together, {ratios('each')} "
        f"where each varies for itself, {ratios('long-tailed')} with long tails."
    ]


def _sliced(tables: StreamingTables) -> list[str]:
    lines = []
    for row in tables.slices:
        whole, planned = row["ways"][0], row["planned"]
        verdict = "" if planned["added"] <= TARGET else f"; above the {TARGET:g} % sought"
        if row["bound"] > TARGET:
            verdict += f", but no slices can be below {row['bound']:+.1f} %"
        lines.append(
            f"{row['network']} in {row['memory_bytes'] / MIB:.1f} MB: {whole['added']:+.1f} % of "
            f"delay with layers whole, {planned['added']:+.1f} % in slices{verdict}."
        )
    return lines


def _joined(tables: StreamingTables) -> list[str]:
    rows = tables.joint
    if not rows:
        return []
    least = [row["levels"]["2S-MD"] for row in rows]
    saved = [1 - it["joint_bytes"] / it["apart_bytes"] for it in least if it["joint_bytes"]]
    levels = [it for row in rows for it in row["levels"].values()]
    proven = sum(it["joint_bytes"] == it["joint_bound"] for it in levels)
    if not saved:
        return []
    return [
        "Weights and activations in one memory, which the paper does not count: at the delay of "
        f"2S-MD {min(saved):.0%} to {max(saved):.0%} less than a ring beside activations; "
        f"{proven} of {len(levels)} such plans are proven the least."
    ]
