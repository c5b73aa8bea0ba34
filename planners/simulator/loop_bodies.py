"""What a loop's body touches, and how that moves in a round."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from planners.core.loops import moves_of
from planners.core.program import Compute, Instruction, Item, Load, Move, Piece, Release, Repeat
from planners.simulator.loop_affine import Motion, Moves


def touched_of(items: Iterable[Item]) -> set[str]:
    """The tensors of which rounds place or release something."""
    touched: set[str] = set()
    for item in items:
        if isinstance(item, Repeat):
            touched |= touched_of(item.body)
        else:
            touched.update(piece.tensor for piece in (*gone_of(item), *come_of(item)))
    return touched


def gone_of(item: Instruction) -> list[Piece]:
    """What an instruction releases."""
    if isinstance(item, Release):
        return [item.piece]
    if isinstance(item, Compute):
        return [item.reads[at].piece for at in item.frees if 0 <= at < len(item.reads)]
    return []


def come_of(item: Instruction) -> list[Piece]:
    """What it places, or adds to."""
    if isinstance(item, Load):
        return [item.piece]
    return [operand.piece for operand in item.writes] if isinstance(item, Compute) else []


def motions_of(items: Sequence[Item], moves: Sequence[Move]) -> dict[str, set[Motion]]:
    """How what is read, written or released of each tensor moves in a round."""
    found: dict[str, set[Motion]] = defaultdict(set)
    for item, move in zip(items, moves, strict=True):
        if isinstance(item, Repeat):
            for tensor, some in motions_of(item.body, moves_of(move)).items():
                found[tensor] |= some
            continue
        by = Moves(item, [move])
        by.number()
        if isinstance(item, Compute):
            for piece, region in (*item.reads, *item.writes):
                motions = by.operand(len(piece.box), region.offset is not None)
                found[piece.tensor].add(motions[0])
        elif isinstance(item, Release):
            motions = by.operand(len(item.piece.box), item.region.offset is not None)
            found[item.piece.tensor].add(motions[0])
    return found
