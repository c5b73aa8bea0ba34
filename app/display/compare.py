"""Two plans side by side: which stays differ, what spills in only one, and the totals."""

from __future__ import annotations

import weakref
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import planners as sp
from app.display.aligning import Warp, rising, spans_of, warp
from app.display.displayed_plan import DisplayedPlan
from app.display.stream import Stream
from app.model.options import that_count, usual
from planners.audits.shown import is_allocation

SPILLED_HERE, SPILLED_THERE = "spilled only here", "spilled only in the pinned plan"
ONLY_HERE, ONLY_THERE = "only here", "only in the pinned plan"
RETIMED, MOVED, SAME = "in other steps", "at another address", "the same"
CUT = "cut into other pieces"
KINDS = (SPILLED_HERE, SPILLED_THERE, ONLY_HERE, ONLY_THERE, CUT, RETIMED, MOVED)
ORDER = "runs in another order"
AS_IS = Warp()
Columns = tuple[float, float]
Times = tuple[Sequence[float], Sequence[float]]
NEVER: Times = ((), ())
KEPT = "_compared"


@dataclass(frozen=True, slots=True)
class Difference:
    """A tensor that two plans treat differently, and the spill traffic that it costs in each."""

    tensor: str
    kind: str
    here_bytes: int
    there_bytes: int

    @property
    def delta_bytes(self) -> int:
        return self.here_bytes - self.there_bytes


def comparable(here: DisplayedPlan | None, there: DisplayedPlan | None) -> bool:
    """Whether tensors of one plan are tensors of the other."""
    return bool(here and there) and here.graph.digest == there.graph.digest  # type: ignore[union-attr]


def allocations(here: DisplayedPlan, there: DisplayedPlan) -> bool:
    """Whether both are other tools' plans, or the better ones: what differs are addresses."""
    return is_allocation(here.plan) and is_allocation(there.plan)


def addresses(shown: DisplayedPlan) -> dict[str, int]:
    """Where each tensor first lies."""
    address_of: dict[str, int] = {}
    for residency in shown.report.residencies:
        address_of.setdefault(residency.tensor, residency.spans[0].start)
    return address_of


def differences(
    here: DisplayedPlan, there: DisplayedPlan, by: str = "operator"
) -> list[Difference]:
    """Tensors that differ, those first whose traffic differs most.

    `by` says which steps of the two belong together (`app.display.aligning.ALIGNED`).
    """
    both = compared_residencies(here, there, by)
    kinds: dict[str, set[str]] = {}
    for residency, kind in both.kinds:
        kinds.setdefault(residency.tensor, set()).add(kind)
    for residency, _ in both.only_there:
        kinds.setdefault(residency.tensor, set()).add(ONLY_THERE)
    differing = []
    for tensor, seen in kinds.items():
        mine, other = here.moved_bytes.get(tensor, 0), there.moved_bytes.get(tensor, 0)
        if mine and not other:
            seen.add(SPILLED_HERE)
        if other and not mine:
            seen.add(SPILLED_THERE)
        kind = next((kind for kind in KINDS if kind in seen), SAME)
        if kind != SAME:
            differing.append(Difference(tensor, kind, mine, other))
    return sorted(differing, key=lambda d: (-abs(d.delta_bytes), KINDS.index(d.kind), d.tensor))


@dataclass(frozen=True)
class ComparedStays:
    """Each stay here and how the other plan has it; and the stays that only the other plan has."""

    there: Any
    by: str
    kinds: list[tuple[sp.Residency, str]]
    only_there: list[tuple[sp.Residency, Columns]]


def compared_residencies(
    here: DisplayedPlan, there: DisplayedPlan, by: str = "operator"
) -> ComparedStays:
    """How the stays of two plans differ; the last result is kept with the plan here."""
    compared: ComparedStays | None = here.__dict__.get(KEPT)
    if compared is None or compared.there() is not there or compared.by != by:
        moved = warp(here, there, by)
        kinds, alone = stay_kinds(here, there, moved), only_there(here, there, moved)
        compared = here.__dict__[KEPT] = ComparedStays(weakref.ref(there), by, kinds, alone)
    return compared


def stay_kinds(
    here: DisplayedPlan, there: DisplayedPlan, moved: Warp = AS_IS
) -> list[tuple[sp.Residency, str]]:
    """Each stay of one plan and how the other plan has it, with its steps moved onto the
    first's."""
    exact, timed, boxes = set(), set(), set()
    tensors: dict[str, list[Columns]] = {}
    for residency in there.report.residencies:
        columns = moved_columns(there.columns(residency), moved)
        tensors.setdefault(residency.tensor, []).append(columns)
        boxes.add((residency.tensor, residency.piece.box))
        key = (residency.tensor, residency.piece.box, residency.memory, columns)
        timed.add(key)
        exact.add((*key, _starts(residency)))
    times = {name: joined(columns) for name, columns in tensors.items()}
    pairs = []
    for residency in here.report.residencies:
        columns = here.columns(residency)
        key = (residency.tensor, residency.piece.box, residency.memory, columns)
        if (*key, _starts(residency)) in exact:
            kind = SAME
        elif key in timed:
            kind = MOVED
        elif not _meets(columns, times.get(residency.tensor, NEVER)):
            kind = ONLY_HERE
        else:
            kind = RETIMED if (residency.tensor, residency.piece.box) in boxes else CUT
        pairs.append((residency, kind))
    return pairs


