"""What a peak is made of, by kind, block and tensor, and the cheapest change that lowers each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from planners.audits.blame.changes import ADDRESSES, PeakChange, changes_of
from planners.audits.blame.parts import PADDING, PeakPart, parts_of_memory, parts_of_plan
from planners.audits.shown import of_allocation
from planners.audits.verdict.audit import Audit
from planners.core.display import Displayed, Fact
from planners.core.errors import BadInput
from planners.core.plan import Plan
from planners.core.progress import Clock
from planners.core.units import format_bytes
from planners.simulator.claims import check

AUDITED_ADDRESSES = "addresses"
"""What audits call the change of addresses alone."""


@dataclass(frozen=True)
class BlamedShare:
    """A kind, block or tensor: its bytes at the peak, and the cheapest change that makes these
    fewer and the peak lower; None where no plan that was tried does."""

    name: str
    size_bytes: int
    cheapest: PeakChange | None


@dataclass(frozen=True)
class Blame(Displayed):
    """The peak of a plan: the highest address in use, in bytes, and what lies below it when most
    bytes are held, in `step` (from 0), while `operator` runs.

    `parts` together are `peak_bytes`. `changes` are plans that need less, the cheapest first; of
    another tool's in the order in which an audit weighs them.
    """

    name: str
    peak_bytes: int
    step: int
    operator: str
    parts: tuple[PeakPart, ...]
    changes: tuple[PeakChange, ...]
    finished: bool = True

    def by_kind(self) -> tuple[BlamedShare, ...]:
        return self._shares(lambda part: part.kind)

    def by_block(self) -> tuple[BlamedShare, ...]:
        """By the block of the model that makes each tensor; of padding none."""
        return self._shares(lambda part: "" if part.kind == PADDING else part.block or "(no block)")

    def by_tensor(self) -> tuple[BlamedShare, ...]:
        return self._shares(lambda part: part.tensor)

    def _shares(self, key: Callable[[PeakPart], str]) -> tuple[BlamedShare, ...]:
        sizes = _sums(self.parts, key)
        shares = [
            BlamedShare(name, size, self._cheapest(key, name, size))
            for name, size in sizes.items()
            if name
        ]
        return tuple(sorted(shares, key=lambda share: (-share.size_bytes, share.name)))

    def _cheapest(
        self, key: Callable[[PeakPart], str], name: str, size_bytes: int
    ) -> PeakChange | None:
        for change in self.changes:
            if change.parts and _sums(change.parts, key).get(name, 0) < size_bytes:
                return change
        return None

    def facts(self) -> list[Fact]:
        kinds = [(share.name, _share_text(share)) for share in self.by_kind()]
        where = f"{format_bytes(self.peak_bytes)} in step {self.step + 1} ({self.operator})"
        return [("Peak", self.name), ("in all", where), *kinds]

    def to_json(self) -> dict[str, Any]:
        """Everything but the plans, as JSON holds it."""

        def listed(shares: Sequence[BlamedShare]) -> list[dict[str, Any]]:
            return [
                {
                    "name": share.name,
                    "size_bytes": share.size_bytes,
                    "cheapest": self.changes.index(share.cheapest) if share.cheapest else None,
                }
                for share in shares
            ]

        names = "kind tensor words wish peak_bytes saved_bytes more_bytes more_macs proven".split()
        return {
            "name": self.name,
            "peak_bytes": self.peak_bytes,
            "step": self.step,
            "operator": self.operator,
            "kinds": listed(self.by_kind()),
            "blocks": listed(self.by_block()),
            "tensors": listed(self.by_tensor()),
            "changes": [{name: getattr(c, name) for name in names} for c in self.changes],
            "finished": self.finished,
        }


def _sums(parts: Sequence[PeakPart], key: Callable[[PeakPart], str]) -> dict[str, int]:
    sums: dict[str, int] = {}
    for part in parts:
        sums[key(part)] = sums.get(key(part), 0) + part.size_bytes
    return sums


def _share_text(share: BlamedShare) -> str:
    if share.cheapest is None:
        return format_bytes(share.size_bytes)
    then = format_bytes(share.cheapest.peak_bytes)
    return f"{format_bytes(share.size_bytes)}; {share.cheapest.words}: a peak of {then}"


def blame_plan(
    plan: Plan, *, time_limit: float = 30.0, should_stop: Callable[[], bool] | None = None
) -> Blame:
    """Blame a plan of any planner. Raises `InvalidPlan` where it is wrong, `BadInput` for one of an
    allocation: blame what was audited, and for one in several memories."""
    if of_allocation(plan.graph):
        raise BadInput(f"{plan.graph.name!r:.60} is an allocation: blame its file")
    if plan.slow_memories:
        names = " and ".join((plan.machine.onchip, *plan.slow_memories))
        raise BadInput(f"the peak of one memory is taken apart; this plan lies in {names}")
    clock = Clock(time_limit, should_stop=should_stop)
    report = check(plan)
    parts = parts_of_plan(plan, report)
    changes = sorted(changes_of(plan, report, parts, clock), key=lambda change: change.cost)
    step = report.peak_step
    operator = plan.program.steps[step] if step < len(plan.program.steps) else ""
    rest = parts, tuple(changes), not clock.expired()
    return Blame(plan.graph.name, report.extent_bytes, step, operator, *rest)


def blame_audit(audit: Audit) -> Blame:
    """Blame another tool's plan, of its memory with most bytes: what its changes were found to
    need, and the better addresses as a plan that `check` replays."""
    memory = audit.memories[0]
    parts = parts_of_memory(audit.plan, memory)
    changes = []
    if memory.judged_bytes > memory.least_bytes:
        better = audit.as_plan(better=True)
        report = check(better)
        changes.append(
            PeakChange(
                ADDRESSES,
                "",
                report.extent_bytes,
                memory.judged_bytes - report.extent_bytes,
                0,
                0,
                memory.proven,
                _packed(parts, memory.judged_bytes - report.extent_bytes),
                better,
            )
        )
    for gain in audit.gains:
        if gain.saved_bytes > 0 and gain.change != AUDITED_ADDRESSES:
            sizes = gain.extent_bytes, gain.saved_bytes
            changes.append(PeakChange(gain.change, "", *sizes, 0, 0, gain.proven, (), None))
    step = memory.worst_step
    steps = audit.plan.steps
    operator = steps[step] if 0 <= step < len(steps) else ""
    name = audit.plan.source.rsplit("/", 1)[-1]
    return Blame(name, memory.judged_bytes, step, operator, parts, tuple(changes))


def _packed(parts: Sequence[PeakPart], less_bytes: int) -> tuple[PeakPart, ...]:
    """The same parts with so much less padding: other addresses change nothing else."""
    left = [
        PeakPart(p.kind, p.tensor, p.block, p.size_bytes - less_bytes * (p.kind == PADDING))
        for p in parts
    ]
    return tuple(part for part in left if part.size_bytes)
