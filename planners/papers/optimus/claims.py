"""What the Optimus paper states, what came out here, and whether the two agree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import mean

from planners.papers.optimus.figures import ratios, savings
from planners.papers.optimus.paper import (
    EFFICIENCY,
    FASTER,
    NASNET,
    SAVED,
    TABLE_5,
)
from planners.papers.optimus.study import OptimusTables
from planners.papers.report import Claim, Row

EXACT = {"vgg16", "resnet50", "resnet152", "squeezenet1_0"}
FUSERS = {"dnnvm": "DNNVM", "efficient_s": "Efficient-S"}
SLACK = 0.05  # of a share: figures are read off, and traffic is not the paper's to the byte


def claims(tables: OptimusTables) -> list[Claim]:
    """All claims that these tables can decide."""
    parts = (_groups, _model, _traffic, _beyond, _energy, _sweeps, _arrays, _accelerators, _seconds)
    return [claim for part in parts for claim in part(tables)]


def _groups(tables: OptimusTables) -> Iterator[Claim]:
    known = [row for row in tables.search if row["network"] in EXACT]
    if known:
        paper = [f"{TABLE_5[row['network']].groups:,}" for row in known]
        ours = [f"{row['groups']:,}" for row in known]
        names = ", ".join(row["network"] for row in known)
        what = f"Groups that there are (Table 5): {names}"
        yield Claim(what, ", ".join(paper), ", ".join(ours), paper == ours, "another graph")
    for row in tables.search:
        if row["network"] not in EXACT:
            paper_groups = TABLE_5[row["network"]].groups
            yield Claim(
                f"Groups that there are (Table 5): {row['network']}",
                f"{paper_groups:,.3g}",
                f"{row['groups']:,.3g}",
                row["groups"] == paper_groups,
                _COUNTS[row["network"]],
            )


_COUNTS = {
    "googlenet": "81 operators here; with 9 pools one with the convolutions after them it is 72 as "
    "in the paper, and 50,508 groups",
    "resnet1202": "all convex sets here; the paper's number is below that of a chain of its length",
    NASNET: "all convex sets of 712 operators here; 456 are left when separable convolutions are "
    "one and joins, norms and the classifier none",
}


def _model(tables: OptimusTables) -> Iterator[Claim]:
    done = [row for row in tables.checked if row["traffic"] is not None]
    if done:
        yield Claim(
            "The cost model agrees with what is measured (Fig. 12)",
            "95.05% to 99.90%, mean 98.06%",
            f"to the byte in {sum(row['equal'] for row in done)} of {len(done)} programs replayed",
            all(row["equal"] for row in done),
            "a program moved something else",
        )


def _traffic(tables: OptimusTables) -> Iterator[Claim]:
    for key, name in FUSERS.items():
        low, high = SAVED[key]
        for rows, column, how, why in (
            (_across(tables), f"{name}, kept", "programs against its costs as in the paper", _KEPT),
            (
                tables.traffic_printed,
                f"{name}, plain",
                "all by equations, its layers plain",
                _PLAIN,
            ),
            (tables.traffic_printed, f"{name}, kept", "all by equations", _KEPT),
            (tables.traffic, name, "programs, one cost model for all", _FAIR),
        ):
            shares = savings([row for row in rows if row["network"] != NASNET], column)
            if shares:
                least, most = min(shares.values()), max(shares.values())
                fits = low - SLACK <= least and most <= high + SLACK
                yield Claim(
                    f"DRAM accesses saved against {name} (Fig. 14), {how}",
                    f"{low:.0%} to {high:.0%}",
                    f"{least:.0%} to {most:.0%}, mean {mean(shares.values()):.0%}",
                    fits,
                    why,
                )
    worse = [row["online"] / row["Optimus"] - 1 for row in tables.traffic if row["Optimus"]]
    if worse:
        yield Claim(
            "The online variant is close to the optimum (section 6), programs",
            "a slight drop",
            f"{mean(worse):.1%} more on average, at most {max(worse):.1%}",
            mean(worse) < SLACK,
            "its rules leave out what now pays",
        )


def _beyond(tables: OptimusTables) -> Iterator[Claim]:
    """What the paper takes for granted, and what doing otherwise saves."""
    rows = [row for row in tables.traffic if row.get("both") and row["Optimus"]]
    for name, what, then in (
        ("joint", "All maps between groups go off chip (eq. 1)", "keeping some where that pays"),
        ("2-D tiles", "Line buffers are as wide as their maps (eq. 4)", "up to 8 bands of columns"),
        ("both", "Both of these", "neither taken for granted"),
    ):
        if rows:
            shares = [1 - row[name] / row["Optimus"] for row in rows]
            yield Claim(
                what,
                "assumed",
                f"{then}: {min(shares):.1%} to {max(shares):.1%} less, mean {mean(shares):.1%}",
                max(shares) < SLACK,
                "they need not",
            )


def _across(tables: OptimusTables) -> list[Row]:
    """What Optimus's programs move beside what the equations say of the others."""
    moved = {row["network"]: row["Optimus"] for row in tables.traffic}
    rows = [row for row in tables.traffic_printed if row["network"] in moved]
    return [row | {"Optimus": moved[row["network"]]} for row in rows]


