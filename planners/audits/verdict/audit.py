"""The verdict on another tool's plan: one sentence, the facts, and the better plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planners.allocation.problem.model import live_peak
from planners.audits.foreign import ForeignPlan, ForeignTensor
from planners.audits.shown import as_plan
from planners.audits.verdict.gains import AuditGain, gains
from planners.audits.verdict.judge import BlamedTensor, MemoryAudit, allowed_overlaps, blamed, judge
from planners.core.errors import UnknownName
from planners.core.machine import Machine, load_machine
from planners.core.plan import Plan
from planners.core.progress import Clock

if TYPE_CHECKING:
    from planners.audits.readers.tflm_arena import ArenaNeed

BY_RIGHT = (
    "outputs lie over inputs as the file says: right for the runtime's reference kernels alone"
)
TFLM = "TensorFlow Lite Micro"
OURS = "spillway audit"
"""What made the better placement, where it is shown as a plan."""


@dataclass(frozen=True)
class Audit:
    """A plan and what is found of each of its memories, the one with most bytes first.

    `gains`: what each change by itself would buy, where the network is known. Bytes are those of
    all memories together. `arena`: what TensorFlow Lite Micro's arena must have in all, whose plan
    is of the head.
    """

    plan: ForeignPlan
    memories: tuple[MemoryAudit, ...]
    gains: tuple[AuditGain, ...] = ()
    arena: ArenaNeed | None = None

    @property
    def broken(self) -> bool:
        """Whether the plan cannot be run as it is."""
        return any(memory.broken for memory in self.memories)

    @property
    def proven(self) -> bool:
        return all(memory.proven for memory in self.memories)

    @property
    def peak_bytes(self) -> int | None:
        """The tool's extents together; None where it placed nothing."""
        extents = [m.peak_bytes for m in self.memories if m.peak_bytes is not None]
        return sum(extents) if extents else None

    @property
    def judged_bytes(self) -> int:
        """What a limit is compared with: the tool's extents, or the least where it has none."""
        return sum(m.judged_bytes for m in self.memories)

    @property
    def floor_bytes(self) -> int:
        return sum(m.floor_bytes for m in self.memories)

    @property
    def least_bytes(self) -> int:
        return sum(m.least_bytes for m in self.memories)

    @property
    def bound_bytes(self) -> int:
        return sum(m.bound_bytes for m in self.memories)

    @property
    def binding(self) -> tuple[str, ...]:
        return tuple(id for memory in self.memories for id in memory.binding)

    def name(self, id: str) -> str:
        """A tensor as people call it."""
        return self._names.get(id) or id

    @cached_property
    def _names(self) -> dict[str, str]:
        return {t.id: t.called for t in self.plan.tensors}

    @property
    def with_roles(self) -> tuple[ForeignTensor, ...]:
        """Copies, maps with borders and such, as the file says what they are; the largest first,
        and of those that are the same bytes one."""
        by_bytes = {(t.memory, t.alias or t.id, t.role): t for t in self.plan.tensors if t.role}
        return tuple(sorted(by_bytes.values(), key=lambda t: -t.size_bytes))

    def step(self, number: int) -> str:
        """A step as people call it."""
        steps = self.plan.steps
        return f"{number} ({steps[number]})" if 0 <= number < len(steps) else str(number)

    def better(self) -> ForeignPlan:
        """The same tensors at the addresses of the least extents found."""
        return replace(self.plan, tensors=tuple(self._moved()), own_peak={}, notes=())

    def _moved(self) -> Iterator[ForeignTensor]:
        offsets = {id: at for memory in self.memories for id, at in memory.offsets.items()}
        by_alias = {
            (t.memory, t.alias): offsets[t.id]
            for t in self.plan.tensors
            if t.alias and t.id in offsets
        }
        for tensor in self.plan.tensors:
            at = offsets.get(tensor.id, by_alias.get((tensor.memory, tensor.alias)))
            yield replace(tensor, offset=at)

    def as_plan(
        self,
        *,
        better: bool = False,
        memory: str | None = None,
        machine: str | Machine = "npu_small",
    ) -> Plan:
        """The tool's placement, or the `better` one, as a plan that the explorer shows.

        Of one memory: the one with most bytes, unless it is named. Raises `BadInput` where tensors
        have no place, or lie on each other.
        """
        source = self.better() if better else self.plan
        planner = OURS if better else self.plan.tool
        return as_plan(source, memory or self.memories[0].memory, load_machine(machine), planner)

    def to_blame(self, limit_bytes: int) -> tuple[BlamedTensor, ...]:
        """The tensors for which the plan is larger than a limit; empty where it is not.

        Of one memory those that end above it; of several those above each one's least extent.
        """
        if self.judged_bytes <= limit_bytes:
            return ()
        if len(self.memories) == 1:
            return blamed(self.plan.inside(self.memories[0].memory), limit_bytes)
        return tuple(tensor for memory in self.memories for tensor in memory.blame)

    def sentence(self) -> str:
        """The verdict in one sentence."""
        return f"{self.plan.tool}: {self._verdict()}"

    def better_sentence(self) -> str:
        """What the better placement is, in one sentence."""
        how = "proven least" if self.proven else f"{self.bound_bytes:,} are proven to be needed"
        return (
            f"the better placement of {self.plan.tool}'s tensors: {self.least_bytes:,} bytes, {how}"
        )

    def _verdict(self) -> str:
        peak, least = self.peak_bytes, self.least_bytes
        if self.broken:
            return self._what_is_wrong()
        what = "the proven minimum" if self.proven else "the best found"
        if peak is None:
            return f"no addresses in the file; {what} of these lifetimes is {least:,} bytes"
        if self.proven and peak == least:
            load = ": as many are live at once" if self._loaded else ""
            return f"at the proven minimum of {least:,} bytes{load}"
        if peak == least:
            return f"{peak:,} bytes; {self.bound_bytes:,} are proven to be needed, the rest is open"
        high = sum(len(memory.blame) for memory in self.memories)
        tensors = "1 tensor ends" if high == 1 else f"{high} tensors end"
        over = f"{peak / least - 1:.1%} above {what}" if least else f"more than {what}"
        return f"{over}: {peak:,} bytes where {least:,} do; {tensors} higher than that"

    @property
    def _loaded(self) -> bool:
        """Whether the least is what is live at once: not so where some of it shares bytes."""
        return self.least_bytes == sum(
            live_peak([t.lifetime for t in self.plan.inside(m.memory)])[0] for m in self.memories
        )

    def _what_is_wrong(self) -> str:
        wrong = [conflict for memory in self.memories for conflict in memory.conflicts]
        if not wrong:
            ids = [id for memory in self.memories for id in memory.misaligned]
            what = "1 tensor is" if len(ids) == 1 else f"{len(ids)} tensors are"
            return f"broken: {what} not aligned: {', '.join(repr(self.name(i)) for i in ids[:3])}"
        first = min(wrong, key=lambda conflict: conflict.step)
        pairs = "1 pair of tensors shares" if len(wrong) == 1 else f"{len(wrong)} pairs share"
        return (
            f"broken: {pairs} bytes while both are live, first {self.name(first.one)!r:.60} and "
            f"{self.name(first.other)!r:.60} in step {self.step(first.step)}, "
            f"{first.stop - first.start:,} bytes from {first.start:,}"
        )

    def facts(self) -> dict[str, Any]:
        """Everything, as JSON holds it."""
        return {
            "tool": self.plan.tool,
            "source": self.plan.source,
            "sentence": self.sentence(),
            "tensors": len(self.plan.tensors),
            "conflicts": [asdict(c) for memory in self.memories for c in memory.conflicts],
            "misaligned": [id for memory in self.memories for id in memory.misaligned],
            "peak_bytes": self.peak_bytes,
            "floor_bytes": self.floor_bytes,
            "least_bytes": self.least_bytes,
            "bound_bytes": self.bound_bytes,
            "proven": self.proven,
            "binding": [self.name(id) for id in self.binding],
            "memories": [self._memory_facts(memory) for memory in self.memories],
            "gains": [asdict(gain) for gain in self.gains],
            "notes": list(self.plan.notes),
            "roles": [
                {"id": t.id, "name": t.name or t.id, "role": t.role, "size_bytes": t.size_bytes}
                for t in self.with_roles
            ],
            **({"arena": self.arena.facts()} if self.arena else {}),
        }

    def _memory_facts(self, memory: MemoryAudit) -> dict[str, Any]:
        names = "memory tensors unplaced peak_bytes own_bytes capacity_bytes floor_bytes worst_step"
        plain = {name: getattr(memory, name) for name in names.split()}
        return {
            **plain,
            "conflicts": len(memory.conflicts),
            "least_bytes": memory.least_bytes,
            "bound_bytes": memory.bound_bytes,
            "proven": memory.proven,
            "binding": [self.name(id) for id in memory.binding],
            "binds": "placement" if memory.packing else "bytes live at once",
            "blame": [asdict(b) | {"name": self.name(b.id)} for b in memory.blame],
        }


