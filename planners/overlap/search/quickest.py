"""The quickest plan within a budget: the coarsest segments that fit, finer ones where memory binds.

First blocks of whole tensors and rows in the default order, then operators alone in orders of less
memory, then segments too. It finds a layout wherever the other objectives do, as their offers are
its last resort.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from planners.allocation.overlapping.model import most_shared
from planners.core.details.pool import PoolLayout
from planners.core.graph import Graph, Operator
from planners.core.progress import MOST_SHARE, TRIAL_SHARE, Clock
from planners.overlap.kernels.levels import Cost
from planners.overlap.model.distance import distance
from planners.overlap.model.separable import streams
from planners.overlap.order.orders import least_orders
from planners.overlap.search.chain import MOST_OPERATORS, ChainWay, cuts, turned
from planners.overlap.search.coarse import Coarse
from planners.overlap.search.coarse_blocks import NOTHING, BlockSplits, quickest


@dataclass(frozen=True, slots=True)
class Quick:
    """A layout, a bound on the bytes of its runs in their order, the MACs that it repeats, and the
    operators of the block that needs most.
    """

    layout: PoolLayout
    bound_bytes: int
    extra_macs: int
    binding: tuple[str, ...]


def least_alone(graph: Graph, budget_bytes: int, fuse: bool) -> int:
    """Bytes above the budget that an operator needs in any layout; 0 where none does.

    Such operators run by themselves, so all that they read and write is there at once.
    """
    most = 0
    apart = _by_themselves(graph) if fuse else set(range(len(graph.operators)))
    for position, op in enumerate(graph.operators):
        if position in apart or not streams(graph, op):
            most = max(most, _need(graph, op, budget_bytes))
        elif sizes := [graph.size_bytes(n) for n in op.inputs if n in graph.inputs]:
            most = max(most, *sizes)  # Inputs of the network lie whole.
    return most if most > budget_bytes else 0


def _by_themselves(graph: Graph) -> set[int]:
    """Operators in blocks too large for runs of several."""
    marks = cuts(graph)
    large = [(a, b) for a, b in zip(marks, marks[1:], strict=False) if b - a > MOST_OPERATORS]
    return {position for first, stop in large for position in range(first, stop)}


def _need(graph: Graph, op: Operator, budget_bytes: int) -> int:
    """Bytes that an operator alone needs at least; exact only above the budget."""
    apart = sum(map(graph.size_bytes, (*op.inputs, *op.outputs)))
    if apart <= budget_bytes or len(op.outputs) != 1:
        return apart
    near = [(graph.size_bytes(name), distance(graph, op, name)) for name in op.inputs]
    dying = [(size, d) for size, d in near if d is not None]
    return apart - most_shared(graph.size_bytes(op.outputs[0]), dying)


def quick_layout(
    graph: Graph,
    budget_bytes: int,
    cost: Cost,
    clock: Clock,
    fuse: bool,
    may_share: Callable[[], Mapping[tuple[str, str], int]],
) -> Quick | None:
    """The quickest layout found within a budget; None where none was found.

    `may_share` is called for what may overlap by segments, where nothing coarser fits.
    """
    if least_alone(graph, budget_bytes, fuse):
        return None
    blocks = BlockSplits(graph, budget_bytes, cost, clock.share(MOST_SHARE), fuse)
    rows = list(blocks.ways())
    quick = _of_ways(blocks, rows)
    return quick or _finer(blocks, clock, rows, may_share())


def _finer(
    blocks: BlockSplits,
    clock: Clock,
    rows: Sequence[ChainWay],
    may_share: Mapping[tuple[str, str], int],
) -> Quick | None:
    """The same with segments where rows do not fit, and with orders of less memory."""
    graph, budget_bytes = blocks.graph, blocks.budget
    finer = BlockSplits(
        graph, budget_bytes, blocks.cost, clock.share(MOST_SHARE), blocks.fuse, may_share
    )
    quick = _of_ways(finer, [*rows, *finer.ways()])
    if quick is not None:
        return quick
    shared, _, orders = least_orders(graph, may_share, clock.share(TRIAL_SHARE))
    alone = shared.bound_bytes <= budget_bytes
    for finest in (NOTHING, may_share):
        for order in orders if alone else ():
            coarse = Coarse(graph, order, budget_bytes, finest)
            laid = coarse.layout(clock.silent(TRIAL_SHARE))
            if laid is not None:
                layout, bound = laid
                return Quick(layout, bound, 0, (_neediest(coarse),))
    return None


def _neediest(coarse: Coarse) -> str:
    at = max(range(len(coarse.needs)), key=coarse.needs.__getitem__)
    return coarse.graph.operators[coarse.order[at]].name


def _of_ways(blocks: BlockSplits, ways: Sequence[ChainWay]) -> Quick | None:
    """The layout of the quickest ways."""
    graph = blocks.graph
    chosen = quickest(ways, len(graph.operators), blocks.cost)
    if chosen is None:
        return None
    chosen = blocks.tightened(chosen)
    binding = max(chosen, key=lambda way: way.size_bytes)
    names = tuple(op.name for op in graph.operators[binding.first : binding.stop])
    layout = turned(graph, chosen, binding.size_bytes)
    bound = max(way.packed.bound_bytes for way in chosen)
    return Quick(layout, bound, sum(way.extra_macs for way in chosen), names)