_PLAIN = "how the baselines run a layer alone is not said; here as eq. 3 without Algorithm 2"
_KEPT = "the baselines' layers alone, which are as good as Optimus's here, may cost more there"
_FAIR = "the baselines have the cost model and layers of Optimus here: most of the gain is there"


def _energy(tables: OptimusTables) -> Iterator[Claim]:
    for key, name in FUSERS.items():
        for rows, how in (
            (tables.energy_printed, "the paper's equations"),
            (tables.energy, "programs, one cost model for all"),
        ):
            more = ratios(rows, name, "without MAC")
            faster = ratios(rows, name, "seconds")
            if not more:
                continue
            low, high = EFFICIENCY[key]
            least, most = min(more.values()), max(more.values())
            yield Claim(
                f"Energy efficiency against {name} without the ALUs (Fig. 13), {how}",
                f"{low} to {high} times",
                f"{least:.2f} to {most:.2f}, mean {mean(more.values()):.2f}",
                low - SLACK <= least and most <= high + SLACK,
                _ENERGY,
            )
            yield Claim(
                f"Latency against {name} (Fig. 13), {how}",
                f"{FASTER[key]} times on average",
                f"{mean(faster.values()):.2f} on average, at most {max(faster.values()):.2f}",
                abs(mean(faster.values()) - FASTER[key]) < 2 * SLACK,
                _LATENCY,
            )


_ENERGY = (
    "the array runs all plans equally well here; in the paper its baselines lose on the chip too"
)
_LATENCY = "most groups are bound by the array, not by DRAM, whoever fuses"


def _sweeps(tables: OptimusTables) -> Iterator[Claim]:
    for rows, how in ((tables.buffers, "programs"), (tables.buffers_printed, "equations")):
        there = [row for row in rows if row["Optimus"] is not None]
        if there:
            yield _never_worse(there, how)
            yield _tends_to_oracle(there, how)
    for rows, how in ((tables.batches, "programs"), (tables.batches_printed, "equations")):
        if rows:
            yield _settles(rows, how)


def _never_worse(rows: Sequence[Row], how: str) -> Claim:
    """At every size; a baseline that does not fit where Optimus does is worse."""
    names = ("no fusion", "DNNVM", "Efficient-S")
    worse = [row for row in rows for n in names if row[n] is not None and row[n] < row["Optimus"]]
    return Claim(
        f"Optimus moves least at every size of the buffer (Fig. 16), {how}",
        "in all cases",
        f"in {len(rows) - len(worse)} of {len(rows)}",
        not worse,
        "the search found less than there is",
    )


def _tends_to_oracle(rows: Sequence[Row], how: str) -> Claim:
    last = {row["network"]: row for row in rows}.values()
    ours = ", ".join(f"{row['network']} {row['Optimus'] / row['oracle']:.2f}" for row in last)
    dnnvm = [row["DNNVM"] / row["oracle"] for row in last]
    return Claim(
        f"With the largest buffer Optimus nears the oracle and DNNVM does not (Fig. 16), {how}",
        "gains until all maps are consumed on chip",
        f"times the oracle: {ours}; DNNVM {min(dnnvm):.2f} to {max(dnnvm):.2f}",
        all(row["Optimus"] <= row["DNNVM"] for row in last),
    )


def _settles(rows: Sequence[Row], how: str) -> Claim:
    texts, fine = [], True
    for network in dict.fromkeys(row["network"] for row in rows):
        by = {row["images"]: row["Optimus"] for row in rows if row["network"] == network}
        if by.get(4) and by.get(1) and by.get(max(by)):
            later = 1 - by[max(by)] / by[4]
            texts.append(f"{network} {1 - by[4] / by[1]:.1%} to 4, {later:.1%} beyond")
            fine = fine and later <= SLACK
    return Claim(
        f"Traffic an image stops falling beyond 4 images (Fig. 19), {how}",
        "stops",
        "; ".join(texts),
        fine,
        "tiles of sums let more images share parameters",
    )


