"""Streamed parameters of a plan: its layers, the rings that they roll through, and what waits.

No Panel here. Sizes and addresses are bytes, times seconds. A step of the program is a layer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import planners as sp
from planners.core.axis_break import drawn_bytes
from planners.core.details.streamed import Ring, StreamedLayer, StreamedParameters
from planners.core.program import Compute, Instruction, Load

Kind = Literal["read", "copy", "kernel"]
RING_NAMES: Mapping[str, str] = {"cpu": "CPU ring", "gpu": "GPU ring", "shared": "ring"}
MEMORIES: Mapping[str, str] = {"cpu": "cpu ring", "gpu": "gpu ring", "shared": "ring"}


@dataclass(frozen=True, slots=True)
class StreamLayer:
    """A layer: an operator or a slice of one, `number` from 0 as its step.

    `offsets` and `waits` are by ring; `waits` is the layer whose bytes it takes, -1 for none.
    """

    number: int
    operator: str
    parameters: tuple[str, ...]
    size_bytes: int
    read_s: float
    copy_s: float
    kernel_s: float
    offsets: Mapping[Ring, int]
    waits: Mapping[Ring, int]
    slice: str = ""

    @property
    def name(self) -> str:
        return f"{self.operator}, {self.slice}" if self.slice else self.operator


@dataclass(frozen=True, slots=True)
class RingOf:
    """A ring: `key` in the plan's details, where it lies in which memory of the map, its size."""

    key: Ring
    memory: str
    base: int
    size_bytes: int
    twice: bool

    @property
    def name(self) -> str:
        return RING_NAMES[self.key]


@dataclass(frozen=True, slots=True)
class ShownRegion:
    """A part of a memory that the address map can show; `key` is what a link calls it.

    `used_bytes` are those up to its highest address in use, where that may be far below its end.
    """

    key: str
    name: str
    memory: str
    base: int
    size_bytes: int
    used_bytes: int = 0

    @property
    def drawn_bytes(self) -> int:
        """How far its addresses are drawn at first."""
        return drawn_bytes(self.used_bytes, self.size_bytes)


@dataclass(frozen=True, slots=True)
class RingGap:
    """Bytes at a ring's end that layer `number` passed over because it did not fit there."""

    number: int
    before: int
    start: int
    stop: int


@dataclass(frozen=True)
class Stream:
    """The layers and rings of a streamed plan, where they lie, and each instruction's part in
    them."""

    details: StreamedParameters
    layers: tuple[StreamLayer, ...]
    rings: tuple[RingOf, ...]
    regions: tuple[ShownRegion, ...]
    acts: Mapping[int, tuple[Kind, int, str]] = field(repr=False)
    """For each instruction: read, copy or kernel; its layer; the ring it writes, or reads."""

    @property
    def ring_bytes(self) -> int:
        """Bytes of all rings."""
        return sum(ring.size_bytes for ring in self.rings)

    @property
    def memory_bytes(self) -> int:
        """Bytes of rings and activations."""
        return self.ring_bytes + self.details.activation_bytes

    @property
    def overhead(self) -> float:
        """By which share the delay exceeds that of all kernels alone."""
        return self.details.delay_s / self.details.kernel_s - 1 if self.details.kernel_s else 0.0

    @cached_property
    def largest(self) -> StreamLayer:
        return max(self.layers, key=lambda layer: layer.size_bytes)

    def of_operator(self, operator: str) -> tuple[StreamLayer, ...]:
        """The layers of an operator: its slices."""
        return tuple(layer for layer in self.layers if layer.operator == operator)

    def followers(self, number: int) -> list[tuple[str, int]]:
        """Rings and layers that wait for the bytes of a layer."""
        return [
            (ring.key, layer.number)
            for ring in self.rings
            for layer in self.layers
            if layer.waits.get(ring.key, -1) == number
        ]

    @cached_property
    def gaps(self) -> Mapping[str, tuple[RingGap, ...]]:
        """By ring the gaps at its end that are lost because no layer wraps."""
        return {ring.key: tuple(self._gaps(ring)) for ring in self.rings}

    def _gaps(self, ring: RingOf) -> list[RingGap]:
        if ring.twice or self.details.joint or self.details.pipeline in ("pre", "seq", "sync"):
            return []
        gaps: list[RingGap] = []
        last: StreamLayer | None = None
        for layer in self.layers:
            if not layer.size_bytes:
                continue
            at = layer.offsets[ring.key]
            if last is not None and at == 0:
                stop = last.offsets[ring.key] + last.size_bytes
                if stop < ring.size_bytes:
                    gaps.append(RingGap(layer.number, last.number, stop, ring.size_bytes))
            last = layer
        return gaps


