"""TensorFlow Lite Micro: what its memory planner does with a file, computed anew.

The runtime has one arena. Its *head* holds what comes and goes: inputs, outputs and what operators
hand on, each from the operator that makes it to the last that reads it, and what kernels need for
themselves while they run, in multiples of 16 bytes.
Where a file has an `OfflineMemoryAllocation`, the tensors that it places lie there, variables too;
all others are placed by the runtime's greedy planner: the largest first, of equals the last, each
at the lowest address where it fits between those that are live with it
(tensorflow/tflite-micro: `greedy_memory_planner.cc`, `micro_allocation_info.cc`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from planners.audits.foreign import ForeignPlan, ForeignTensor
from planners.audits.readers.tflm_refused import NOT_THERE, kernels_missing, require_runs
from planners.audits.readers.tflm_scopes import Scopes
from planners.audits.readers.tflm_scratch import scratch_sizes
from planners.core.element_types import BITS
from planners.core.errors import BadInput
from planners.core.graph import Graph, Operator, Tensor
from planners.core.integers import rounded_up
from planners.importers.tflite.file import SIZELESS, TfliteFile, TfliteTensor, read_tflite
from planners.importers.tflite.scratch import fast_of, scratch_of

# ---- The network of a TensorFlow Lite file, operator by operator as its runtime sees it ----------


def arena_bytes(tensor: TfliteTensor) -> int:
    """What the runtime takes for a tensor that is no constant: a byte at least for an element."""
    return tensor.elements * max(1, BITS[tensor.dtype] // 8)


def graph_of(file: TfliteFile, placed: Sequence[ForeignTensor]) -> Graph | None:
    """A graph of the file's operators, one each and in order, and of the tensors that the arena
    holds, by id, in their own bytes; None for what is no graph (operators that give nothing)."""
    graph = file.subgraphs[0]
    ids = {t.id for t in placed}
    operators = []
    for op in graph.operators:
        inputs = dict.fromkeys(str(n) for n in op.inputs if str(n) in ids)
        outputs = tuple(str(n) for n in op.outputs if str(n) in ids)
        name = f"{op.number} {op.kind}"
        operators.append(Operator(name, op.kind, tuple(inputs), outputs))
    used = {name for op in operators for name in (*op.inputs, *op.outputs)}
    written = {name for op in operators for name in op.outputs}
    tensors = {}
    for name in sorted(used, key=int):
        tensor = graph.tensors[int(name)]
        tensors[name] = Tensor(
            name, (arena_bytes(tensor),), "activation" if name in written else "input", "int8"
        )
    outputs = tuple(dict.fromkeys(str(n) for n in graph.outputs if str(n) in written))
    try:
        return Graph(
            file.path.stem,
            tensors,
            tuple(operators),
            tuple(name for name in tensors if name not in written),
            outputs,
            source={"tflite": str(file.path)},
        )
    except BadInput:
        return None


# --------------------------------------------------------------------------------------------------

TOOL = "TensorFlow Lite Micro"
ARENA = "arena"
FAST = "fast memory"
ALIGNMENT = 16
METADATA = "OfflineMemoryAllocation"
VERSION = 1  # written; the runtime reads neither it nor the subgraph behind it
BY_RUNTIME = -1


def read_tflm(path: str | Path) -> ForeignPlan:
    """The head of the arena as the runtime lays it out. Raises `BadInput`."""
    file = read_tflite(path)
    if any(t.external for each in file.subgraphs for t in each.tensors):
        raise BadInput(f"{path} has weights in a file of their own, which {TOOL} does not read")
    require_runs(file)
    given = offline_offsets(file)
    tensors, state = buffers(file, given), variables(file, given)
    everything, tensors = tensors, outside_work(file, tensors, given)
    fast = tuple(t for t in tensors if t.memory == FAST)
    tensors = tuple(t for t in tensors if t.memory != FAST)
    scratch, unknown = scratch_buffers(file)
    placed = greedy((*tensors, *scratch), given)
    scopes = Scopes.from_file(file)
    inside = len(everything) - len(tensors) - len(fast)
    own_graph = len(scopes.names) == len(scopes.ran) + 1 and tensors == everything
    steps = tuple(scopes.names)
    if any(t.lower == len(steps) for t in tensors):
        steps = (*steps, "never")
    # The runtime has it live until it is last read, and then forgets that it stays.
    placed = tuple(replace(t, lower=0, upper=len(steps)) if t.id in state else t for t in placed)
    head = max((t.stop for t in placed), default=0)
    return ForeignPlan(
        TOOL,
        str(path),
        (*placed, *fast),
        steps,
        own_peak={ARENA: head},
        graph=graph_of(file, tensors) if own_graph else None,
        first_step=1,
        notes=(
            *_notes(everything, given, scratch, unknown),
            *_inside(inside),
            *_in_fast_memory(fast),
            *_missing(file),
        ),
    )


def _notes(
    tensors: Sequence[ForeignTensor],
    given: Mapping[str, int],
    scratch: Sequence[ForeignTensor],
    unknown: Sequence[str],
) -> Iterator[str]:
    planned = sum(given.get(t.id, BY_RUNTIME) != BY_RUNTIME for t in tensors)
    if given:
        yield f"{planned} of {len(tensors)} tensors are placed by the file's {METADATA}"
    else:
        yield "placed by the runtime's greedy planner"
    if scratch:
        size = sum(t.size_bytes for t in scratch)
        yield (
            f"{len(scratch)} buffers of {size:,} bytes for kernels themselves are those of the "
            "reference kernels; others (CMSIS-NN) ask for others"
        )
    if unknown:
        yield (
            f"a lower bound: what {', '.join(unknown)} ask for themselves is not in the file "
            "and not known"
        )


def _inside(count: int) -> Iterator[str]:
    if count:
        are = "lies" if count == 1 else "lie"
        yield f"{count} of these {are} in memory that an operator works in"


def _in_fast_memory(fast: Sequence[ForeignTensor]) -> Iterator[str]:
    for tensor in fast:
        yield (
            f"{tensor.name} ({tensor.size_bytes:,} bytes) lies in the fast memory that the driver "
            "is given; where it is given none, in the arena, over others"
        )


def _missing(file: TfliteFile) -> Iterator[str]:
    if missing := kernels_missing(file):
        yield f"{NOT_THERE}: {', '.join(missing)}; its own may ask for scratch too"


def variables(file: TfliteFile, given: Mapping[str, int]) -> set[str]:
    """The variables that a file's plan has given an offset, by number over all subgraphs."""
    every = (tensor for each in file.subgraphs for tensor in each.tensors)
    named = {str(number): tensor.variable for number, tensor in enumerate(every)}
    return {n for n, offset in given.items() if offset != BY_RUNTIME and named.get(n)}


