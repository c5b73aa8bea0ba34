"""A core first: most of a network leaves room to spare, and only some of it is a puzzle.

The blocks that live where memory is nearly full, or those that are large, are packed alone; what
is left is then placed around them. If that fails the core grows. A core that cannot be packed
proves that nothing can.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate

from planners.allocation.heuristics import Offsets, neighbours, place
from planners.allocation.problem.instance import Instance, reduce
from planners.allocation.problem.model import Lifetime

SHARES = (0.9, 0.8, 0.7, 0.6, 0.5, 0.4)
PARTS = (64, 256, 1024, 4096)  # of the capacity: what is not smaller than one of them is large
FULL = 0.95  # of all room: with less than that to spare the small ones find none around the large

Solve = Callable[[Instance], tuple[bool | None, Offsets]]


def crowded_first(instance: Instance, solve: Solve) -> tuple[bool | None, Offsets]:
    """Pack cores of growing size with `solve`, and the rest around them.

    True with offsets, False where a core is proved not to fit, None where nothing was settled.
    """
    loads = instance.loads()
    pile = [max(loads[a:b]) for a, b in zip(instance.start, instance.stop, strict=True)]
    near, tried = neighbours(instance.start, instance.stop), 0
    for share in SHARES:
        core = [b for b in range(len(instance)) if pile[b] >= share * instance.capacity]
        if len(core) == tried or len(core) == len(instance):
            continue
        tried = len(core)
        fits, fixed = _pack_core(instance, core, solve)
        if not fits:
            return fits, []
        offsets = _around(instance, near, fixed, lambda b: (-pile[b], -instance.size[b]))
        if offsets is not None:
            return True, offsets
    return None, []


def large_first(instance: Instance, solve: Solve) -> tuple[bool | None, Offsets]:
    """Pack the large blocks with `solve`, in no more than their load if they can be, and the rest.

    A training step has a thousand tensors of a few bytes beside those that fill the memory. True,
    False and None as `crowded_first` has them.
    """
    start, stop, size = instance.start, instance.stop, instance.size
    if sum(instance.loads()) > FULL * instance.capacity * instance.sections:
        return None, []
    near, tried = neighbours(start, stop), 0
    for part in PARTS:
        core = [b for b in range(len(instance)) if size[b] * part >= instance.capacity]
        if len(core) == tried or len(core) == len(instance):
            continue
        tried = len(core)
        fits, fixed = _pack_core(_at_load(instance, core), core, solve)
        if not fits:
            fits, fixed = _pack_core(instance, core, solve)
        if not fits:
            return fits, []
        offsets = _around(instance, near, fixed, lambda b: (-size[b], start[b] - stop[b], start[b]))
        if offsets is not None:
            return True, offsets
    return None, []


def _at_load(instance: Instance, core: Sequence[int]) -> Instance:
    """With no more capacity than these blocks need at once."""
    loads = [0] * (instance.sections + 1)
    for b in core:
        loads[instance.start[b]] += instance.size[b]
        loads[instance.stop[b]] -= instance.size[b]
    return replace(instance, capacity=max(accumulate(loads)))


def _around(
    instance: Instance,
    near: Sequence[Sequence[int]],
    fixed: Mapping[int, int],
    rank: Callable[[int], tuple[int, ...]],
) -> Offsets | None:
    """The blocks that are not `fixed` put down by `rank`; None where they stick out."""
    rest = sorted(set(range(len(instance))) - set(fixed), key=rank)
    for best_fit in (False, True):
        offsets = place(instance, near, rest, best_fit, fixed)
        if instance.extent(offsets) <= instance.capacity:
            return offsets
    return None


def _pack_core(
    instance: Instance, core: Sequence[int], solve: Solve
) -> tuple[bool | None, dict[int, int]]:
    lifetimes = [
        Lifetime(str(b), instance.start[b], instance.stop[b], instance.size[b]) for b in core
    ]
    fixed: dict[int, int] = {}
    for part in reduce(lifetimes, instance.capacity):
        fits, offsets = solve(part)
        if not fits:
            return fits, {}
        fixed |= {int(name): at for name, at in part.in_bytes(offsets).items()}
    return True, fixed
