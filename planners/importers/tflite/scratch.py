"""Memory that custom operators work in, which no operator makes and the runtime keeps for them.

Vela lays maps into the same memory, those that its operators read and write too: what it says of
scratch is all of them at their most, and only the rest is counted beside them. Where its operators
have a fast memory of their own, what they work in there is a second operand, and no maps lie in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from planners.core.element_types import BITS
from planners.importers.tflite.file import TfliteFile, TfliteSubgraph, TfliteTensor

PLACES = {"ethos-u": (2, 3)}
"""Where an operator names it: Vela's has commands and weights in front, and maps behind. The second
place is that of fast memory, and names the first's where there is none."""
METADATA, OFFSETS_AT = "OfflineMemoryAllocation", 3


def scratch_of(graph: TfliteSubgraph) -> list[int]:
    """The tensors that no operator makes and nothing reads but operators that work in them."""
    work, other = set[int](), {*graph.inputs, *graph.outputs}
    for operator in graph.operators:
        places = PLACES.get(operator.kind, ()) if operator.custom else ()
        for place, number in enumerate(operator.inputs):
            (work if place in places else other).add(number)
        other.update(operator.outputs)
    tensors = (graph.tensors[n] for n in sorted(work - other) if n >= 0)
    return [t.number for t in tensors if not (t.constant or t.variable)]


def fast_of(graph: TfliteSubgraph) -> set[int]:
    """Those of them that lie in fast memory of their own, at addresses of that memory."""
    arena, fast = set[int](), set[int]()
    for operator in graph.operators:
        places = PLACES.get(operator.kind, ()) if operator.custom else ()
        named = [operator.inputs[place] for place in places if place < len(operator.inputs)]
        arena.update(named[:1])
        fast.update(named[1:])
    return (fast - arena) & set(scratch_of(graph))


def beside_maps(file: TfliteFile, graph: TfliteSubgraph) -> TfliteSubgraph:
    """The graph with what is left of its scratch where maps lie in it, by the file's own plan.

    It is left out where nothing is.
    """
    offsets = _offsets(file)
    tensors, gone = list(graph.tensors), set[int]()
    for number in set(scratch_of(graph)) - fast_of(graph):
        tensor = tensors[number]
        if number not in offsets or BITS.get(tensor.dtype) != 8:
            continue
        left = tensor.elements - _most_in_it(graph, tensor, offsets)
        tensors[number] = replace(tensor, shape=(max(1, left),))
        gone |= {number} if left < 1 else set()
    operators = (
        replace(op, inputs=tuple(-1 if n in gone else n for n in op.inputs))
        for op in graph.operators
    )
    return replace(graph, tensors=tuple(tensors), operators=tuple(operators))


def written_in_parts(graph: TfliteSubgraph) -> TfliteSubgraph:
    """The graph with a tensor of its own for each of its operators that writes a part of one.

    Vela has a join written by those who make its parts: the later reads what the earlier wrote, and
    gives all of it.
    """
    tensors, operators = list(graph.tensors), []
    now: dict[int, int] = {}
    written = set[int]()
    for operator in graph.operators:
        inputs = tuple(now.get(n, n) for n in operator.inputs)
        outputs = []
        for number in operator.outputs:
            if number in written and operator.custom and operator.kind in PLACES:
                inputs = (*inputs, now.get(number, number))
                now[number] = len(tensors)
                part = tensors[number]
                name = f"{part.name}.{len(tensors)}"
                tensors.append(replace(part, number=len(tensors), name=name))
            written.add(number)
            outputs.append(now.get(number, number))
        operators.append(replace(operator, inputs=inputs, outputs=tuple(outputs)))
    if len(tensors) == len(graph.tensors):
        return graph
    ends = tuple(now.get(n, n) for n in graph.outputs)
    return replace(graph, tensors=tuple(tensors), operators=tuple(operators), outputs=ends)


def _offsets(file: TfliteFile) -> Mapping[int, int]:
    """Where the file's plan lays the first subgraph's tensors, by number."""
    start, stop = file.metadata.get(METADATA, (0, 0))
    numbers = np.frombuffer(file.data[start : stop - (stop - start) % 4], "<i4").tolist()
    offsets = numbers[OFFSETS_AT:]
    if len(offsets) < len(file.subgraphs[0].tensors):
        return {}
    return {number: at for number, at in enumerate(offsets) if at >= 0}


def _most_in_it(graph: TfliteSubgraph, scratch: TfliteTensor, offsets: Mapping[int, int]) -> int:
    """Bytes of the maps in it that are live at once while an operator works there, at most."""
    first, last = (
        dict.fromkeys(graph.inputs, -1),
        dict.fromkeys(graph.outputs, len(graph.operators)),
    )
    for step, operator in enumerate(graph.operators):
        first |= dict.fromkeys((n for n in operator.outputs if n not in first), step)
        last |= {n: max(step, last.get(n, 0)) for n in (*operator.inputs, *operator.outputs)}
    begin = offsets[scratch.number]
    sizes = {}
    for number in first.keys() & last.keys() & offsets.keys():
        tensor = graph.tensors[number]
        size = -(-tensor.elements * BITS.get(tensor.dtype, 0) // 8)
        if begin <= offsets[number] and offsets[number] + size <= begin + scratch.elements:
            sizes[number] = size
    steps = (k for k, op in enumerate(graph.operators) if scratch.number in op.inputs)
    return max(sum(sizes[n] for n in sizes if first[n] <= k <= last[n]) for k in steps)