def buffers(file: TfliteFile, given: Mapping[str, int]) -> tuple[ForeignTensor, ...]:
    """What the head holds, from the step that makes it (0: the inputs) to the last that reads it.

    Constants stay in the file, and variables at the arena's other end unless the file's plan has
    `given` them an offset. What no operator touches has its place too, in a step of its own behind
    all others.
    """
    state = variables(file, given)
    scopes = Scopes.from_file(file)
    end, lifetimes = scopes.now, []
    every = (
        (place, n, tensor)
        for place, each in enumerate(file.subgraphs)
        for n, tensor in enumerate(each.tensors)
    )
    for number, (*at, tensor) in enumerate(every):
        comes = tensor.data is None and (not tensor.variable or str(number) in state)
        size = _size(file, tensor) if comes else 0
        if not size:
            continue
        lower, upper = end + 1, end + 2
        if (used := (at[0], at[1])) in scopes.last:
            lower, upper = scopes.first.get(used, 0), scopes.last[used] + 1
        name = tensor.name or f"tensor {number}"
        lifetimes.append(
            ForeignTensor(str(number), lower, upper, size, None, ALIGNMENT, ARENA, "", name)
        )
    return tuple(lifetimes)


def outside_work(
    file: TfliteFile, tensors: Sequence[ForeignTensor], given: Mapping[str, int]
) -> tuple[ForeignTensor, ...]:
    """The tensors but those that lie in memory that an operator works in, while it is kept.

    Vela lays its operators' maps there. That memory is kept from the beginning to its last reader,
    in one piece; what is in it is the operator's own. What lies in fast memory of its own is there.
    """
    graph = file.subgraphs[0]
    work = {str(n) for n in scratch_of(graph) if given.get(str(n), BY_RUNTIME) >= 0}
    fast = {str(n) for n in fast_of(graph)} & work
    rooms = [replace(t, lower=0) for t in tensors if t.id in work - fast]
    outside: list[ForeignTensor] = [
        *rooms,
        *(replace(t, lower=0, memory=FAST, offset=given[t.id]) for t in tensors if t.id in fast),
    ]
    for tensor in tensors:
        at = given.get(tensor.id, BY_RUNTIME)
        if tensor.id in work:
            continue
        around = [
            room
            for room in rooms
            if given[room.id] <= at and at + tensor.size_bytes <= given[room.id] + room.size_bytes
        ]
        lower = max([tensor.lower, *(room.upper for room in around)])
        if lower < tensor.upper:
            outside.append(replace(tensor, lower=lower))
    return tuple(sorted(outside, key=lambda t: int(t.id)))


