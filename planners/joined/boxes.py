"""An operator alone, from host to host, box by box of its output.

What fused groups cannot cut finely enough (weights of a product over tokens, two operands of
attention, a norm over whole planes) still runs in little memory: any box of an output needs boxes
of what the operator reads. Those that the next box needs too stay on chip. The grid of boxes and
the order in which they are made are those that move least, or take least, of what fits; what
changes from box to box has two places where that fits, so that one box comes while another is made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations, product
from math import prod

from planners.core.access import needs, share_of_macs
from planners.core.graph import Graph, Operator
from planners.core.machine import Machine
from planners.core.program import (
    Box,
    Compute,
    Instruction,
    Load,
    Memory,
    Operand,
    Piece,
    Program,
    Region,
    Release,
    Store,
    piece_bytes,
)

MOST_BOXES = 4096
MOST_SIZES, MOST_GRIDS = 9, 3
"""Sizes of boxes along an axis, and grids, that are tried."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Boxes of so many elements along each axis, made with axes in this `order`, the last of them
    innermost; `places` for what changes there; bytes on chip and moved, and seconds, about."""

    sizes: tuple[int, ...]
    order: tuple[int, ...]
    places: int
    held_bytes: int
    moved_bytes: int
    seconds: float


def by_boxes(
    graph: Graph, machine: Machine, budget_bytes: int, op: Operator, grids: Sequence[Grid]
) -> Program | None:
    """The program of an operator in the first of these grids that fits; None where none does."""
    for grid in grids:  # At the edge of an operand boxes may be larger than was thought.
        program = _program(graph, machine, budget_bytes, op, grid)
        if program is not None:
            return program
    return None


def best_grids(
    graph: Graph, machine: Machine, budget_bytes: int, op: Operator, objective: str
) -> list[Grid]:
    """Some grids of least bytes or seconds of those that fit, about; none for several outputs."""
    if len(op.outputs) != 1 or not graph.tensors[op.outputs[0]].elements:
        return []
    fit = [grid for grid in _grids(graph, machine, op) if grid.held_bytes <= budget_bytes]
    if objective == "latency":
        return sorted(fit, key=lambda grid: (grid.seconds, grid.moved_bytes))[:MOST_GRIDS]
    return sorted(fit, key=lambda grid: (grid.moved_bytes, grid.seconds))[:MOST_GRIDS]


def _grids(graph: Graph, machine: Machine, op: Operator) -> Iterator[Grid]:
    """Grids with what they take, by the boxes at the first corner and in the middle."""
    (output,) = op.outputs
    shape = graph.tensors[output].shape
    host = machine.memory(machine.offchip)
    for sizes in product(*map(_sizes, shape)):
        counts = [-(-n // size) for n, size in zip(shape, sizes, strict=True)]
        if prod(counts) > MOST_BOXES:
            continue
        first = _operands(graph, op, _box(shape, sizes, [0] * len(shape)))
        middle = _operands(graph, op, _box(shape, sizes, [count // 2 for count in counts]))
        bytes_of = {
            name: max(piece_bytes(graph, Piece(name, box)) for box in (one, middle.get(name, one)))
            for name, one in first.items()
        }
        cut = [axis for axis, count in enumerate(counts) if count > 1]
        moves = {axis: _moved(graph, op, shape, sizes, counts, axis, first) for axis in cut}
        made = graph.bytes_of(output, prod(sizes))
        for order in permutations(cut):
            loaded = sum(
                size * _times(name, order, moves, counts) for name, size in bytes_of.items()
            )
            moved = loaded + graph.size_bytes(output)
            inner = order[-1] if order else -1
            twice = [
                size for name, size in bytes_of.items() if inner in cut and name in moves[inner]
            ]
            moving_s, work_s = moved / host.read_bytes_per_s, op.macs / machine.macs_per_s
            held = sum(bytes_of.values()) + made
            yield Grid(sizes, order, 1, held, moved, moving_s + work_s)
            if cut:
                more = sum(twice) + made
                yield Grid(sizes, order, 2, held + more, moved, max(moving_s, work_s))


def _sizes(length: int) -> list[int]:
    """Sizes of parts of an axis, the whole first: some of those that differ in their number."""
    halved, some = length, list[int]()
    while len(some) < MOST_SIZES and halved:
        some.append(halved)
        if halved == 1:
            break
        halved = -(-halved // 2)
    return some


def _times(
    name: str, order: Sequence[int], moves: Mapping[int, set[str]], counts: Sequence[int]
) -> int:
    """How often an operand's box changes: with each box of the axes down to the last it needs."""
    deepest = max((at for at, axis in enumerate(order) if name in moves[axis]), default=-1)
    return prod(counts[axis] for axis in order[: deepest + 1])


