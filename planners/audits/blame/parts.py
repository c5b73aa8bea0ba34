"""What lies on chip at the peak of a plan, byte for byte, by kind, block and tensor."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

from planners.audits.foreign import ForeignPlan
from planners.audits.verdict.judge import MemoryAudit
from planners.core.plan import Plan
from planners.simulator.check import CheckReport
from planners.simulator.records.residency import Residency

PeakKind = Literal["weights", "activations", "state", "scratch", "line buffers", "padding"]
KIND_OF: dict[str, PeakKind] = {"parameter": "weights", "state": "state"}
PADDING: PeakKind = "padding"
SCRATCH_SIGN = "scratch "


@dataclass(frozen=True, slots=True)
class PeakPart:
    """Bytes of one tensor that are on chip at the peak; `block` is that of the operator that makes
    it, or of the first that reads it.

    `line buffers` are tensors that are never all on chip at once. `padding` is no tensor: room
    below the highest address that nothing fills at the peak.
    """

    kind: PeakKind
    tensor: str
    block: str
    size_bytes: int


def parts_of_plan(plan: Plan, report: CheckReport) -> tuple[PeakPart, ...]:
    """What fills a plan's memory when it is fullest, the largest first; together its extent."""
    graph, bytes_at_peak = plan.graph, dict[str, int]()
    for residency in live_at_peak(report.residencies):
        bytes_at_peak[residency.tensor] = (
            bytes_at_peak.get(residency.tensor, 0) + residency.size_bytes
        )
    most = most_elements(
        [residency for residency in report.residencies if residency.tensor in bytes_at_peak]
    )
    parts = []
    for name, size in bytes_at_peak.items():
        tensor = graph.tensors[name]
        kind = KIND_OF.get(tensor.kind, "activations")
        if kind == "activations" and most[name] < tensor.elements:
            kind = "line buffers"
        users = [graph.producer[name]] if name in graph.producer else graph.consumers[name]
        block = graph.operators[users[0]].block if users else ""
        parts.append(PeakPart(kind, name, block, size))
    return _with_padding(parts, report.extent_bytes)


def live_at_peak(residencies: Sequence[Residency]) -> list[Residency]:
    """The stays of the first moment at which most bytes are on chip.

    What an instruction frees is there until it has run.
    """
    times, loads = _loads(residencies, lambda residency: residency.size_bytes)
    at = times[max(range(len(times)), key=loads.__getitem__)] if times else 0
    return [
        s for s in residencies if s.start_instruction <= at and not 0 <= s.stop_instruction <= at
    ]


def most_elements(residencies: Iterable[Residency]) -> dict[str, int]:
    """By tensor, the most of its elements that are on chip at once."""
    of: dict[str, list[Residency]] = {}
    for residency in residencies:
        of.setdefault(residency.tensor, []).append(residency)
    return {
        name: max(_loads(its, lambda residency: residency.piece.elements)[1])
        for name, its in of.items()
    }


def _loads(
    residencies: Sequence[Residency], size: Callable[[Residency], int]
) -> tuple[list[int], list[int]]:
    """The instructions at which stays begin or end, and what is there from each on."""
    changes: dict[int, int] = {}
    for residency in residencies:
        changes[residency.start_instruction] = changes.get(residency.start_instruction, 0) + size(
            residency
        )
        if residency.stop_instruction >= 0:
            end = residency.stop_instruction
            changes[end] = changes.get(end, 0) - size(residency)
    times = sorted(changes)
    return times, list(accumulate(changes[time] for time in times))


def parts_of_memory(plan: ForeignPlan, memory_audit: MemoryAudit) -> tuple[PeakPart, ...]:
    """The same of a memory of another tool's plan, in the step with most bytes live."""
    parts = [
        PeakPart(
            "scratch" if t.id.startswith(SCRATCH_SIGN) else "activations",
            t.name or t.id,
            "",
            live_bytes,
        )
        for t in plan.inside(memory_audit.memory)
        if (live_bytes := t.held_in(memory_audit.worst_step))
    ]
    return _with_padding(parts, memory_audit.judged_bytes)


def _with_padding(parts: Iterable[PeakPart], extent_bytes: int) -> tuple[PeakPart, ...]:
    ordered: list[PeakPart] = []
    for part in parts:
        insort(ordered, part, key=lambda p: (-p.size_bytes, p.tensor))
    left = extent_bytes - sum(part.size_bytes for part in ordered)
    return (*ordered, *([PeakPart(PADDING, "", "", left)] if left > 0 else []))
