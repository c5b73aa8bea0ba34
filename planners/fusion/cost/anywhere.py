"""What an operator costs at least in a group, whichever group that is.

Whatever reads what it makes, an operator that makes all of its R rows in t turns makes R/t of them
at once some time, and holds these and the rows of its inputs under their windows. So many turns and
bands and images as that leaves room for load the parameters that have none.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from planners.fusion.cost.floor import Floors
from planners.fusion.cost.refills import RefillRead, Refills
from planners.fusion.partition.shortest import NEVER
from planners.fusion.tile.axes import Counts


def least_in_a_group(
    i: int, floors: Floors, refills: Refills, parameters: int, budgets: Sequence[int]
) -> list[int]:
    """Bytes of parameters that operator i loads in any group within each budget, at least;
    `NEVER` where it fits in none. `parameters`: their bytes."""
    need, images = floors.needs[i], refills.images[i]
    turns = np.arange(1, refills.heights[i] + 1)
    made = -(-refills.heights[i] // turns)
    outputs = need.rows[: len(need.rows) - len(refills.reads[i])]
    rows = {tensor: np.maximum(made, least) for tensor, least in outputs}
    for read, (tensor, least) in zip(refills.reads[i], need.rows[len(outputs) :]):
        span = np.maximum(_span(read, made), least)
        rows[tensor] = np.maximum(rows.get(tensor, 0 * span), span)
    held = sum((floors.few[t] * count for t, count in rows.items()), 0 * made)
    rest = {t: floors.rest[t] * count for t, count in rows.items()}
    for tensor in set(need.whole):
        held = held + rest.pop(tensor)
    if need.pair and all(t in rest for t in need.pair):
        held = held + np.minimum(*(rest[t] for t in need.pair))
    lowest = [NEVER] * len(budgets)
    for together in (n for n in range(1, images + 1) if images % n == 0):
        for bands in (1 << k for k in range(floors.bands.bit_length())):
            again = turns * (images // together) * bands - 1
            room = held * together // bands
            for k, budget in enumerate(budgets):
                fits = room + need.parameters <= budget
                if fits.any():
                    left = np.maximum(parameters - (budget - room[fits]), 0)
                    lowest[k] = min(lowest[k], parameters + int((again[fits] * left).min()))
    return lowest


def _span(read: RefillRead, made: Counts) -> Counts:
    """The fewest rows of an input under the windows of so many rows that follow each other."""
    last = len(read.upto) - 1
    counts, which = np.unique(made, return_inverse=True)  # Few: a height in turns, rounded up.
    spans = [(read.upto[n:] - read.start[: last + 1 - n]).min() for n in counts.tolist()]
    return np.maximum(np.array(spans, dtype=np.int64), 0)[which]