def _moved(
    graph: Graph,
    op: Operator,
    shape: Sequence[int],
    sizes: Sequence[int],
    counts: Sequence[int],
    axis: int,
    first: Mapping[str, Box],
) -> set[str]:
    """The operands of which other boxes are read along an axis."""
    at = [0] * len(shape)
    at[axis] = counts[axis] - 1
    other = _operands(graph, op, _box(shape, sizes, at))
    return {name for name, box in first.items() if other.get(name) != box}


def _box(shape: Sequence[int], sizes: Sequence[int], at: Sequence[int]) -> Box:
    ends = zip(shape, sizes, at, strict=True)
    return tuple((k * size, min(n, (k + 1) * size)) for n, size, k in ends)


def _operands(graph: Graph, op: Operator, box: Box) -> dict[str, Box]:
    """What a box of the output reads; what it reads nothing of is not there."""
    read = needs(graph, op, op.outputs[0], box)
    return {name: own for name, own in read if all(start < stop for start, stop in own)}


def _boxes(shape: Sequence[int], grid: Grid) -> list[Box]:
    """The boxes of the output in the order in which they are made."""
    counts = [-(-n // size) for n, size in zip(shape, grid.sizes, strict=True)]
    found = []
    for numbers in product(*(range(counts[axis]) for axis in grid.order)):
        at = [0] * len(shape)
        for axis, number in zip(grid.order, numbers, strict=True):
            at[axis] = number
        found.append(_box(shape, grid.sizes, at))
    return found


def _program(
    graph: Graph, machine: Machine, budget_bytes: int, op: Operator, grid: Grid
) -> Program | None:
    """The program of a grid; None where the largest boxes do not fit."""
    (output,) = op.outputs
    made = _boxes(graph.tensors[output].shape, grid)
    read = [_operands(graph, op, box) for box in made]
    slots: dict[str, _Slots] = {}
    end, shape = 0, graph.tensors[output].shape
    inner = -(-shape[grid.order[-1]] // grid.sizes[grid.order[-1]]) if grid.order else 1
    for name in dict.fromkeys(name for each in read for name in each):
        size = max(piece_bytes(graph, Piece(name, each[name])) for each in read if name in each)
        changes = any(
            read[number - 1].get(name) != read[number].get(name)
            for number in range(len(read))
            if number % inner
        )
        slots[name] = _Slots(end, size, grid.places if changes else 1)
        end += size * slots[name].places
    size = max(piece_bytes(graph, Piece(output, box)) for box in made)
    slots[output] = _Slots(end, size, grid.places if len(made) > 1 else 1)
    end += size * slots[output].places
    if end > budget_bytes:
        return None
    memories = [
        Memory(machine.onchip, budget_bytes),
        Memory(machine.offchip, None, offchip=True, addressed=False),
    ]
    if machine.parameters != machine.offchip:
        memories.append(Memory(machine.parameters, None, offchip=True, addressed=False))
    homes = {"input": machine.offchip, "output": machine.offchip, "parameter": machine.parameters}
    steps = tuple(f"{op.name} {number} of {len(made)}" for number in range(1, len(made) + 1))
    return Program(
        tuple(memories), tuple(_instructions(graph, machine, op, made, read, slots)), homes, steps
    )


@dataclass(slots=True)
class _Slots:
    """Places for the pieces of one operand, taken in turn."""

    offset: int
    size_bytes: int
    places: int
    turn: int = 0

    def next(self, graph: Graph, machine: Machine, piece: Piece) -> Operand:
        """The piece in the next place."""
        at = self.offset + self.turn * self.size_bytes
        self.turn = (self.turn + 1) % self.places
        return Operand(piece, Region(machine.onchip, at, piece_bytes(graph, piece)))


def _instructions(
    graph: Graph,
    machine: Machine,
    op: Operator,
    made: Sequence[Box],
    read: Sequence[Mapping[str, Box]],
    slots: Mapping[str, _Slots],
) -> Iterator[Instruction]:
    (output,) = op.outputs
    there: dict[str, Operand] = {}
    for step, (box, needed) in enumerate(zip(made, read, strict=True)):
        for name, own in needed.items():
            if name not in there:
                there[name] = operand = slots[name].next(graph, machine, Piece(name, own))
                home = machine.parameters if name in op.parameters else machine.offchip
                source = Region(home, None, operand.region.size_bytes)
                yield Load(step, operand.piece, source, operand.region)
        written = slots[output].next(graph, machine, Piece(output, box))
        reads = tuple(there[name] for name in needed)
        macs = share_of_macs(graph, op, output, box)
        yield Compute(step, op.name, reads, (written,), macs)
        yield Store(
            step, written.piece, written.region,
            Region(machine.offchip, None, written.region.size_bytes),
        )  # fmt: skip
        yield Release(step, *written)
        after = read[step + 1] if step + 1 < len(read) else {}
        for name, operand in [*there.items()]:
            if after.get(name) != operand.piece.box:
                yield Release(step, *there.pop(name))
