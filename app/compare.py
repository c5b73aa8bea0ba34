"""Two plans side by side: which stays differ, what spills in one only, what it adds up to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import planners as sp
from app.shown import Shown
from app.streaming import Stream

SPILLED_HERE, SPILLED_THERE = "spilled here only", "spilled in the pinned only"
ONLY_HERE, ONLY_THERE = "only here", "only in the pinned"
RETIMED, MOVED, SAME = "at other steps", "at another address", "the same"
KINDS = (SPILLED_HERE, SPILLED_THERE, ONLY_HERE, ONLY_THERE, RETIMED, MOVED)


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


def comparable(here: Shown | None, there: Shown | None) -> bool:
    """Whether tensors of one plan are tensors of the other."""
    return bool(here and there) and here.graph.digest == there.graph.digest  # type: ignore[union-attr]


def differences(here: Shown, there: Shown) -> list[Difference]:
    """Tensors that differ, those first whose traffic differs most."""
    kinds: dict[str, set[str]] = {}
    for stay, kind in stay_kinds(here, there):
        kinds.setdefault(stay.tensor, set()).add(kind)
    for stay in only_in(there, here):
        kinds.setdefault(stay.tensor, set()).add(ONLY_THERE)
    found = []
    for tensor, seen in kinds.items():
        mine, other = here.moved_bytes.get(tensor, 0), there.moved_bytes.get(tensor, 0)
        if mine and not other:
            seen.add(SPILLED_HERE)
        if other and not mine:
            seen.add(SPILLED_THERE)
        kind = next((kind for kind in KINDS if kind in seen), SAME)
        if kind != SAME:
            found.append(Difference(tensor, kind, mine, other))
    return sorted(found, key=lambda d: (-abs(d.delta_bytes), KINDS.index(d.kind), d.tensor))


def stay_kinds(here: Shown, there: Shown) -> list[tuple[sp.Residency, str]]:
    """Each stay of one plan, and how the other plan has it."""
    exact, timed, tensors = set(), set(), _columns_by_tensor(there)
    for stay in there.report.residencies:
        key = (stay.tensor, stay.piece.box, stay.memory, there.columns(stay))
        timed.add(key)
        exact.add((*key, _starts(stay)))
    found = []
    for stay in here.report.residencies:
        key = (stay.tensor, stay.piece.box, stay.memory, here.columns(stay))
        if (*key, _starts(stay)) in exact:
            kind = SAME
        elif key in timed:
            kind = MOVED
        else:
            kind = (
                RETIMED if _meets(here.columns(stay), tensors.get(stay.tensor, [])) else ONLY_HERE
            )
        found.append((stay, kind))
    return found


def only_in(one: Shown, other: Shown) -> list[sp.Residency]:
    """Stays of one plan in whose steps the other does not have the tensor on chip."""
    tensors = _columns_by_tensor(other)
    return [
        stay
        for stay in one.report.residencies
        if not _meets(one.columns(stay), tensors.get(stay.tensor, []))
    ]


def totals(here: Shown, there: Shown) -> list[tuple[str, float, float, str]]:
    """What the plans add up to: name, here, in the pinned one, and the unit (`B`, `s` or `J`)."""
    rows: Sequence[tuple[str, str]] = (
        ("spill traffic", "noncompulsory_bytes"),
        ("traffic", "traffic_bytes"),
        ("peak", "peak_bytes"),
    )
    found = [
        (name, float(getattr(here.report, of)), float(getattr(there.report, of)), "B")
        for name, of in rows
    ]
    if here.stream is not None and there.stream is not None:
        found += _streamed(here.stream, there.stream)
    found.append(("latency", here.trace.makespan_s, there.trace.makespan_s, "s"))
    return [*found, ("energy", here.trace.energy_j, there.trace.energy_j, "J")]


def _streamed(here: Stream, there: Stream) -> list[tuple[str, float, float, str]]:
    """The same of plans that stream their parameters."""
    return [
        ("rings and activations", float(here.memory_bytes), float(there.memory_bytes), "B"),
        ("rings", float(here.ring_bytes), float(there.ring_bytes), "B"),
        ("delay", here.delay_s, there.delay_s, "s"),
    ]


def _columns_by_tensor(shown: Shown) -> dict[str, list[tuple[int, int]]]:
    found: dict[str, list[tuple[int, int]]] = {}
    for stay in shown.report.residencies:
        found.setdefault(stay.tensor, []).append(shown.columns(stay))
    return found


def _meets(columns: tuple[int, int], others: Sequence[tuple[int, int]]) -> bool:
    return any(a < columns[1] and columns[0] < b for a, b in others)


def _starts(stay: sp.Residency) -> tuple[int, ...]:
    return tuple(span.start for span in stay.spans)
