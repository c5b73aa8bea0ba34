"""What the vMCU paper states, and what TinyEngine publishes: beside which our numbers stand.

Figures 7 to 12 are images; only what the text says of them is in numbers. Ours stand beside it in
each accounting, with which of them reproduces it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import mean
from typing import Any, Literal, NamedTuple

from planners.catalogue.vmcu import TABLE_2, BottleneckShape
from planners.papers.report import Row
from planners.papers.vmcu.accounts import ACCOUNTINGS, STATIC_BYTES, fully_connected, needs, saved

PUBLISHED_KIB = {
    "mcunet_vww1": 92,
    "mcunet_in0": 49,
    "mcunet_in1": 96,
    "mcunet_in2": 215,
    "mcunet_in3": 260,
    "mcunet_in4": 416,
}
"""Peak SRAM of MCUNet models as TinyEngine's authors publish it."""

F411RE_BYTES, F767ZI_BYTES = 128 * 1024, 512 * 1024
"""RAM of the two boards (section 7.1: 128 KB, 512 KB)."""


class Range(NamedTuple):
    """Shares from the least to the most, as stated of a figure."""

    least: float
    most: float

    def ends(self) -> Iterator[tuple[float, Callable[..., Any], str]]:
        """Each end, what picks it among ours, and its name."""
        yield self.least, min, "least"
        yield self.most, max, "most"


SINGLE_LAYER = Range(0.1201, 0.4945)  # section 7.2, Figure 7; the abstract: 12.0 % to 49.5 %
SINGLE_ENERGY = Range(0.206, 0.530)
SINGLE_LATENCY = Range(0.185, 0.400)
SAVED = {
    ("S", "TinyEngine"): Range(0.130, 0.615),
    ("S", "HMCOS"): Range(0.288, 0.716),
    ("B", "TinyEngine"): Range(0.112, 0.785),
    ("B", "HMCOS"): Range(0.265, 0.896),
}
"""Section 7.3, Figures 9 and 10: RAM saved by vMCU, module by module."""

BOTTLENECK = {"vMCU": ("B1", 102_700), "TinyEngine": ("B2", 247_800), "HMCOS": ("B3", 464_600)}
"""Section 7.3: the module that needs most of MCUNet-320KB-ImageNet, in bytes (KB are 1000)."""

BOTTLENECK_SAVED = {"S": 0.615, "B": 0.586}  # against TinyEngine: S1; B1 against B2
LATENCY_RATIO = 1.03  # of vMCU to TinyEngine over Table 3
IMAGE_HEADROOM, CHANNEL_HEADROOM = Range(1.29, 2.58), Range(1.26, 3.17)  # Figures 11 and 12

TABLE_3 = {
    "S1": (37, 37),
    "S2": (37, 37),
    "S3": (33, 35),
    "S4": (28, 29),
    "S5": (22, 24),
    "S6": (20, 19),
    "S7": (34, 36),
    "S8": (27, 28),
}
"""Milliseconds: vMCU's and TinyEngine's, as printed (measured on their board)."""


Unit = Literal["share", "bytes", "count", "ratio"]
TOLERANCE: Mapping[Unit, float] = {"share": 0.01, "bytes": 0.005, "count": 0.0, "ratio": 0.01}
"""Of a share and a ratio: absolute. Of bytes: relative. Counts are exact."""
NETWORKS = {"S": "MCUNet-5fps-VWW", "B": "MCUNet-320KB-ImageNet"}
PLAN = "plan"
"""Our own plans, in the accounting `workspace`: what a program needs, byte by byte."""


