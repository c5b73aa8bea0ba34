"""The residencies of a valid program, found when they are first asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from planners.core.gc_pause import no_collection
from planners.core.graph import Graph
from planners.core.program import (
    AddressSpace,
    Compute,
    Load,
    Operand,
    Piece,
    Program,
    Release,
    Store,
    piece_bytes,
)
from planners.simulator.records.lazy_rows import LazyRows
from planners.simulator.records.residency import Ending, Origin, Residency

if TYPE_CHECKING:
    from planners.simulator.columns.replay import Columns
    from planners.simulator.records.residency_columns import ResidencyColumns


@dataclass(slots=True)
class OpenResidency:
    """A residency in the making."""

    operand: Operand
    memory: str
    start_step: int
    start_instruction: int
    computed: bool
    stored: bool = False
    stop_step: int = -1
    stop_instruction: int = -1


class Residencies(LazyRows[Residency]):
    """The residencies of a valid program in program order, found when they are first asked for."""

    def __init__(self, graph: Graph, program: Program, replayed: Columns | None = None) -> None:
        self._graph, self._program, self.replayed = graph, program, replayed

    @cached_property
    def columns(self) -> ResidencyColumns:
        """The same as columns."""
        if self.replayed is None:
            from planners.simulator.records.residency_columns import columns_of_residencies

            return columns_of_residencies(list(self.all))
        from planners.simulator.columns.residencies import residency_columns

        return residency_columns(self.replayed)

    def _make(self) -> tuple[Residency, ...]:
        if self.replayed is not None:
            return self.columns.residencies()
        spaces = AddressSpace(self._program.memories)
        residencies = _open_residencies(self._program, spaces)
        for residency in residencies:  # A sum that is complete takes its own bytes.
            piece, region = residency.operand
            own_region = region._replace(size_bytes=piece_bytes(self._graph, piece))
            residency.operand = Operand(piece, own_region)
        return _residencies(
            residencies, spaces, frozenset(self._graph.outputs), len(self._program.steps)
        )


@no_collection()
def _open_residencies(program: Program, spaces: AddressSpace) -> list[OpenResidency]:
    """When what came and went, of a program that is known to be right."""
    roots = {name: spaces.root(name).name for name in spaces.memories}
    here: dict[tuple[str, Piece], OpenResidency] = {}
    every: list[OpenResidency] = []

    def place(operand: Operand, computed: bool) -> None:
        key = (roots[operand.region.memory], operand.piece)
        if key not in here:  # Else a part is added to it.
            here[key] = OpenResidency(operand, key[0], item.step, number, computed)
            every.append(here[key])

    def release(operand: Operand) -> None:
        residency = here.pop((roots[operand.region.memory], operand.piece))
        residency.stop_step, residency.stop_instruction = item.step, number

    for number, item in enumerate(program.instructions):  # noqa: B007
        match item:
            case Load() | Store():
                if item.source.offset is not None:
                    residency = here[roots[item.source.memory], item.piece]
                    residency.stored = isinstance(item, Store)
                if item.target.offset is not None:
                    place(Operand(item.piece, item.target), False)
            case Compute():
                for at in item.frees:
                    release(item.reads[at])
                for operand in item.writes:
                    place(operand, True)
            case Release():
                release(Operand(item.piece, item.region))
    return every


def _residencies(
    residencies: Sequence[OpenResidency], spaces: AddressSpace, outputs: frozenset[str], steps: int
) -> tuple[Residency, ...]:
    """Finished residencies in program order, each with why it began and why it ended."""
    seen: set[tuple[str, Piece]] = set()
    first: list[bool] = []
    for residency in residencies:
        key = (residency.memory, residency.operand.piece)
        first.append(key not in seen)
        seen.add(key)
    last: list[bool] = []
    seen.clear()
    for residency in reversed(residencies):
        key = (residency.memory, residency.operand.piece)
        last.append(key not in seen)
        seen.add(key)
    last.reverse()
    return tuple(
        Residency(
            piece=residency.operand.piece,
            memory=residency.memory,
            spans=spaces.spans(residency.operand.region),
            start_step=residency.start_step,
            stop_step=steps if residency.stop_step < 0 else residency.stop_step + 1,
            start_instruction=residency.start_instruction,
            stop_instruction=residency.stop_instruction,
            origin=_origin(residency, is_first),
            ending=_ending(residency, is_last, residency.operand.piece.tensor in outputs),
        )
        for residency, is_first, is_last in zip(residencies, first, last, strict=True)
    )


def _origin(residency: OpenResidency, is_first: bool) -> Origin:
    if residency.computed:
        return "compute"
    return "load" if is_first else "retrieve"


def _ending(residency: OpenResidency, is_last: bool, is_output: bool) -> Ending:
    if is_last:
        return "output" if residency.stored and is_output else "dead"
    return "spill" if residency.stored and not is_output else "drop"
