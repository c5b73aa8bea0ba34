"""Addresses for lifetimes: exact packing, TFLite's arena, CSV in and out."""

from planners.allocation.arena import Block, LinearArena, best_fit_arena
from planners.allocation.check import check_packing
from planners.allocation.csv_io import read_lifetimes, write_offsets
from planners.allocation.portfolio import pack
from planners.allocation.problem.model import Lifetime, Packing, load_lower_bound

__all__ = [
    "Block",
    "Lifetime",
    "LinearArena",
    "Packing",
    "best_fit_arena",
    "check_packing",
    "load_lower_bound",
    "pack",
    "read_lifetimes",
    "write_offsets",
]
