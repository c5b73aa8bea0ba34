"""Operators that run again: what is read late is made anew, and need not be held nor spilled.

A tensor with several readers stays on chip from the first to the last, or leaves and comes back. A
chain of operators that makes it again from something small, in front of a late reader, does without
either. The network with such copies is planned as any other; its program, with the originals'
names, computes the same pieces twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from planners.core.graph import Graph, Operator, Part
from planners.core.loops import LoopedInstructions, among, expanded, items_of, mapped
from planners.core.program import (
    Compute,
    Instruction,
    Load,
    Operand,
    Piece,
    Program,
    Release,
)
from planners.joined.isomorphic import PartNames, of_names

LONGEST = 4
"""Operators of a chain at most."""
AGAIN = "{} again {}"
"""The name of a copy: of what, and of which chain."""


@dataclass(frozen=True, slots=True)
class ChainAgain:
    """Operators, by position and in order, that run again in front of the one at `before`.

    So many bytes are saved, about, where what they make would leave and come back.
    """

    positions: tuple[int, ...]
    before: int
    saved_bytes: int


def chains(graph: Graph) -> list[ChainAgain]:
    """A chain for each tensor that is read again later and that it saves bytes of, most first."""
    worth = [chain for position in range(len(graph.operators)) for chain in _of(graph, position)]
    return sorted(worth, key=lambda chain: (-chain.saved_bytes, chain.before))


def _of(graph: Graph, position: int) -> Iterator[ChainAgain]:
    """The chain that makes an operator's output again, if one is worth it."""
    op = graph.operators[position]
    readers = graph.consumers[op.outputs[0]]
    if len(op.outputs) > 1 or len(readers) < 2 or op.outputs[0] in graph.outputs:
        return
    gap, before = max((b - a, b) for a, b in zip(readers, readers[1:], strict=False))
    if gap < 2:
        return
    best = max(_grown(graph, position, before), key=lambda chain: chain.saved_bytes)
    if best.saved_bytes > 0:
        yield best


def _grown(graph: Graph, position: int, before: int) -> Iterator[ChainAgain]:
    """Chains that end with an operator, each with the one more that makes its largest input."""
    output = graph.operators[position].outputs[0]
    members = [position]
    while len(members) <= LONGEST:
        ops = [graph.operators[p] for p in sorted(members)]
        outputs = {name for op in ops for name in op.outputs}
        read = {name for op in ops for name in (*op.inputs, *op.parameters)} - outputs
        saved = 2 * graph.size_bytes(output) - sum(map(graph.size_bytes, read))
        yield ChainAgain(tuple(sorted(members)), before, saved)
        makers = {graph.producer[name]: name for name in read if name in graph.producer}
        makers = {p: n for p, n in makers.items() if len(graph.operators[p].outputs) == 1}
        if not makers:
            return
        members.append(max(makers, key=lambda p: (graph.size_bytes(makers[p]), p)))


def with_copies(graph: Graph, chosen: Sequence[ChainAgain]) -> tuple[Graph, Mapping[str, str]]:
    """The network in which chains run again, and the originals of its copies by name."""
    originals: dict[str, str] = {}
    newest: dict[str, str] = {}  # What is read of a tensor from here on.
    tensors, operators = {**graph.tensors}, list[Operator]()
    for name in graph.state:  # Of a part of a run nothing is kept for the next one.
        tensors[name] = replace(tensors[name], kind="input")
    by_reader: dict[int, list[tuple[int, ChainAgain]]] = {}
    for number, chain in enumerate(chosen):
        by_reader.setdefault(chain.before, []).append((number, chain))
    for position, op in enumerate(graph.operators):
        for number, chain in by_reader.get(position, ()):
            for member in chain.positions:
                original = graph.operators[member]
                (name,) = original.outputs
                copied = AGAIN.format(name, number)
                tensors[copied] = replace(graph.tensors[name], name=copied)
                copy = _renamed(original, {**newest, name: copied})
                operators.append(replace(copy, name=AGAIN.format(original.name, number)))
                originals |= {copied: name, operators[-1].name: original.name}
                newest[name] = copied
        operators.append(_renamed(op, newest))
    network = replace(graph, tensors=tensors, operators=tuple(operators), source={}, state={})
    return network, originals


def _renamed(op: Operator, names: Mapping[str, str]) -> Operator:
    """The operator, with other tensors."""

    def renamed(some: Iterable[str]) -> tuple[str, ...]:
        return tuple(names.get(name, name) for name in some)

    def part(one: Part) -> Part:
        name = names.get(one.name, one.name) if one.name in op.outputs else one.name
        return replace(one, name=name, reads=renamed(one.reads))

    inputs, outputs = renamed(op.inputs), renamed(op.outputs)
    return replace(op, inputs=inputs, outputs=outputs, parts=tuple(map(part, op.parts)))


def of_originals(program: Program, names: Mapping[str, str]) -> Program | None:
    """The program of a network with copies as one of the network itself.

    None where a piece and its copy would be on chip at once: it would be the same one twice.
    """
    both = PartNames(names, names)
    items = tuple(mapped(items_of(program), partial(of_names, names=both)))
    originals = {*names.values()}
    if _is_twice(expanded(among(items, partial(_is_about, names=originals))), originals):
        return None
    return replace(program, instructions=LoopedInstructions(items))


def _is_about(item: Instruction, names: set[str]) -> bool:
    """Whether an instruction has a piece of these tensors."""
    match item:
        case Load() | Release():
            return item.piece.tensor in names
        case Compute():
            return any(operand.piece.tensor in names for operand in (*item.reads, *item.writes))
        case _:
            return False


def _is_twice(instructions: Iterable[Instruction], names: set[str]) -> bool:
    """Whether a piece of these tensors comes to a second place while it is at one."""
    there: dict[Piece, tuple[str, int | None]] = {}
    for item in instructions:
        match item:
            case Load():
                placed = [Operand(item.piece, item.target)]
            case Compute():
                for number in item.frees:
                    there.pop(item.reads[number].piece, None)
                placed = list(item.writes)
            case Release():
                there.pop(item.piece, None)
                continue
            case _:
                continue
        for piece, region in placed:
            at = (region.memory, region.offset)
            if piece.tensor in names and there.setdefault(piece, at) != at:
                return True
    return False
