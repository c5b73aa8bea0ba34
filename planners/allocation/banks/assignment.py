"""Who goes to which bank, by bytes and not yet by addresses: a relaxation that learns.

One binary for each lifetime and bank that may hold it. At each moment a bank's lifetimes fit in it
together; sets that were proven not to be packed in a bank are cuts, which hold for each bank that
is as small (logic-based Benders decomposition: Hooker and Ottosson, 2003).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, gcd, inf

import numpy as np

from planners.allocation.banks.model import BankProblem
from planners.allocation.problem.instance import reduce


@dataclass(frozen=True, slots=True)
class Assigned:
    """The bank of each lifetime by id (None: none was found), with a bound on bytes touched.

    `none_exists`: proven, with all cuts that were made, that there is no way.
    """

    bank_of: dict[str, int] | None
    bound_bytes: int
    none_exists: bool = False


@dataclass(frozen=True, slots=True)
class _Row:
    """Coefficients by column, of which the sum is between two numbers."""

    entries: dict[int, float]
    lower: float
    upper: float


class Assignment:
    """The relaxation of a problem: asked again after each cut."""

    def __init__(self, problem: BankProblem) -> None:
        self.problem = problem
        self.column: dict[tuple[str, int], int] = {}
        for item in problem.lifetimes:
            for bank in problem.allowed(item):
                self.column[item.id, bank] = len(self.column)
        self.rows = [*self._one_each(), *self._loads()]
        self.most: dict[int, int] = {}  # bytes touched in banks that are settled

    def cut(self, ids: Sequence[str], bank: int) -> None:
        """A set of lifetimes is not all in this bank, nor in one that is as small."""
        sizes = [each.size_bytes for each in self.problem.banks]
        for other, size in enumerate(sizes):
            columns = [self.column[id, other] for id in ids if (id, other) in self.column]
            if size <= sizes[bank] and len(columns) == len(ids):
                self.rows.append(_Row(dict.fromkeys(columns, 1.0), -inf, len(ids) - 1))

    def solve(self, bank: int, time_limit_s: float) -> Assigned:
        """The fewest bytes touched in a bank, with no more than `most` in those settled."""
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import csr_array

        if not self.column:
            return Assigned({}, 0)
        costs, unit = self._costs(bank)
        rows = [*self.rows, *(self._settled(other, most) for other, most in self.most.items())]
        entries = [(r, c, v) for r, row in enumerate(rows) for c, v in row.entries.items()]
        row, column, value = (np.array(each) for each in zip(*entries, strict=True))
        result = milp(
            c=costs,
            integrality=np.ones(len(costs)),
            bounds=Bounds(0, 1),
            constraints=LinearConstraint(
                csr_array((value, (row, column)), shape=(len(rows), len(costs))),
                lb=np.array([each.lower for each in rows]),
                ub=np.array([each.upper for each in rows]),
            ),
            options={"time_limit": max(time_limit_s, 0.01), "mip_rel_gap": 0.0},
        )
        dual = result.mip_dual_bound
        bound = 0 if dual is None or not dual > 0 else ceil(min(dual, 1e15) - 1e-6) * unit
        if result.x is None:
            return Assigned(None, bound if result.status == 1 else 0, result.status == 2)
        bank_of = {id: k for (id, k), at in self.column.items() if result.x[at] > 0.5}
        return Assigned(bank_of, bound)

    def _costs(self, bank: int) -> tuple[np.ndarray, int]:
        """Bytes touched in a bank in units, and the unit."""
        touched = {item.id: self.problem.bytes_touched(item) for item in self.problem.lifetimes}
        unit = gcd(*touched.values()) or 1
        costs = np.zeros(len(self.column))
        for (id, k), at in self.column.items():
            if k == bank:
                costs[at] = touched[id] // unit
        return costs, unit

    def _settled(self, bank: int, most: int) -> _Row:
        costs, unit = self._costs(bank)
        return _Row(
            {at: float(costs[at]) for at in map(int, np.flatnonzero(costs))}, -inf, most // unit
        )

    def _one_each(self) -> list[_Row]:
        rows: dict[str, dict[int, float]] = {}
        for (id, _), at in self.column.items():
            rows.setdefault(id, {})[at] = 1.0
        return [_Row(entries, 1.0, 1.0) for entries in rows.values()]

    def _loads(self) -> list[_Row]:
        """A row for each bank and each largest set of lifetimes live at once, where it may bind."""
        solid = [item for item in self.problem.lifetimes if item.size_bytes]
        rows = []
        for instance in reduce(solid, 0) if solid else []:
            for section in range(instance.sections):
                live = [
                    (instance.ids[b], instance.size[b])
                    for b in range(len(instance))
                    if instance.start[b] <= section < instance.stop[b]
                ]
                for k, bank in enumerate(self.problem.banks):
                    there = {
                        self.column[id, k]: float(n) for id, n in live if (id, k) in self.column
                    }
                    capacity = bank.size_bytes // instance.unit_bytes
                    if sum(there.values()) > capacity:
                        rows.append(_Row(there, -inf, capacity))
        return rows
