"""Parts of a network that are the same but for names: what is found for one is found for all."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from planners.core.gc_pause import no_collection
from planners.core.graph import Graph
from planners.core.loops import LoopedInstructions, items_of, mapped
from planners.core.program import (
    Compute,
    Instruction,
    Load,
    Operand,
    Program,
    Region,
    Release,
    Store,
)

WORD = re.compile(r"[^\s+]+")


@dataclass(frozen=True, slots=True)
class PartLook:
    """What all that is planned for a part follows from; its names in an order that goes with it."""

    key: Hashable
    tensors: tuple[str, ...]
    operators: tuple[str, ...]


def look_of(part: Graph) -> PartLook:
    """The look of a part: equal keys, equal plans but for names."""
    number: dict[str, int] = {}
    for op in part.operators:
        for name in (*op.inputs, *op.parameters, *op.outputs):
            number.setdefault(name, len(number))
    ops = tuple(
        (
            *(op.kind, op.macs, op.slide, op.look),
            *(tuple(number[n] for n in some) for some in (op.inputs, op.parameters, op.outputs)),
        )
        for op in part.operators
    )
    for name in (*part.inputs, *part.outputs):  # What nothing reads, or is there already.
        number.setdefault(name, len(number))
    tensors = [part.tensors[name] for name in number]
    kinds = tuple((tensor.shape, tensor.kind, tensor.dtype) for tensor in tensors)
    ends = (tuple(number[name] for name in some) for some in (part.inputs, part.outputs))
    key = (ops, kinds, *ends, part.bytes_per_element)
    return PartLook(key, tuple(number), tuple(op.name for op in part.operators))


@dataclass(frozen=True, slots=True)
class PartNames:
    """Other names of tensors and operators, by their own."""

    tensors: Mapping[str, str]
    operators: Mapping[str, str]

    @staticmethod
    def between(look: PartLook, other: PartLook) -> PartNames:
        """From those of a part to those of another of the same look."""
        return PartNames(
            dict(zip(look.tensors, other.tensors, strict=True)),
            dict(zip(look.operators, other.operators, strict=True)),
        )


@no_collection()
def renamed(program: Program, names: PartNames) -> Program:
    """The same program of tensors and operators with other names, in its steps and memories too."""
    memories = {
        memory.name: _in_words(memory.name, names.tensors)
        for memory in program.memories
        if memory.parent is not None
    }
    return replace(
        program,
        memories=tuple(
            replace(
                memory,
                name=memories.get(memory.name, memory.name),
                parent=memory.parent and memories.get(memory.parent, memory.parent),
            )
            for memory in program.memories
        ),
        instructions=LoopedInstructions(
            tuple(mapped(items_of(program), partial(of_names, names=names, memories=memories)))
        ),
        steps=tuple(_in_words(step, names.operators) for step in program.steps),
    )


def _in_words(text: str, names: Mapping[str, str]) -> str:
    return WORD.sub(lambda word: names.get(word.group(), word.group()), text)


def of_names(
    item: Instruction, names: PartNames, memories: Mapping[str, str] | None = None
) -> Instruction:
    """An instruction about other tensors, by other operators, in other memories."""
    tensors, windows = names.tensors, memories or {}

    def at(region: Region) -> Region:
        name = windows.get(region.memory)
        return region if name is None else region._replace(memory=name)

    def renamed(operand: Operand) -> Operand:
        piece, region = operand
        name = tensors.get(piece.tensor)
        return Operand(piece if name is None else piece._replace(tensor=name), at(region))

    match item:
        case Load() | Store():
            piece = renamed(Operand(item.piece, item.source)).piece
            return replace(item, piece=piece, source=at(item.source), target=at(item.target))
        case Release():
            operand = renamed(Operand(item.piece, item.region))
            return replace(item, piece=operand.piece, region=operand.region)
        case Compute():
            reads, writes = tuple(map(renamed, item.reads)), tuple(map(renamed, item.writes))
            operator = names.operators.get(item.operator, item.operator)
            return replace(item, operator=operator, reads=reads, writes=writes)
    return item
