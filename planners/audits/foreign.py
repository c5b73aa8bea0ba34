"""Another tool's allocation as one small type: what is live when, its size, where it lies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from planners.allocation.problem.model import Gap, Lifetime
from planners.core.errors import BadInput
from planners.core.graph import Graph

MOST_BYTES = 2**60
LARGEST_ALIGNMENT = 2**30


@dataclass(frozen=True, slots=True)
class ForeignTensor:
    """A tensor or scratch buffer of another tool's plan.

    It is live in the half-open steps `[lower, upper)` and has `size_bytes` at `offset` in
    `memory`; None where the tool gave it no place. Its offset must be a multiple of `alignment`.
    Tensors of one `alias` are the same bytes by right. `name` is what people call it.
    `branches` are those that it is made in, each with the number of the step where they part: what
    one branch makes is never there with what the other makes. What its `gaps` leave is free for
    others meanwhile. `role` is what it is where the network has no such tensor, or a smaller one: a
    copy, a map with its border. It is empty where the file does not say.
    """

    id: str
    lower: int
    upper: int
    size_bytes: int
    offset: int | None = None
    alignment: int = 1
    memory: str = ""
    alias: str = ""
    name: str = ""
    branches: tuple[tuple[int, str], ...] = ()
    buffer: str = ""
    gaps: tuple[Gap, ...] = ()
    role: str = ""

    @property
    def called(self) -> str:
        """What people call it, and what its role is."""
        name = self.name or self.id
        return f"{name} ({self.role})" if self.role else name

    @property
    def lifetime(self) -> Lifetime:
        """For the packer. Raises `BadInput` for an empty interval."""
        return Lifetime(self.id, self.lower, self.upper, self.size_bytes, self.alignment, self.gaps)

    def held_in(self, step: int) -> int:
        """Bytes that it holds in a step."""
        parts = self.lifetime.held_parts()
        return next((p.high - p.low for p in parts if p.lower <= step < p.upper), 0)

    @property
    def stop(self) -> int:
        """The address behind its last byte."""
        assert self.offset is not None
        return self.offset + self.size_bytes


@dataclass(frozen=True)
class ForeignPlan:
    """A plan that `tool` has made: tensors, the names of its steps, sizes of its memories in bytes.

    `own_peak` is the tool's own figure for each memory, where it gives one. `graph` is the network
    where the file has it, its operators the steps from `first_step` on.
    """

    tool: str
    source: str
    tensors: tuple[ForeignTensor, ...]
    steps: tuple[str, ...] = ()
    capacities: Mapping[str, int] = field(default_factory=dict)
    own_peak: Mapping[str, int] = field(default_factory=dict)
    graph: Graph | None = None
    first_step: int = 0
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Raise `BadInput` for what no plan can be: two of one id, negative or immense numbers."""
        if not self.tensors:
            raise BadInput(f"{self.source}: no tensors")
        seen: set[str] = set()
        for tensor in self.tensors:
            if tensor.id in seen:
                raise BadInput(f"{self.source}: two tensors have the id {tensor.id!r:.80}")
            seen.add(tensor.id)
            _check(tensor, self.source)
        if sum(t.size_bytes for t in self.tensors) > MOST_BYTES:
            raise BadInput(f"{self.source}: tensors of more than {MOST_BYTES:,} bytes")

    @property
    def memories(self) -> tuple[str, ...]:
        """Its memories, the one with most bytes first."""
        sizes: dict[str, int] = {}
        for tensor in self.tensors:
            sizes[tensor.memory] = sizes.get(tensor.memory, 0) + tensor.size_bytes
        return tuple(sorted(sizes, key=lambda name: -sizes[name]))

    def inside(self, memory: str) -> tuple[ForeignTensor, ...]:
        """The tensors of one of its memories; of those that are the same bytes one, live for as
        long as any."""
        merged: dict[str, ForeignTensor] = {}
        for tensor in self.tensors:
            if tensor.memory != memory:
                continue
            key = tensor.alias or f"\0{tensor.id}"
            merged[key] = _joined(merged[key], tensor) if key in merged else tensor
        return tuple(merged.values())


def _check(tensor: ForeignTensor, source: str) -> None:
    where = f"{source}: {tensor.id!r:.80}"
    if not tensor.lower < tensor.upper:
        raise BadInput(f"{where} is live from {tensor.lower} to {tensor.upper}: never")
    if not 0 <= tensor.size_bytes <= MOST_BYTES:
        raise BadInput(f"{where} cannot have {tensor.size_bytes} bytes")
    if tensor.offset is not None and not 0 <= tensor.offset <= MOST_BYTES:
        raise BadInput(f"{where} cannot lie at {tensor.offset}")
    if not 1 <= tensor.alignment <= LARGEST_ALIGNMENT:
        raise BadInput(f"{where} cannot be aligned to {tensor.alignment} bytes")


def _joined(one: ForeignTensor, other: ForeignTensor) -> ForeignTensor:
    """Two that are the same bytes, as one. Raises `BadInput` where they lie apart."""
    if one.offset != other.offset:
        raise BadInput(f"{one.id!r:.80} and {other.id!r:.80} are the same bytes at two addresses")
    if one.gaps or other.gaps:
        raise BadInput(f"{one.id!r:.80} and {other.id!r:.80} are the same bytes: leave out gaps")
    return ForeignTensor(
        one.id,
        min(one.lower, other.lower),
        max(one.upper, other.upper),
        max(one.size_bytes, other.size_bytes),
        one.offset,
        max(one.alignment, other.alignment),
        one.memory,
        one.alias,
        one.name,
        min(one, other, key=lambda t: t.lower).branches,
        one.buffer,
        role=one.role or other.role,
    )
