"""Lower bounds on the off-chip bytes of every partition into fused groups."""

from __future__ import annotations

from planners.core.access import detailed
from planners.core.bytes_accessed import touched_bytes
from planners.core.graph import Graph, Operator
from planners.fusion.cost.boundary import least_read_bytes
from planners.fusion.search.candidates import Candidates
from planners.fusion.tile.cuts import parameter_bytes


def compulsory_bytes(graph: Graph) -> int:
    """Inputs, outputs and parameters once: all that any operator touches of them (the oracle)."""
    parameters = {name for name, tensor in graph.tensors.items() if tensor.kind == "parameter"}
    return sum(_touched(graph, t) for t in parameters | set(graph.inputs)) + (
        sum(graph.size_bytes(t) for t in set(graph.outputs) if t in graph.producer)
    )


def forced_bytes(graph: Graph, found: Candidates, budget_bytes: int, *, stays: bool = False) -> int:
    """Compulsory bytes, and those of tensors whose writer and a reader cannot be in one group.

    Every group with both holds all operators between them; where those do not fit, nothing
    larger fits either, and the tensor is written and read. Only pairs that were checked count;
    where tensors may stay on chip between groups (`stays`), only tensors too large for that.
    """
    total = compulsory_bytes(graph)
    for name, writer in graph.producer.items():
        if stays and graph.size_bytes(name) <= budget_bytes:
            continue
        reads = [
            read_bytes(graph, graph.operators[reader], name)
            for reader in graph.consumers[name]
            if found.apart(1 << writer | 1 << reader, budget_bytes)
        ]
        if reads:
            written = 0 if name in graph.outputs else max(reads)
            total += max(reads) + written
    return total


def _touched(graph: Graph, tensor: str) -> int:
    readers = graph.consumers[tensor]
    return max((read_bytes(graph, graph.operators[i], tensor) for i in readers), default=0)


def read_bytes(graph: Graph, op: Operator, tensor: str) -> int:
    """Bytes of an operand that an operator touches at all: strides may step over some."""
    if detailed(op):
        if tensor in op.parameters:
            return parameter_bytes(graph, op, tensor)
        return least_read_bytes(graph, op, tensor)
    return touched_bytes(graph, op, tensor)
