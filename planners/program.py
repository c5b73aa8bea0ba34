"""What planners of one's own import of programs; it lives in `planners.core`."""

from planners.core.loops import LoopedInstructions
from planners.core.program import (
    Barrier,
    Box,
    Compute,
    Instruction,
    Item,
    Load,
    Memory,
    Operand,
    Piece,
    Program,
    Region,
    Release,
    Repeat,
    Store,
    piece_bytes,
    whole,
)

LazyInstructions = LoopedInstructions
"""As it was called when it could not hold loops."""

__all__ = [
    "Barrier",
    "Box",
    "Compute",
    "Instruction",
    "Item",
    "LazyInstructions",
    "Load",
    "LoopedInstructions",
    "Memory",
    "Operand",
    "Piece",
    "Program",
    "Region",
    "Release",
    "Repeat",
    "Store",
    "piece_bytes",
    "whole",
]
