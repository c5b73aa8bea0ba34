"""The best partition of a network whose lattice is too wide: prices first, then covers.

Groups join the linear program of set partitioning only where its prices exceed what they cost at
least, and are costed only then: with the last prices no group found costs less than its operators.
Their sum is a bound, and no group that costs more beyond them than the gap can be in a better
partition.
"""

from __future__ import annotations

from math import floor

import numpy as np
from numpy.typing import NDArray

from planners.core.masks import positions
from planners.core.progress import Clock
from planners.fusion.partition.cost_model import executable
from planners.fusion.partition.shortest import NEVER, Bytes
from planners.fusion.search.lazy_costs import Offers
from planners.fusion.search.set_partition import (
    PartitionFound,
    cheapest_cover,
    duals,
    incidence,
    lowered_to_hold,
)

JOINING = 512  # groups that join the linear program at once


def wide_cover(offers: Offers, column: int, clock: Clock, known: PartitionFound) -> PartitionFound:
    """The cheapest cover found that costs less than a known one, and a proven bound."""
    price, bound = _prices(offers, column, clock.among(2), known)
    slack = _slack(offers, column, price)
    near = np.flatnonzero(slack <= known.objective - bound)
    while not clock.expired():
        open_ = [int(row) for row in near if not offers.known[row]]
        if not open_:
            break
        offers.settle(open_, clock, JOINING)
        slack = _slack(offers, column, price)
        near = near[slack[near] <= known.objective - bound]
    usable = [int(row) for row in near if offers.known[row]]
    groups = [offers.groups[row] for row in usable]
    costs = [int(offers.costs[row, column]) for row in usable]
    alone = {mask for mask in groups if mask.bit_count() == 1}
    for row in np.flatnonzero(offers.known):
        mask = offers.groups[row]
        if mask.bit_count() == 1 and mask not in alone:
            groups.append(mask)
            costs.append(int(offers.costs[row, column]))
    cover = cheapest_cover(offers.candidates.dag, groups, costs, clock, known.objective, price)
    # What was not costed in time may be in a better one.
    proven = cover.bound if len(usable) == len(near) else min(bound, cover.bound)
    if cover.groups is None:
        return PartitionFound(known.groups, known.objective, min(proven, known.objective))
    order = executable(offers.candidates.dag, cover.groups)
    assert order is not None, "a cover without cycles has an order"
    return PartitionFound(order, cover.objective, proven)


def _prices(
    offers: Offers, column: int, clock: Clock, known: PartitionFound
) -> tuple[list[int], int]:
    """Prices that hold for every group, and their sum."""
    count = offers.candidates.dag.count
    matrix = incidence(count, offers.groups)
    inside = offers.known & (offers.costs[:, column] < NEVER)
    price = np.zeros(count)
    while True:
        rows = np.flatnonzero(inside)
        solution = duals(matrix[rows], offers.costs[rows, column], clock)
        if solution is None:
            break
        price = solution
        beyond = matrix @ price - offers.costs[:, column]
        beyond[inside] = 0
        over = np.flatnonzero(beyond > 1e-6 * max(1.0, price.max()))
        clock.report("prices", known.objective, None)
        if not len(over) or clock.expired():
            break
        worst = over[np.argsort(-beyond[over], kind="stable")[:JOINING]]
        offers.settle([int(row) for row in worst], clock, JOINING)
        inside |= offers.known & (offers.costs[:, column] < NEVER) & _rows(worst, len(inside))
    fits = [int(row) for row in np.flatnonzero(offers.costs[:, column] < NEVER)]
    exact = lowered_to_hold(
        [floor(x) for x in price],
        [offers.groups[row] for row in fits],
        [int(offers.costs[row, column]) for row in fits],
    )
    return exact, sum(exact)


def _rows(rows: Bytes, count: int) -> NDArray[np.bool_]:
    mask = np.zeros(count, dtype=bool)
    mask[rows] = True
    return mask


def _slack(offers: Offers, column: int, price: list[int]) -> Bytes:
    """What each group costs, at least, beyond the prices of its operators."""
    sums = [sum([price[i] for i in positions(mask)]) for mask in offers.groups]
    return np.asarray(offers.costs[:, column] - np.array(sums, dtype=np.int64))