def scratch_buffers(file: TfliteFile) -> tuple[tuple[ForeignTensor, ...], tuple[str, ...]]:
    """Buffers that kernels ask for themselves, and the operators of which that is not known."""
    scratch: list[ForeignTensor] = []
    unknown: dict[str, None] = {}
    scopes = Scopes.from_file(file).ran
    for (place, at), (first, last) in sorted(scopes.items()):
        operator = file.subgraphs[place].operators[at]
        sizes = scratch_sizes(file.subgraphs[place].tensors, operator)
        if sizes is None:
            unknown[operator.kind] = None
        for k, size in enumerate(sizes or ()):
            id, name = f"scratch {first}.{k}", f"scratch of {operator.label}"
            whole = rounded_up(size, ALIGNMENT)
            lives = first, last + 1
            scratch.append(ForeignTensor(id, *lives, whole, None, ALIGNMENT, ARENA, "", name))
    return tuple(scratch), tuple(unknown)


def _size(file: TfliteFile, tensor: TfliteTensor) -> int:
    """Bytes in the arena: whole multiples of its alignment, elements of four bits a byte each."""
    if tensor.dtype in SIZELESS:
        return 0
    if tensor.dtype not in BITS:
        raise BadInput(f"{file.path}: tensor {tensor.name!r:.80} has the type {tensor.dtype:.40}")
    return rounded_up(arena_bytes(tensor), ALIGNMENT)


def offline_offsets(file: TfliteFile) -> Mapping[str, int]:
    """The offsets in a file's metadata by tensor; −1 leaves one to the runtime.

    Those of several subgraphs are one behind the other, as the runtime reads them since 2022
    (tflite-micro's #1195; before, it read the first's for each).
    Raises `BadInput` for metadata of another length.
    """
    if METADATA not in file.metadata:
        return {}
    start, stop = file.metadata[METADATA]
    if (stop - start) % 4:
        raise BadInput(f"{file.path}: its {METADATA} is not a list of numbers of four bytes")
    numbers = np.frombuffer(file.data[start:stop], "<i4").tolist()
    if len(numbers) < 3:
        raise BadInput(f"{file.path}: its {METADATA} has no number of tensors")
    count = sum(len(graph.tensors) for graph in file.subgraphs)
    if numbers[2] != len(numbers) - 3 or numbers[2] != count:
        raise BadInput(
            f"{file.path}: its {METADATA} has {len(numbers) - 3} offsets for {count} tensors"
        )
    return {str(number): offset for number, offset in enumerate(numbers[3:])}


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