def only_there(
    here: DisplayedPlan, there: DisplayedPlan, moved: Warp = AS_IS
) -> list[tuple[sp.Residency, Columns]]:
    """Stays of the other plan in whose steps the one here does not have the tensor on chip.

    With their steps on those of the plan here.
    """
    tensors: dict[str, list[Columns]] = {}
    for residency in here.report.residencies:
        tensors.setdefault(residency.tensor, []).append(here.columns(residency))
    times = {name: joined(columns) for name, columns in tensors.items()}
    placed = [(s, moved_columns(there.columns(s), moved)) for s in there.report.residencies]
    return [(s, at) for s, at in placed if not _meets(at, times.get(s.tensor, NEVER))]


def joined(columns: Sequence[Columns]) -> Times:
    """The union of time ranges, as the starts and the ends of its parts, rising."""
    starts: list[float] = []
    stops: list[float] = []
    for start, stop in sorted(columns):
        if stops and start <= stops[-1]:
            stops[-1] = max(stops[-1], stop)
        else:
            starts.append(start)
            stops.append(stop)
    return starts, stops


def moved_columns(columns: tuple[int, int], moved: Warp) -> Columns:
    """Steps of the other plan on those of the plan here; rounded where they are nearly whole."""
    if moved.same:
        return columns
    left, right = (moved(place) for place in columns)
    return (_whole(left), _whole(right))


def _whole(place: float) -> float:
    return float(round(place)) if abs(place - round(place)) < 0.01 else place


def operator_kinds(here: DisplayedPlan, there: DisplayedPlan) -> dict[str, str]:
    """Operators that differ, each with the first of `KINDS` of what it writes, or with `ORDER`."""
    kinds: dict[str, str] = {}
    order = {kind: i for i, kind in enumerate(KINDS)}
    for item in differences(here, there):
        writer = here.graph.producer.get(item.tensor)
        if writer is None:
            continue
        name = here.graph.operators[writer].name
        if name not in kinds or order[item.kind] < order[kinds[name]]:
            kinds[name] = item.kind
    for name in reordered(here, there):
        kinds.setdefault(name, ORDER)
    return kinds


def reordered(here: DisplayedPlan, there: DisplayedPlan) -> list[str]:
    """The fewest operators that must change their places to make one order the other."""
    ours, theirs = spans_of(here), spans_of(there)
    pairs = [
        ((float(theirs[name][0]), float(i)), name)
        for i, name in enumerate(sorted(ours, key=lambda name: ours[name]))
        if name in theirs
    ]
    kept = set(rising([(a + 1e-9 * b, b) for (a, b), _ in pairs]))
    return [name for (a, b), name in pairs if (a + 1e-9 * b, b) not in kept]


def fields_that_differ(
    here: Mapping[str, Any], there: Mapping[str, Any]
) -> list[tuple[str, Any, Any]]:
    """Name, value there and value here of the fields in which two problems differ."""
    if not here or not there:
        return []
    both = that_count(here), that_count(there)
    rows = [
        (name, *(one.get(name, usual(name)) for one in reversed(both)))
        for name in dict.fromkeys([*both[0], *both[1]])
    ]
    return [row for row in rows if row[1] != row[2]]


def totals(here: DisplayedPlan, there: DisplayedPlan) -> list[tuple[str, float, float, str]]:
    """Totals of the plans: name, here, in the pinned one, and the unit (`B`, `s` or `J`).

    Of allocations those of addresses alone.
    """
    if allocations(here, there):
        return [
            (name, float(getattr(here.report, of)), float(getattr(there.report, of)), "B")
            for name, of in (("highest address", "extent_bytes"), ("live at once", "peak_bytes"))
        ]
    rows: Sequence[tuple[str, str]] = (
        ("spill traffic", "noncompulsory_bytes"),
        ("traffic", "traffic_bytes"),
        ("peak", "peak_bytes"),
    )
    sums = [
        (name, float(getattr(here.report, of)), float(getattr(there.report, of)), "B")
        for name, of in rows
    ]
    if here.stream is not None and there.stream is not None:
        sums += _streamed(here.stream, there.stream)
    sums.append(("latency", here.trace.makespan_s, there.trace.makespan_s, "s"))
    return [*sums, ("energy", here.trace.energy_j, there.trace.energy_j, "J")]


def _streamed(here: Stream, there: Stream) -> list[tuple[str, float, float, str]]:
    """The same for plans that stream their parameters."""
    return [
        ("rings and activations", float(here.memory_bytes), float(there.memory_bytes), "B"),
        ("rings", float(here.ring_bytes), float(there.ring_bytes), "B"),
        ("delay", here.details.delay_s, there.details.delay_s, "s"),
    ]


def _meets(columns: Columns, times: Times) -> bool:
    starts, stops = times
    i = bisect_left(starts, columns[1]) - 1  # the last that begins before the end
    return i >= 0 and stops[i] > columns[0]


def _starts(residency: sp.Residency) -> tuple[int, ...]:
    return tuple(span.start for span in residency.spans)
