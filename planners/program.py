"""What planners of one's own import of programs; it lives in `planners.core.program`."""

from planners.core.program import (
    Barrier,
    Box,
    Compute,
    Instruction,
    LazyInstructions,
    Load,
    Memory,
    Operand,
    Piece,
    Program,
    Region,
    Release,
    Store,
    piece_bytes,
    whole,
)

__all__ = [
    "Barrier",
    "Box",
    "Compute",
    "Instruction",
    "LazyInstructions",
    "Load",
    "Memory",
    "Operand",
    "Piece",
    "Program",
    "Region",
    "Release",
    "Store",
    "piece_bytes",
    "whole",
]
