"""What a program holds and must move, counted from its instructions without checking them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from planners.core.access import reduced
from planners.core.gc_pause import no_collection
from planners.core.graph import Graph
from planners.core.plan import Claims
from planners.core.program import (
    AddressSpace,
    Box,
    Compute,
    Load,
    Operand,
    Program,
    Region,
    Release,
    Store,
    piece_bytes,
)
from planners.core.progress import Clock
from planners.simulator.check import compulsory_bytes, known_figures
from planners.simulator.records.replayed import Counted, is_long


@dataclass(frozen=True, slots=True)
class Account:
    """Bytes at the fullest moment, the highest address, what must cross once, and what does."""

    peak_bytes: int
    extent_bytes: int
    compulsory_bytes: int
    traffic_bytes: int

    def claims(
        self, objective_bytes: int, bound_bytes: int, solver: str, clock: Clock, proven: bool = True
    ) -> Claims:
        """A planner's claims of a plan that moves this; reported to the callback as done.

        `proven`: that nothing beats the objective where it equals the bound.
        """
        clock.report("done", objective_bytes, bound_bytes)
        return Claims(
            status="optimal" if proven and bound_bytes == objective_bytes else "feasible",
            objective_bytes=objective_bytes,
            bound_bytes=bound_bytes,
            compulsory_bytes=self.compulsory_bytes,
            noncompulsory_bytes=self.traffic_bytes - self.compulsory_bytes,
            peak_bytes=self.peak_bytes,
            extent_bytes=self.extent_bytes,
            plan_s=clock.elapsed_s,
            solver=solver,
        )


def _counted(graph: Graph, program: Program) -> Counted | None:
    """A long program counted in columns; None for others, and where these do not say."""
    if not is_long(program):
        return None
    from planners.simulator.columns.replay import counted

    return counted(graph, program)


@no_collection()
def account(graph: Graph, program: Program) -> Account:
    """Count a program whose pieces stay until released.

    Sums must begin with channel 0 and end with the last one, and the parts of a piece begin with
    its first corner.
    """
    if (report := known_figures(graph, program)) is not None:
        return Account(
            report.peak_bytes, report.extent_bytes, report.compulsory_bytes, report.traffic_bytes
        )
    if (result := _counted(graph, program)) is not None:
        return Account(
            peak_bytes=max(result.occupancy, default=0),
            extent_bytes=result.extent_bytes,
            compulsory_bytes=compulsory_bytes(graph, result.fetched),
            traffic_bytes=result.loaded_bytes + result.stored_bytes,
        )
    spaces = AddressSpace(program.memories)
    offchip = {memory.name for memory in program.memories if memory.offchip}
    live = peak = extent = moved = 0
    fetched: dict[str, dict[Box, None]] = defaultdict(dict)
    ends: dict[Region, int] = {}

    def end(operand: Operand) -> int:
        if operand.region not in ends:
            ends[operand.region] = max(span.stop for span in spaces.spans(operand.region))
        return ends[operand.region]

    for item in program.instructions:
        match item:
            case Load():
                if item.source.memory in offchip:  # Not from ring to ring.
                    fetched[item.piece.tensor][item.piece.box] = None
                    moved += item.source.size_bytes
                placed = [Operand(item.piece, item.target)]
            case Compute():
                for operand in item.reads:  # In place, from off chip.
                    if operand.region.memory in offchip:
                        fetched[operand.piece.tensor][operand.piece.box] = None
                        moved += operand.region.size_bytes
                live -= sum(item.reads[at].region.size_bytes for at in item.frees)
                placed = list(item.writes)
                if item.sums and item.sums[0]:
                    placed = []  # It adds to what the first part has placed.
                if item.parts:
                    placed = [
                        o
                        for o, part in zip(placed, item.parts, strict=True)
                        if _first(o.piece.box, part)
                    ]
            case Store():
                if item.target.memory in offchip:
                    moved += item.source.size_bytes
                    continue
                placed = [Operand(item.piece, item.target)]
            case Release():
                live -= item.region.size_bytes
                continue
            case _:
                continue
        live += sum(operand.region.size_bytes for operand in placed)
        peak = max(peak, live)
        extent = max([extent, *(end(operand) for operand in placed)])
        if isinstance(item, Compute) and item.sums:
            wide = sum(o.region.size_bytes - piece_bytes(graph, o.piece) for o in item.writes)
            op = graph.operators[graph.index[item.operator]]
            if wide and item.sums[1] == reduced(graph, op):  # They take their own bytes now.
                live -= wide
    return Account(peak, extent, compulsory_bytes(graph, fetched), moved)


def _first(box: Box, part: Box) -> bool:
    """Whether a part is the one that places its piece."""
    return all(start == first for (start, _), (first, _) in zip(part, box, strict=True))
