"""A rectangle of the address map at another address: the plan rewritten, and what is in the way.

Pure functions over plans; no Panel here. Whether a moved plan is valid is for `check` to say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

import planners as sp
from planners.core.details import MovedByHand
from planners.core.errors import BadInput
from planners.core.integers import rounded_up
from planners.core.program import Compute, Instruction, Load, Operand, Piece, Region, Release, Store
from planners.core.units import format_bytes, parse_size

ALIGNMENT = 64  # bytes; an option of that name in the plan takes precedence
NO_END = 1 << 62
ROLLS = "{} is in a line buffer, whose rows roll with the tiles: none of them can be moved alone."
TURNS = "In a circular pool each address follows from the one before: no tensor can be moved alone."
RINGS = "In a ring each address follows from what was read before: nothing can be moved alone."
NOTE = "by hand: "


def moved_plan(
    plan: sp.Plan, report: sp.CheckReport, residency: sp.Residency, offset: int
) -> sp.Plan:
    """The plan with one stay at another address, in bytes; not checked here.

    What is held and moved does not depend on addresses, so the claims stay; the extent is computed
    anew, and a note and the details record the move. Raises `BadInput` where the stay cannot move
    alone.
    """
    if reason := why_fixed(plan, residency):
        raise BadInput(reason)
    region = placed_at(plan, residency)
    assert region.offset is not None
    start = residency.spans[
        0
    ].start  # the region's memory may be a window, with addresses of its own
    target = region._replace(offset=region.offset + offset - start)
    items = _rewritten(plan.program.instructions, residency, region, target)
    move = MovedByHand(residency.tensor, residency.start_step, start, offset)
    note = f"{NOTE}{residency.tensor} from {start:#x} to {offset:#x}"
    return replace(
        plan,
        program=replace(plan.program, instructions=tuple(items)),
        claims=_claims(plan, report, residency, offset),
        notes=(*plan.notes, note),
        details=replace(plan.details, moves=(*plan.details.moves, move)),
    )


def why_fixed(plan: sp.Plan, residency: sp.Residency) -> str:
    """Why a stay cannot be moved alone, in a line; empty where it can."""
    if plan.details.pool:
        return TURNS
    if plan.program.memory(placed_at(plan, residency).memory).circular:
        read = plan.graph.tensors[residency.tensor].kind == "parameter"
        return RINGS if read else ROLLS.format(residency.tensor)
    return ""


def fixed_stays(plan: sp.Plan, residencies: Sequence[sp.Residency]) -> list[bool]:
    """Which of many stays cannot be moved alone. The program is read once, and not for each."""
    circular = {memory.name for memory in plan.program.memories if memory.circular}
    if plan.details.pool or not circular:
        return [bool(plan.details.pool)] * len(residencies)
    firsts = {residency.start_instruction for residency in residencies}
    items = {n: item for n, item in enumerate(plan.program.instructions) if n in firsts}
    return [
        _region(items[residency.start_instruction], residency).memory in circular
        for residency in residencies
    ]


def placed_at(plan: sp.Plan, residency: sp.Residency) -> Region:
    """The region that a stay's first instruction gives it."""
    first = residency.start_instruction
    return _region(next(islice(plan.program.instructions, first, None)), residency)


def _region(item: Instruction, residency: sp.Residency) -> Region:
    if isinstance(item, Load):
        return item.target
    writes = item.writes if isinstance(item, Compute) else ()
    region = next((r for piece, r in writes if piece == residency.piece), None)
    return region or Region(residency.memory, residency.spans[0].start, residency.size_bytes)


def room_of(plan: sp.Plan, residency: sp.Residency) -> range:
    """The addresses of the memory that a stay lies in: all on chip, or a window of it."""
    memory = plan.program.memory(placed_at(plan, residency).memory)
    size = plan.budget_bytes if memory.size_bytes is None else memory.size_bytes
    first = 0
    while memory.parent is not None:
        first, memory = first + memory.base, plan.program.memory(memory.parent)
    return range(first, first + size)


def why_outside(plan: sp.Plan, residency: sp.Residency, offset: int) -> str:
    """Why a stay cannot lie at an address, whatever else is there; empty where it can."""
    room = room_of(plan, residency)
    if room.start <= offset and offset + residency.size_bytes <= room.stop:
        return ""
    what, memory = (
        f"{residency.tensor}, {format_bytes(residency.size_bytes)}",
        placed_at(plan, residency).memory,
    )
    return f"{what}, must lie in {memory}, from {at_text(room.start)} to {at_text(room.stop)}"


