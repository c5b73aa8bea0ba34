"""Tables of which an operator reads a few rows: embeddings, and whatever picks elements by index.

Which rows these are is known when it runs; how many there are at most follows from shapes: each
element of the value is one of the table's. Where parameters are read at their home only these cross
the interface. Loaded whole, as the papers have every tensor, a table takes all of its bytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from math import prod

from planners.core.graph import Graph, Operator, Part, Tensor

PICKS = frozenset("embedding index_select gather index take take_along_dim".split())
"""Calls whose value holds elements of their first operand and nothing else, by index."""
SUMS_ROWS = frozenset({"embedding_bag", "_embedding_bag"})
"""The same, added up: as many rows as there are indices."""


def rows_of(op: Operator, table: str) -> Iterator[Part]:
    """The calls of an operator that look a table up."""
    kinds = PICKS | SUMS_ROWS
    return (p for p in op.parts if p.kind in kinds and p.reads and p.reads[0] == table)


def looked_up(graph: Graph, op: Operator) -> dict[str, int]:
    """Elements of each table that an operator reads at most, where that is less than all of it."""
    shapes = {part.name: part.shape for part in op.parts}
    counts: Counter[str] = Counter()
    others = set()
    for part in op.parts:
        for at, name in enumerate(part.reads):
            if name not in op.parameters:
                continue
            shape = graph.tensors[name].shape
            indices = part.reads[1] if len(part.reads) > 1 else ""
            of = graph.tensors[indices].shape if indices in graph.tensors else shapes.get(indices)
            if at == 0 and part.kind in PICKS and part.shape:
                counts[name] += prod(part.shape)
            elif at == 0 and part.kind in SUMS_ROWS and of and len(shape) == 2:
                counts[name] += prod(of) * shape[1]
            else:
                others.add(name)
    return {
        name: count
        for name, count in counts.items()
        if name not in others and count < graph.tensors[name].elements
    }


def with_rows_read(graph: Graph, *, ahead: bool = False) -> Graph:
    """The graph as it is where parameters are read in place: tables are the rows that are read.

    One that several operators look up is a tensor of its own for each of them. `ahead`: those only
    that can be fetched before their operator runs, by indices that the network is given.
    """
    given = {name for name in graph.inputs if name not in graph.state}
    picked = {
        op.name: some
        for op in graph.operators
        if not (ahead and set(op.inputs) - given) and (some := looked_up(graph, op))
    }
    if not picked:
        return graph
    readers = Counter(name for op in graph.operators for name in op.parameters)
    tensors, operators = dict(graph.tensors), []
    for op in graph.operators:
        names = {}
        for table, count in picked.get(op.name, {}).items():
            names[table] = table if readers[table] == 1 else f"{table} of {op.name}"
            tensors[names[table]] = _rows(tensors[table], names[table], count)
        operators.append(_renamed(op, names))
    kept = {name for op in operators for name in op.parameters}
    unread = {name for some in picked.values() for name in some} - kept
    tensors = {name: tensor for name, tensor in tensors.items() if name not in unread}
    return replace(graph, tensors=tensors, operators=tuple(operators))


def _rows(table: Tensor, name: str, count: int) -> Tensor:
    """So many elements of a table: rows, where they are whole ones."""
    row = table.shape[1:]
    shape = (count // prod(row), *row) if count % prod(row) == 0 else (count,)
    return replace(table, name=name, shape=shape, table=table.table or table.name)


def _renamed(op: Operator, names: dict[str, str]) -> Operator:
    parts = tuple(
        replace(part, reads=tuple(names.get(name, name) for name in part.reads))
        for part in op.parts
    )
    parameters = tuple(names.get(name, name) for name in op.parameters)
    return replace(op, parts=parts, parameters=parameters) if names else op
