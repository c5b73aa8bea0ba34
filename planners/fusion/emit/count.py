"""How many instructions a group's program has: about, from its strips and tiles, before it is
written."""

from __future__ import annotations

from collections.abc import Collection

from planners.fusion.emit.layout import Arranger, GroupLayout


def instructions(arranger: Arranger, layout: GroupLayout, held: Collection[str] = ()) -> int:
    """Loads, computes, stores and releases; what comes and goes whole around it is left out."""
    group, plan, flows = arranger.group, arranger.plan, arranger.flows
    turns = {t: int(flows.turns(t)[0, 0]) for t in group.made}
    strips = int(flows.strips[0])
    total = sum(2 * strips for t in group.loaded if t not in held and t not in arranger.sliced)
    for unit, count in zip(arranger.units, layout.channels, strict=True):
        members = [(i, group.members[i]) for i in unit.members]
        channels = unit.channels
        if not channels:
            ((_, member),) = members
            alone = plan.channel_passes == 1 and member.sliced
            channels = member.channels if alone else count
        tiles = -(-channels // max(1, count))
        around = {t for _, m in members for t in m.op.inputs}
        loaded = [t for t in group.loaded if t in around & arranger.sliced and t not in held]
        total += 2 * len(loaded) * tiles * strips
        for i, member in members:
            for tensor in member.op.outputs:
                own = tiles if tensor in arranger.sliced else 1
                leaves = tensor in group.stored and tensor not in held
                total += turns[tensor] * own * (1 + leaves)
            refilled = 0 if i in plan.kept else 2 * len(member.op.parameters)
            total += turns[member.op.outputs[0]] * tiles * (1 + refilled)
    return total * len(arranger.passes()) * arranger.batches * arranger.bands.count
