"""TensorFlow Lite Micro: what its memory planner does with a file, computed anew.

The runtime has one arena. Its *head* holds what comes and goes: inputs, outputs and what operators
hand on, each from the operator that makes it to the last that reads it, in multiples of 16 bytes.
Where a file has an `OfflineMemoryAllocation`, the tensors that it places lie there; all others are
placed by the runtime's greedy planner: the largest first, of equals the last, each at the lowest
address where it fits between those that are live with it
(tensorflow/tflite-micro: `greedy_memory_planner.cc`, `micro_allocation_info.cc`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from planners.audits.foreign import ForeignPlan, ForeignTensor
from planners.core.element_types import BITS
from planners.core.errors import BadInput
from planners.importers.tflite.file import SIZELESS, TfliteFile, TfliteTensor, read_tflite

TOOL = "TensorFlow Lite Micro"
ARENA = "arena"
ALIGNMENT = 16
METADATA = "OfflineMemoryAllocation"
VERSION = 1
BY_RUNTIME = -1


def read_tflm(path: str | Path) -> ForeignPlan:
    """The head of the arena as the runtime lays it out. Raises `BadInput`."""
    file = read_tflite(path)
    tensors = buffers(file)
    given = offline_offsets(file)
    placed = greedy(tensors, given)
    steps = tuple(op.kind.lower() for op in file.subgraphs[0].operators)
    head = max((t.stop for t in placed), default=0)
    planned = sum(offset != BY_RUNTIME for offset in given.values())
    words = f"{planned} of {len(tensors)} tensors are placed by the file's {METADATA}"
    notes = (words if given else "placed by the runtime's greedy planner",)
    return ForeignPlan(
        TOOL, str(path), placed, ("inputs", *steps), own_peak={ARENA: head}, notes=notes
    )


def buffers(file: TfliteFile) -> tuple[ForeignTensor, ...]:
    """What the head holds, from the step that makes it (0: the inputs) to the last that reads it.

    Constants stay in the file, and variables at the arena's other end. Scratch buffers are not in
    a file: kernels ask for them as they are prepared.
    """
    if len(file.subgraphs) > 1:
        called = {op.kind for op in file.subgraphs[0].operators} & {"IF", "WHILE", "CALL"}
        if called:
            raise BadInput(f"{file.path}: {min(called)} runs another subgraph: not audited yet")
    graph = file.subgraphs[0]
    first: dict[int, int] = dict.fromkeys(graph.inputs, 0)
    last: dict[int, int] = {}
    for step, operator in enumerate(graph.operators, 1):
        for number in operator.outputs:
            first.setdefault(number, step)
        for number in (*operator.inputs, *operator.outputs):
            last[number] = step
    for number in graph.outputs:
        last[number] = len(graph.operators)
    held = []
    for number in sorted(first):
        tensor = graph.tensors[number]
        size = _size(file, tensor)
        if number in last and tensor.data is None and not tensor.variable and size:
            name = tensor.name or f"tensor {number}"
            held.append(
                ForeignTensor(
                    str(number),
                    first[number],
                    last[number] + 1,
                    size,
                    None,
                    ALIGNMENT,
                    ARENA,
                    "",
                    name,
                )
            )
    return tuple(held)


def _size(file: TfliteFile, tensor: TfliteTensor) -> int:
    """Bytes in the arena: whole multiples of its alignment."""
    if tensor.dtype in SIZELESS:
        return 0
    if tensor.dtype not in BITS:
        raise BadInput(f"{file.path}: tensor {tensor.name!r:.80} has the type {tensor.dtype:.40}")
    size = -(-tensor.elements * BITS[tensor.dtype] // 8)
    return -(-size // ALIGNMENT) * ALIGNMENT


def offline_offsets(file: TfliteFile) -> Mapping[str, int]:
    """The offsets in a file's metadata by tensor; −1 leaves one to the runtime.

    Raises `BadInput` for metadata of another version or length.
    """
    if METADATA not in file.metadata:
        return {}
    start, stop = file.metadata[METADATA]
    if (stop - start) % 4:
        raise BadInput(f"{file.path}: its {METADATA} is no list of numbers of four bytes")
    numbers = np.frombuffer(file.data[start:stop], "<i4").tolist()
    if len(numbers) < 3 or numbers[0] != VERSION:
        raise BadInput(f"{file.path}: its {METADATA} is not of version {VERSION}")
    count = sum(len(graph.tensors) for graph in file.subgraphs)
    if numbers[2] != len(numbers) - 3 or numbers[2] != count:
        raise BadInput(
            f"{file.path}: its {METADATA} has {len(numbers) - 3} offsets for {count} tensors"
        )
    offsets = numbers[3 : 3 + len(file.subgraphs[0].tensors)]
    return {str(number): offset for number, offset in enumerate(offsets)}


def greedy(tensors: Sequence[ForeignTensor], given: Mapping[str, int]) -> tuple[ForeignTensor, ...]:
    """All with offsets: those given, and the others as the runtime's greedy planner has them."""
    fixed = [t for t in tensors if given.get(t.id, BY_RUNTIME) != BY_RUNTIME]
    offsets = {t.id: given[t.id] for t in fixed}
    left = [t for t in tensors if t.id not in offsets]
    left.reverse()  # It fills its list from the end,
    left.sort(key=lambda t: -t.size_bytes)  # and equals keep their order.
    placed = sorted(fixed, key=lambda t: offsets[t.id])
    for tensor in left:
        at = 0
        for other in placed:
            if other.lower < tensor.upper and tensor.lower < other.upper:
                if offsets[other.id] - at >= tensor.size_bytes:
                    break
                at = max(at, offsets[other.id] + other.size_bytes)
        offsets[tensor.id] = at
        place = next((k for k, o in enumerate(placed) if offsets[o.id] > at), len(placed))
        placed.insert(place, tensor)
    return tuple(replace(t, offset=offsets[t.id]) for t in tensors)