def roomy_bytes(graph: sp.Graph) -> int:
    """Whole MiB in which all parameters in a ring and all tensors fit, one beside the other."""
    total = sum(graph.size_bytes(name) for name in graph.tensors)
    return -(-total // 2**20) * 2**20


def stream_of(plan: sp.Plan) -> Stream | None:
    """What a plan streams; None where it streams nothing, or its details are not the planner's.

    Details of plans that a visitor brings may be anything: nothing is drawn from what does not fit
    the program.
    """
    if plan.details.streamed is None:
        return None
    try:
        stream = _stream(plan, plan.details.streamed)
    except (KeyError, ValueError, IndexError):
        return None
    return stream if len(stream.layers) == len(plan.program.steps) and stream.layers else None


def _stream(plan: sp.Plan, streamed: StreamedParameters) -> Stream:
    layers = tuple(_layers(plan, streamed.layers))
    rings = tuple(_rings(plan, streamed))
    return Stream(
        streamed,
        layers,
        rings,
        regions=tuple(_regions(plan, rings, streamed.joint)),
        acts=_acts(tuple(plan.program.instructions), layers),
    )


def _layers(plan: sp.Plan, rows: Sequence[StreamedLayer]) -> Iterator[StreamLayer]:
    count = Counter(row.operator for row in rows)
    seen: Counter[str] = Counter()
    for number, row in enumerate(rows):
        name = row.operator
        if name not in plan.graph.index:
            raise ValueError(name)
        seen[name] += 1
        part = f"slice {seen[name]} of {count[name]}" if count[name] > 1 else ""
        yield StreamLayer(
            number,
            name,
            row.parameters,
            row.size_bytes,
            row.read_s,
            row.copy_s,
            row.kernel_s,
            row.offsets,
            row.waits,
            part,
        )


def _rings(plan: sp.Plan, streamed: StreamedParameters) -> list[RingOf]:
    memories = {memory.name: memory for memory in plan.program.memories}
    rings = []
    for key, size in streamed.rings.items():
        memory = memories.get(MEMORIES[key])
        parent = memory.parent if memory else None
        base = memory.base if memory and parent else 0
        name = parent or MEMORIES[key]
        rings.append(RingOf(key, name, base, size, streamed.twice))
    return rings


def _regions(plan: sp.Plan, rings: Sequence[RingOf], joint: bool) -> list[ShownRegion]:
    """All on chip, then each ring and the activations where they are separate."""
    onchip = plan.machine.onchip
    sizes = {memory.name: memory for memory in plan.program.memories}
    whole = sizes[onchip].size_bytes or plan.budget_bytes
    areas = [ShownRegion("", "on chip", onchip, 0, whole)]
    for ring in () if joint else rings:
        if ring.size_bytes:
            areas.append(ShownRegion(ring.key, ring.name, ring.memory, ring.base, ring.size_bytes))
    activations = sizes.get("activations")
    if activations is not None and activations.size_bytes and not joint:
        areas.append(
            ShownRegion(
                "activations",
                "activations",
                onchip,
                activations.base,
                activations.size_bytes,
            )
        )
    return areas


def _acts(
    instructions: Sequence[Instruction], layers: Sequence[StreamLayer]
) -> dict[int, tuple[Kind, int, str]]:
    """Loads into a ring come in the order of layers, a layer's parameters joined to one."""
    streamed = [layer.number for layer in layers if layer.size_bytes]
    keys = {memory: key for key, memory in MEMORIES.items()}
    count = dict.fromkeys(MEMORIES, -1)
    acts: dict[int, tuple[Kind, int, str]] = {}
    for i, item in enumerate(instructions):
        if isinstance(item, Compute):
            acts[i] = ("kernel", item.step, "")
        elif isinstance(item, Load) and (key := keys.get(item.target.memory)):
            count[key] += not item.joined
            kind: Kind = "copy" if item.source.memory in keys else "read"
            acts[i] = (kind, streamed[count[key]], key)
    return acts