def audit_plan(
    plan: ForeignPlan,
    *,
    memory: str | None = None,
    changes: bool = True,
    measure: bool = True,
    time_limit: float = 60.0,
    should_stop: Callable[[], bool] | None = None,
) -> Audit:
    """Judge a plan, or one of its memories, within `time_limit` seconds.

    With `changes`, say what each would buy where the plan has its network; with `measure`, run the
    runtime to record its arena. Raises `BadInput` where
    the plan contradicts itself, `UnknownName` for a memory it lacks.
    """
    names = plan.memories
    if memory is not None and memory not in names:
        raise UnknownName("memory", memory, list(names)[:5])
    if memory is not None:
        names = (memory,)
        plan = replace(plan, tensors=tuple(t for t in plan.tensors if t.memory == memory))
    clock = Clock(time_limit, should_stop=should_stop)
    weigh_changes = changes and plan.graph is not None and len(names) == 1
    allowed = allowed_overlaps(plan)
    audited = []
    for k, name in enumerate(names):
        part = clock.among(len(names) - k + weigh_changes)  # The changes are another piece.
        audited.append(judge(plan, name, part, allowed))
    if allowed is not None:
        plan = replace(plan, notes=(*plan.notes, BY_RIGHT))
    bought = gains(plan, audited[0], clock, allowed is not None) if weigh_changes else ()
    return Audit(plan, tuple(audited), tuple(bought), _arena(plan, audited, measure))


def _arena(plan: ForeignPlan, audited: Sequence[MemoryAudit], measure: bool) -> ArenaNeed | None:
    """What TensorFlow Lite Micro's arena must have, where the plan is the one of a file."""
    head = audited[0].peak_bytes
    if plan.tool != TFLM or head is None or not Path(plan.source).is_file():
        return None
    from planners.audits.readers.tflm_arena import arena_need  # and TensorFlow Lite's format

    return arena_need(plan.source, head, measure=measure)