def _rewritten(
    instructions: Iterable[Instruction], residency: sp.Residency, old: Region, new: Region
) -> Iterator[Instruction]:
    last = residency.stop_instruction if residency.stop_instruction >= 0 else NO_END
    for index, item in enumerate(instructions):
        here = residency.start_instruction <= index <= last
        yield _moved(item, residency.piece, old, new) if here else item


def _moved(item: Instruction, piece: Piece, old: Region, new: Region) -> Instruction:
    """An instruction with a piece's region replaced wherever it names both."""

    def at(operand: Operand) -> Operand:
        return Operand(piece, new) if operand == (piece, old) else operand

    match item:
        case Load() | Store() if item.piece == piece:
            ends = [new if region == old else region for region in (item.source, item.target)]
            return replace(item, source=ends[0], target=ends[1])
        case Release() if (item.piece, item.region) == (piece, old):
            return replace(item, region=new)
        case Compute():
            reads, writes = tuple(map(at, item.reads)), tuple(map(at, item.writes))
            return replace(item, reads=reads, writes=writes)
    return item


def _claims(
    plan: sp.Plan, report: sp.CheckReport, residency: sp.Residency, offset: int
) -> sp.Claims:
    offchip = {memory.name for memory in plan.program.memories if memory.offchip}
    others = (r for r in report.residencies if r != residency and r.memory not in offchip)
    tops = [span.stop for r in others for span in r.spans]
    extent = max([*tops, offset + residency.size_bytes])
    return replace(plan.claims, extent_bytes=extent, solver=_solver(plan.claims.solver))


def _solver(name: str) -> str:
    return name if name.endswith("by hand") else f"{name}, then by hand"


# ---- what is in the way, and where there is room ---------------------------------------------


def last_of(residency: sp.Residency) -> int:
    """The instruction at which a stay ends."""
    return residency.stop_instruction if residency.stop_instruction >= 0 else NO_END


def beside(report: sp.CheckReport, residency: sp.Residency) -> list[sp.Residency]:
    """The other stays in its memory that overlap it in time."""
    return [
        other
        for other in report.residencies
        if other != residency
        and other.memory == residency.memory
        and other.start_instruction < last_of(residency)
        and residency.start_instruction < last_of(other)
    ]


def in_the_way(report: sp.CheckReport, residency: sp.Residency, offset: int) -> list[sp.Residency]:
    """The stays whose bytes a stay would take at another address."""
    stop = offset + residency.size_bytes
    return [
        other
        for other in beside(report, residency)
        if any(span.start < stop and offset < span.stop for span in other.spans)
    ]


def free_places(
    report: sp.CheckReport, residency: sp.Residency, room: range, alignment: int = ALIGNMENT
) -> list[int]:
    """Addresses of a `room` at which a stay fits, as low or as high as a hole allows, rising."""
    size, others = residency.size_bytes, beside(report, residency)
    edges = [rounded_up(room.start, alignment), room.stop - size]
    for other in others:
        for span in other.spans:
            edges += [rounded_up(span.stop, alignment), span.start - size]
    aligned = {edge // alignment * alignment for edge in edges}
    inside = (at for at in aligned if room.start <= at and at + size <= room.stop)
    return sorted(at for at in inside if not in_the_way(report, residency, at))


def alignment_of(plan: sp.Plan) -> int:
    """The alignment that a plan was made with, in bytes."""
    alignment = plan.options.get("alignment", ALIGNMENT)
    return alignment if isinstance(alignment, int) and alignment > 0 else ALIGNMENT


def address_of(text: str) -> int:
    """An address as it is typed: hexadecimal, bytes or a size. Raises `BadInput`."""
    plain = text.strip().removeprefix("@").replace(",", "")
    if plain.lower().startswith("0x"):
        try:
            return int(plain, 16)
        except ValueError:
            raise BadInput(f"{text.strip()!r:.40} is not an address; write e.g. 0x4000") from None
    return 0 if plain == "0" else parse_size(plain)


def stay_at(report: sp.CheckReport, tensor: str, step: int) -> sp.Residency | None:
    """The stay of a tensor at a step; else the next one, else the last."""
    residencies = [residency for residency in report.residencies if residency.tensor == tensor]
    ahead = [residency for residency in residencies if residency.stop_step > step]
    return ahead[0] if ahead else residencies[-1] if residencies else None


def at_text(offset: int) -> str:
    """An address in both notations."""
    return f"{offset:#x} ({format_bytes(offset)})"