def _arrays(tables: OptimusTables) -> Iterator[Claim]:
    rows = tables.dataflows
    if rows:
        moved = {row["traffic"] for row in rows}
        spread = max(moved) / min(moved) - 1
        at_64 = [row["without MAC"] for row in rows if row["register bytes"] == 64]
        yield Claim(
            "All dataflows come to similar DRAM accesses (Fig. 17)",
            "close",
            f"within {spread:.1%}; energy within {max(at_64) / min(at_64) - 1:.0%}",
            spread < 2 * SLACK,
            "maps are held by more channels where the array wants more",
        )
        yield _registers(rows)
    pairs = [(1, 2), (3, 4)]
    by = {(row["network"], row["config"]): row for row in tables.arrays if row["traffic"]}
    both = [(by[n, a], by[n, b]) for n in {k[0] for k in by} for a, b in pairs
            if (n, a) in by and (n, b) in by]  # fmt: skip
    if both:
        more = [b["traffic"] / a["traffic"] - 1 for a, b in both]
        less = [b["without MAC"] / a["without MAC"] - 1 for a, b in both]
        faster = [a["seconds"] / b["seconds"] for a, b in both]
        yield Claim(
            "From 16 × 16 to 32 × 32 slightly more requests, less energy, shorter (Fig. 18)",
            "slightly more; less",
            f"traffic {min(more):+.1%} to {max(more):+.1%}, energy {min(less):+.1%} to "
            f"{max(less):+.1%}, {min(faster):.1f} to {max(faster):.1f} times as fast",
            min(more) >= 0 and max(less) < 0,
            "no leakage is counted here, which a shorter run saves",
        )


def _registers(rows: Sequence[Row]) -> Claim:
    """The mean over dataflows, from the largest register file down."""
    sizes = sorted({row["register bytes"] for row in rows}, reverse=True)
    means = [mean(r["without MAC"] for r in rows if r["register bytes"] == s) for s in sizes]
    told = [f"{size} B {value / means[-1]:.2f}" for size, value in zip(sizes, means, strict=True)]
    return Claim(
        "Smaller register files take less energy (Fig. 17)",
        "less, DRAM hardly changes",
        f"times that at {sizes[-1]} B, mean of the dataflows: {', '.join(told[:-1])}",
        all(a >= b for a, b in zip(means, means[1:])),
        "below 64 B the buffer is read more often than the cheaper access saves",
    )


def _accelerators(tables: OptimusTables) -> Iterator[Claim]:
    for name in dict.fromkeys(row["accelerator"] for row in tables.accelerators):
        # Only the equations keep ShiDianNao's three buffers apart.
        which, how = (
            ("printed saves", "equations, its buffers apart, beside own layers")
            if name == "shidiannao"
            else ("own layers saves", "programs beside own layers")
        )
        both = [
            (row["paper saves"], row[which])
            for row in tables.accelerators
            if row["accelerator"] == name
        ]
        paper = [share for share, _ in both if share is not None]
        ours = [share for other, share in both if None not in (other, share)]
        if ours:
            yield Claim(
                f"Saved against {name}'s own layers (Table 4), {how}",
                f"{min(paper):.0%} to {max(paper):.0%}, mean {mean(paper):.0%}",
                f"{min(ours):.0%} to {max(ours):.0%}, mean {mean(ours):.0%}",
                abs(mean(ours) - mean(paper)) <= 2 * SLACK,
                "how its layers run is assumed here, each at its best tiles",
            )


def _seconds(tables: OptimusTables) -> Iterator[Claim]:
    rows = [row for row in tables.search if "cold_s" in row]
    known = [row["search_s"] for row in rows if row["search_s"] is not None]
    if rows and known:
        proven = sum(row["status"] == "optimal" for row in rows)
        slow = max(rows, key=lambda row: float(row["cold_s"]))
        yield Claim(
            "Search in a reasonable time (Table 5)",
            "0.48 ms to 8.7 s, compiled",
            f"{min(known) * 1000:.1f} ms to {max(known):.2f} s in Python, costs known; with costs "
            f"at most {slow['cold_s']:.1f} s ({slow['network']}); {proven} of {len(rows)} proven",
            proven == len(rows),
            "not all are proven within the time limit",
        )
