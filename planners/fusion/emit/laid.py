"""Groups with the way that each runs and its addresses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from planners.core.graph import Graph
from planners.core.machine import Machine
from planners.core.program import Memory
from planners.fusion.emit.layout import Arranger, GroupLayout
from planners.fusion.emit.residents import FoundOnChip
from planners.fusion.tile.strips import Group
from planners.fusion.tile.ways import GroupPlan


@dataclass(frozen=True)
class LaidGroup:
    """A group with the way it runs and its addresses.

    The kept parameters of `early` members are loaded before it begins: while the group before it
    runs, after what that one loads in its step `early_at`.
    """

    name: str
    group: Group
    plan: GroupPlan
    layout: GroupLayout
    arranger: Arranger
    stays: FoundOnChip = field(default_factory=FoundOnChip)
    early: tuple[int, ...] = ()
    early_at: int = 0

    def ring_name(self, tensor: str) -> str:
        """Of the memory that holds a tensor's rows."""
        return f"{self.name} rows of {tensor}"

    def step_names(self) -> list[str]:
        """Of its strips."""
        last, count = self.group.members[-1].op.name, self.plan.strips
        return [f"{self.name} {last} {i + 1}/{count}" for i in range(count)]


def lay_out(
    graph: Graph,
    groups: Sequence[tuple[Group, GroupPlan]],
    budget_bytes: int,
    *,
    double_buffer: bool = True,
) -> tuple[LaidGroup, ...]:
    """Addresses for each group within the budget."""
    laid = []
    for number, (group, plan) in enumerate(groups):
        arranger = Arranger(graph, group, plan)
        layout = arranger.arrange(budget_bytes, double_buffer)
        laid.append(LaidGroup(f"g{number}", group, plan, layout, arranger))
    return tuple(laid)


def memories_of(
    machine: Machine, groups: Sequence[LaidGroup], budget_bytes: int
) -> tuple[Memory, ...]:
    """The memories of a program of these groups: their line buffers lie within the scratchpad."""
    memories = [
        Memory(machine.onchip, budget_bytes),
        Memory(machine.offchip, None, offchip=True, addressed=False),
    ]
    if machine.parameters != machine.offchip:
        memories.append(Memory(machine.parameters, None, offchip=True, addressed=False))
    for laid in groups:
        memories += [
            Memory(
                laid.ring_name(tensor),
                ring.size_bytes,
                True,
                False,
                True,
                machine.onchip,
                ring.base,
            )
            for tensor, ring in laid.layout.rings.items()
        ]
    return tuple(memories)
