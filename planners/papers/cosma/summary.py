"""What the comparison's rows come to: proofs, means of what is saved, and of seconds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import mean, median

from planners.papers.cosma.paper import DEEPLAB, HUMAN, SEARCHED
from planners.papers.cosma.study import BASELINES, PAPERS
from planners.papers.report import Row


@dataclass(frozen=True, slots=True)
class AveragedRows:
    """Rows that are averaged together, under a title."""

    title: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Saving:
    """The mean share of a scheme's bytes that joint plans save; None where it never moves any.

    `count`: rows in which the scheme moves anything, which the mean is over.
    """

    share: float | None
    count: int


def groups(rows: Sequence[Row]) -> tuple[AveragedRows, ...]:
    """Human-designed without and with parameters, and searched networks; those that there are."""
    human = [row for row in rows if row["model"] in HUMAN]
    candidates = (
        AveragedRows("human", tuple(row for row in human if not row["parameters"])),
        AveragedRows("human, with parameters", tuple(row for row in human if row["parameters"])),
        AveragedRows("searched", tuple(row for row in rows if row["model"] in SEARCHED)),
    )
    return tuple(group for group in candidates if group.rows)


def saving(rows: Iterable[Row], scheme: str) -> Saving:
    """What joint plans save against a scheme (a row's key).

    The mean over rows of 1 − joint / scheme, each network and budget with the same weight. Rows
    where the scheme moves nothing are left out: joint moves nothing there either.
    """
    shares = [1 - row["joint optimal"] / row[scheme] for row in rows if row[scheme]]
    return Saving(mean(shares) if shares else None, len(shares))


def mean_saving(rows: Sequence[Row], replacements: Sequence[str] = PAPERS) -> float | None:
    """The mean of the means against the schemes with these replacements: the paper's by default."""
    shares = [saving(rows, f"{s} {r}").share for s, r in BASELINES if r in replacements]
    known = [share for share in shares if share is not None]
    return mean(known) if known else None


def unproven(rows: Iterable[Row]) -> list[Row]:
    """The rows whose joint plan is not proven optimal."""
    return [row for row in rows if row["joint gap"]]


def moving_at_mp(rows: Iterable[Row]) -> list[Row]:
    """The rows at MP whose joint plan moves anything; the paper has none."""
    return [row for row in rows if row["budget"] == "MP" and row["joint optimal"]]


@dataclass(frozen=True, slots=True)
class Seconds:
    """Of joint plans: how many, their median, mean and worst seconds, and which that was."""

    count: int
    median_s: float
    mean_s: float
    worst_s: float
    worst: Row


def seconds(rows: Sequence[Row]) -> Seconds | None:
    """None where there are no rows."""
    if not rows:
        return None
    taken = [float(row["joint s"]) for row in rows]
    worst = max(rows, key=lambda row: float(row["joint s"]))
    return Seconds(len(rows), median(taken), mean(taken), max(taken), worst)


def nine(rows: Iterable[Row]) -> list[Row]:
    """The human-designed networks but DeepLabV3, for which the paper states one mean."""
    return [row for row in rows if row["model"] in HUMAN and row["model"] != DEEPLAB]
