"""What a reader of the Demand Layering comparison should know first, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planners.papers.demand_layering.claims import MIB, errors, rms, worst
from planners.papers.demand_layering.extensions import WITHIN as TARGET
from planners.papers.demand_layering.paper import TITLES, WITHIN
from planners.papers.demand_layering.pipelines import WAYS
from planners.papers.demand_layering.study import StreamingTables
from planners.papers.report import Claim, Row, from_to
from planners.streaming.model.times import BESIDE_COPY


def summary(statements: Sequence[Claim], tables: StreamingTables) -> Iterator[str]:
    """What a reader should know first, of the tables that there are."""
    if statements:
        agree = sum(claim.agrees for claim in statements)
        yield f"Of {len(statements)} statements below, {agree} agree."
    if tables.table_1:
        same = sum(_as_printed(row) == row["printed"] for row in tables.table_1)
        yield f"Table I: {same} of {len(tables.table_1)} rows to the last digit."
    for rows, lines in (
        (tables.pipelines, _table_2),
        (tables.fronts, _fronts),
        (tables.bounds, _bounded),
        (tables.slices, _sliced),
        (tables.joint, _joined),
    ):
        if rows:
            yield from lines(rows)


def _as_printed(row: Row) -> list[float]:
    sizes = [round(row[key] / MIB, 1) for key in ("size_bytes", "largest_bytes")]
    return [sizes[0], row["layers"], sizes[1]]


def _table_2(rows: Sequence[Row]) -> Iterator[str]:
    added, saved = errors(rows, "added"), errors(rows, "saved")
    within = sum(abs(error.points) <= WITHIN for error in added)
    near = sum(abs(error.points) <= 1.0 for error in saved)
    yield (
        f"Table II: {within} of {len(added)} delays are within {WITHIN:g} points (rms "
        f"{rms(added):.2f}, worst {worst(added).points:+.1f}), {near} of {len(saved)} memories "
        f"within 1 (worst {worst(saved).points:+.1f})."
    )


def accuracy(rows: Sequence[Row]) -> Iterator[str]:
    """Which percentages are far off, and how far all are."""
    if not rows:
        return
    for key, limit, what in (("added", WITHIN, "Delays"), ("saved", 1.0, "Memories")):
        misses = errors(rows, key)
        far = [e for e in misses if abs(e.points) > limit]
        names = ", ".join(f"{e.network} {TITLES[e.pipeline]} ({e.points:+.1f})" for e in far)
        yield (
            f"{what}: rms {rms(misses):.2f} points, worst {worst(misses).points:+.1f}; beyond "
            f"{limit:g}: {names or 'none'}."
        )
    alone = [row["sync_alone"] - row["pipelines"]["sync"]["paper_added"] for row in rows]
    others = [e.points for e in errors(rows, "added") if e.pipeline != "sync"]
    most = max([*alone, *others], key=abs)
    yield (
        f"The model slows a kernel down by {BESIDE_COPY} of its layer's copy wherever three stages "
        "overlap. Were Sync free of that, as Seq is, the worst delay of all would be "
        f"{most:+.1f} points off."
    )
    yield (
        "Memories of -MD pipelines are where a curve first reaches its least value, which depends "
        "on single layers' times; the paper's measured ones vary, the model's do not."
    )


def _fronts(rows: Sequence[Row]) -> Iterator[str]:
    both = [row[way] for row in rows for way in ("2s", "async")]
    fine = sum(it["no_worse"] for it in both)
    slowest = max([it["seconds"] for it in both] + [row["separate"]["seconds"] for row in rows])
    points = [it["breakpoints"] for it in both]
    saved = [1 - row["separate"]["least"][0] / row["async"]["least"][0] for row in rows]
    yield (
        f"The exact front ({min(points)} to {max(points)} breakpoints) is the same or better than "
        f"the sweep everywhere in {fine} of {len(both)} pipelines, in {slowest:.2f} s at most, "
        "pairs of ring sizes included."
    )
    yield (
        f"Rings of separate sizes reach the least delay of three stages in {min(saved):.0%} to "
        f"{max(saved):.0%} less memory than equal ones."
    )


def _bounded(rows: Sequence[Row]) -> Iterator[str]:
    above = sum(row[way]["above"] for row in rows for way in WAYS)
    draws = sum(row[way]["draws"] for row in rows for way in WAYS)
    margins = {
        way: from_to(
            [100 * (row[way]["bound_s"] / row[way]["largest_s"] - 1) for row in rows], "{:.1f} %"
        )
        for way in WAYS
    }
    yield (
        f"The guaranteed bound: {above} of {draws:,} draws are above it. It is "
        f"{margins['together']} above the largest draw where times vary together, "
        f"{margins['each']} where each varies for itself, {margins['long-tailed']} with long tails."
    )


def _sliced(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        whole, planned = row["ways"][0], row["planned"]
        verdict = "" if planned["added"] <= TARGET else f"; above the {TARGET:g} % sought"
        if row["bound"] > TARGET:
            verdict += f", but no slices can be below {row['bound']:+.1f} %"
        yield (
            f"{row['network']} in {row['memory_bytes'] / MIB:.1f} MB: {whole['added']:+.1f} % of "
            f"delay with layers whole, {planned['added']:+.1f} % in slices{verdict}."
        )


def _joined(rows: Sequence[Row]) -> Iterator[str]:
    least = [row["levels"]["2S-MD"] for row in rows]
    saved = [1 - it["joint_bytes"] / it["apart_bytes"] for it in least if it["joint_bytes"]]
    levels = [it for row in rows for it in row["levels"].values()]
    proven = sum(it["joint_bytes"] == it["joint_bound"] for it in levels)
    if saved:
        yield (
            "Weights and activations in one memory, which the paper does not count: at the delay "
            f"of 2S-MD {min(saved):.0%} to {max(saved):.0%} less than a ring beside activations; "
            f"{proven} of {len(levels)} such plans are proven the least."
        )
