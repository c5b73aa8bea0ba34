"""The crowded times first: most of a network leaves room to spare, and only its core is a puzzle.

The blocks that live where memory is nearly full are packed alone; what is left is then placed
around them. If that fails the core grows. A core that cannot be packed proves that nothing can.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from planners.allocation.heuristics import Offsets, neighbours, place
from planners.allocation.problem.instance import Instance, reduce
from planners.allocation.problem.model import Lifetime

SHARES = (0.9, 0.8, 0.7, 0.6, 0.5, 0.4)


def crowded_first(
    instance: Instance, solve: Callable[[Instance], tuple[bool | None, Offsets]]
) -> tuple[bool | None, Offsets]:
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
        rest = sorted(
            set(range(len(instance))) - set(core), key=lambda b: (-pile[b], -instance.size[b])
        )
        for best_fit in (False, True):
            offsets = place(instance, near, rest, best_fit, fixed)
            if instance.extent(offsets) <= instance.capacity:
                return True, offsets
    return None, []


def _pack_core(
    instance: Instance,
    core: Sequence[int],
    solve: Callable[[Instance], tuple[bool | None, Offsets]],
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