@dataclass(frozen=True, slots=True)
class MeasuredClaim:
    """A number of the paper, and the same by accounting (or `arithmetic`, where none matters)."""

    what: str
    paper: float
    here: Mapping[str, float]
    unit: Unit = "share"
    note: str = ""
    where: Mapping[str, str] = field(default_factory=dict)

    @property
    def compared(self) -> list[str]:
        """What stands for the paper's systems: our plans only where nothing else is there."""
        return [k for k in self.here if k != PLAN] or [PLAN]

    @property
    def reproduced_by(self) -> list[str]:
        """The accountings that come to the paper's number."""
        near = TOLERANCE[self.unit] + 1e-9
        return [k for k in self.compared if self.off(k) <= near]

    @property
    def nearest(self) -> str:
        """The accounting that comes nearest."""
        return min(self.compared, key=self.off)

    def off(self, accounting: str) -> float:
        """How far an accounting is from the paper's number: of bytes, relatively."""
        scale = self.paper if self.unit == "bytes" else 1
        return abs(self.here[accounting] - self.paper) / scale


def claims(
    layers: Sequence[Row],
    modules: Sequence[Row],
    costs: Sequence[Row] = (),
    headroom: Sequence[Row] = (),
) -> list[MeasuredClaim]:
    """All claims that these rows can decide, in the order of the paper."""
    return [
        *_arithmetic(),
        *_layers(layers),
        *_costs(costs),
        *(claim for network in NETWORKS for claim in _network(network, modules)),
        *_headroom(headroom),
    ]


def _arithmetic() -> Iterator[MeasuredClaim]:
    """Statements that depend on no accounting."""

    def one(what: str, paper: float, here: float, unit: Unit, note: str = "") -> MeasuredClaim:
        return MeasuredClaim(what, paper, {"arithmetic": here}, unit, note)

    image = 56 * 56 * 64
    yield one("A convolution 56×56, 64 to 64 channels (section 1)", 401_400, 2 * image, "bytes")
    example = fully_connected(2, 3, 2)
    yield one("Segments of 2×3 to 2×2, fully connected (Figure 1)", 7, example, "count")
    window = needs(BottleneckShape("", 5, 1, 1, 1, 3))["window"].workspace_bytes
    yield one("Segments of workspace of a 3×3 bottleneck (5.2)", 11, window, "count")
    ratios = [theirs / ours for ours, theirs in TABLE_3.values()]
    note = "the mean of TinyEngine's time over vMCU's in Table 3"
    yield one("Latency, vMCU and TinyEngine (7.3)", LATENCY_RATIO, mean(ratios), "ratio", note)


def _layers(rows: Sequence[Row]) -> Iterator[MeasuredClaim]:
    """Figure 7: only the first shape is in the text, so only one end can be compared."""
    stated = [row for row in rows if row["stated"]]
    if stated:
        yield MeasuredClaim(
            "RAM saved by one pointwise layer, at most (Figure 7)",
            SINGLE_LAYER.most,
            {k: max(saved(row[k], "TinyEngine") for row in stated) for k in ACCOUNTINGS},
            note="80×80, 16 to 16 channels: the one shape that the text gives",
        )


def _costs(rows: Sequence[Row]) -> Iterator[MeasuredClaim]:
    """Figure 8, by our model of the board, over nine cases of which eight are ours."""
    for what, paper in (("energy", SINGLE_ENERGY), ("latency", SINGLE_LATENCY)):
        shares = [row[f"{what} saved"] for row in rows]
        for end, pick, word in paper.ends():
            if shares:
                text = f"{what.capitalize()} saved by one pointwise layer, {word} (Figure 8)"
                yield MeasuredClaim(
                    text, end, {PLAN: pick(shares)}, note="our model, mostly our shapes"
                )


def _headroom(rows: Sequence[Row]) -> Iterator[MeasuredClaim]:
    """Figures 11 and 12, of all modules of MCUNet-5fps-VWW."""
    if len(rows) < sum(name.startswith("S") for name in TABLE_2):
        return
    for axis, paper in (("image", IMAGE_HEADROOM), ("channels", CHANNEL_HEADROOM)):
        for end, pick, word in paper.ends():
            at = {k: _end(rows, axis, k, pick) for k in (*ACCOUNTINGS, PLAN)}
            here = {k: float(row[axis][k]) for k, row in at.items()}
            where = {k: str(row["module"]) for k, row in at.items()}
            what = f"MCUNet-5fps-VWW: growth of the {axis} in TinyEngine's RAM, {word}"
            yield MeasuredClaim(what, end, here, "ratio", _width(rows, axis, pick), where)


