"""Plans as C: a network in int8 that runs in one pool of exactly the planned bytes."""

from planners.backends.c.folder import write_code
from planners.backends.c.model import generate

__all__ = ["generate", "write_code"]
