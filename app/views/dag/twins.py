"""Which blocks of a graph are the same: same operators, shapes and wiring under other names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from string import ascii_uppercase

import planners as sp
from app.display.blocks import BlockNode


def twin_letters(graph: sp.Graph, nodes: Sequence[BlockNode]) -> list[str]:
    """A letter for each block that has a twin among the visible nodes, and nothing for others.

    Letters go to groups in the order in which they appear; beyond Z they are AA, AB and so on.
    """
    marks = [signature(graph, node.members) if node.is_block else None for node in nodes]
    counts = Counter(mark for mark in marks if mark is not None)
    letters: dict[Hashable, str] = {}
    for mark in marks:
        if mark is not None and counts[mark] > 1 and mark not in letters:
            letters[mark] = _letter(len(letters))
    return [letters.get(mark, "") for mark in marks]


def twin_words(letters: Sequence[str]) -> list[str]:
    """How many blocks share each letter."""
    counts = Counter(letter for letter in letters if letter)
    return [f"≡{letter}: {count} identical" for letter, count in counts.items()]


def signature(graph: sp.Graph, members: Sequence[int]) -> Hashable:
    """What a block does, without names: equal for blocks that are the same."""
    place = {position: i for i, position in enumerate(members)}
    outside: dict[str, int] = {}
    return tuple(_operator(graph, position, place, outside) for position in members)


def _operator(
    graph: sp.Graph, position: int, place: dict[int, int], outside: dict[str, int]
) -> Hashable:
    operator = graph.operators[position]
    shapes = tuple(
        tuple(graph.tensors[name].shape for name in names)
        for names in (operator.inputs, operator.parameters, operator.outputs)
    )
    wires = tuple(_wire(graph, name, place, outside) for name in operator.inputs)
    window = (operator.kernel, operator.stride, operator.padding, operator.dilation)
    return (operator.kind, operator.macs, operator.groups, window, shapes, wires)


def _wire(
    graph: sp.Graph, name: str, place: dict[int, int], outside: dict[str, int]
) -> tuple[str, int, int]:
    """Where an input comes from: an operator in the block, or the n-th from outside."""
    producer = graph.producer.get(name, -1)
    if producer in place:
        return ("in", place[producer], graph.operators[producer].outputs.index(name))
    return ("out", outside.setdefault(name, len(outside)), 0)


def _letter(number: int) -> str:
    more, last = divmod(number, len(ascii_uppercase))
    return (_letter(more - 1) if more else "") + ascii_uppercase[last]