def _width(rows: Sequence[Row], axis: str, pick: Callable[..., Row]) -> str:
    """What came out where the expanded channels grow too."""
    if axis != "channels":
        return ""
    growth = {k: _end(rows, "width", k, pick)["width"][k] for k in ("workspace", "rows")}
    return "all channels grown: {workspace:.2f} + workspace, {rows:.2f} + rows".format(**growth)


def _end(rows: Sequence[Row], axis: str, key: str, pick: Callable[..., Row]) -> Row:
    """The row with the least or most growth."""
    return pick(rows, key=lambda row: row[axis][key])


def _network(letter: str, rows: Sequence[Row]) -> Iterator[MeasuredClaim]:
    """What is said of the modules of a network; nothing where some are missing."""
    rows = [row for row in rows if row["module"].startswith(letter)]
    if len(rows) < sum(name.startswith(letter) for name in TABLE_2):
        return
    name = NETWORKS[letter]
    for against in ("TinyEngine", "HMCOS"):
        shares = {k: _shares(rows, k, against) for k in _kinds(rows)}
        paper = SAVED[letter, against]
        for end, pick, word in paper.ends():
            at = {k: pick(by, key=by.__getitem__) for k, by in shares.items()}
            what = f"{name}: RAM saved against {against}, {word}"
            here = {k: by[at[k]] for k, by in shares.items()}
            yield MeasuredClaim(what, end, here, note=_note(letter, against, word, rows), where=at)
    yield from _bottlenecks(letter, rows)


def _bottlenecks(letter: str, rows: Sequence[Row]) -> Iterator[MeasuredClaim]:
    name = NETWORKS[letter]
    most = {k: {s: max(rows, key=lambda row: row[k][s]) for s in rows[0][k]} for k in _kinds(rows)}
    if letter == "B":
        for system, (module, size) in BOTTLENECK.items():
            here = {k: float(by[system][k][system]) for k, by in most.items()}
            where = {k: str(by[system]["module"]) for k, by in most.items()}
            note = f"{module} in the paper"
            yield MeasuredClaim(f"{name}: {system}'s bottleneck", size, here, "bytes", note, where)
        fits = {k: float(sum(by[s][k][s] <= F411RE_BYTES for s in by)) for k, by in most.items()}
        what = f"{name}: of the three, those that fit 128 KB"
        yield MeasuredClaim(what, 1, fits, "count", "vMCU's alone")
    here = {}
    for k, by in most.items():
        here[k] = 1 - by["vMCU"][k]["vMCU"] / by["TinyEngine"][k]["TinyEngine"]
    what = f"{name}: the bottleneck, against TinyEngine's"
    yield MeasuredClaim(what, BOTTLENECK_SAVED[letter], here)


def _kinds(rows: Sequence[Row]) -> list[str]:
    """The accountings there are; our plans only where all rows have one."""
    return [*ACCOUNTINGS, *([PLAN] if all(PLAN in row for row in rows) else [])]


def _shares(rows: Sequence[Row], accounting: str, against: str) -> dict[str, float]:
    return {row["module"]: saved(row[accounting], against) for row in rows}


def _note(letter: str, against: str, end: str, rows: Sequence[Row]) -> str:
    """What the paper's own 464.6 KB of B3 would make of the one that no accounting reproduces."""
    if (letter, against, end) != ("B", "HMCOS", "most"):
        return ""
    third = next(row for row in rows if row["module"] == "B3")
    share = 1 - third["rows"]["vMCU"] / (BOTTLENECK["HMCOS"][1] + STATIC_BYTES)
    return f"{share:.1%} with the 464.6 KB that the paper gives HMCOS at B3"
