"""Addresses for lifetimes: exact packing, TFLite's arena, CSV in and out."""

from typing import TYPE_CHECKING

from planners.core.lazy_imports import on_use

if TYPE_CHECKING:
    from planners.allocation.arena import Block, LinearArena, best_fit_arena
    from planners.allocation.check import check_packing
    from planners.allocation.csv_io import read_lifetimes, write_offsets
    from planners.allocation.portfolio import pack
    from planners.allocation.problem.model import Lifetime, Packing, load_lower_bound

PLACES = {
    "Block": "planners.allocation.arena",
    "Lifetime": "planners.allocation.problem.model",
    "LinearArena": "planners.allocation.arena",
    "Packing": "planners.allocation.problem.model",
    "best_fit_arena": "planners.allocation.arena",
    "check_packing": "planners.allocation.check",
    "load_lower_bound": "planners.allocation.problem.model",
    "pack": "planners.allocation.portfolio",
    "read_lifetimes": "planners.allocation.csv_io",
    "write_offsets": "planners.allocation.csv_io",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = on_use(__name__, PLACES)

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
