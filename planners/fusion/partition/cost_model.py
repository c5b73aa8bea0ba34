"""The interface of cost models for a search over fused groups."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from planners.core.errors import BudgetTooSmall
from planners.core.graph import Graph
from planners.core.masks import bits
from planners.fusion.partition.lattice import Dag


class StaircasePoint(Protocol):
    """A way to run a group: the buffer that it needs and the off-chip bytes that it moves."""

    @property
    def buffer_bytes(self) -> int: ...

    @property
    def traffic_bytes(self) -> int: ...


class GroupCosts(Protocol):
    """Costs of groups, given as masks over `graph.operators`."""

    def staircase(self, mask: int, /) -> Sequence[StaircasePoint]:
        """Ways to run a group, from small buffer and large traffic to large buffer and least
        traffic; none where it cannot be fused.
        """
        ...

    def fuses(self, mask: int, /) -> bool:
        """Whether a convex group has ways to run at all."""
        ...

    def least_traffic(self, mask: int, /) -> int:
        """A lower bound on the traffic of a group in bytes, computed faster than its ways."""
        ...


@dataclass(frozen=True, slots=True)
class Traits:
    """What a search may assume of a cost model.

    `footprint`: that of a group of two operators or more `grows` with it; or has `lines`, at
    least the line buffers of `planners.fusion.cost.floor`, with `least_channels` and `bands`; or is
    `any`. Unless it is `any`, what cannot be fused at all cannot be with more operators either.
    `local`: groups of equal looks, wherever in the network, have equal costs.
    `splits`: two groups that share no tensor cost no more apart than as one, in no more buffer.
    """

    footprint: Literal["grows", "lines", "any"] = "lines"
    local: bool = True
    splits: bool = True
    least_channels: int = 1
    bands: int = 1


def traits_of(model: GroupCosts) -> Traits:
    """The traits that a model declares, or the defaults."""
    traits = getattr(model, "traits", None)
    return traits if isinstance(traits, Traits) else Traits()


Status = Literal["optimal", "feasible", "bound"]


@dataclass(frozen=True, slots=True)
class Partition:
    """Operators in fused groups, in an order that can run.

    `bound_bytes` is a proven lower bound on the traffic of any partition; `optimal` means that it
    is reached, `bound` that the objective is itself only a bound. `cap`: no partition
    into groups of so many operators or fewer has less traffic; None where that is not known.
    `considered` counts the groups that were offered to the search.
    """

    groups: tuple[int, ...]
    objective_bytes: int
    bound_bytes: int
    status: Status
    cap: int | None = None
    considered: int = 0

    @property
    def gap(self) -> float:
        """(objective − bound) / objective; zero for nothing at all."""
        return (self.objective_bytes - self.bound_bytes) / max(1, self.objective_bytes)


def least_traffic(points: Iterable[tuple[int, int]], budget_bytes: int) -> int | None:
    """The least traffic of (buffer, traffic) pairs within a budget; None where none fits."""
    return min((traffic for buffer, traffic in points if buffer <= budget_bytes), default=None)


def require_singles(model: GroupCosts, graph: Graph, budget_bytes: int) -> None:
    """Raise `BudgetTooSmall` for the operator that alone exceeds the budget by most."""
    worst, binding = budget_bytes, -1
    for i in range(len(graph.operators)):
        need = min((point.buffer_bytes for point in model.staircase(1 << i)), default=None)
        if need is not None and need > worst:
            worst, binding = need, i
    if binding >= 0:
        op = graph.operators[binding]
        remedy = f"every operator fits alone in {worst} bytes"
        raise BudgetTooSmall(worst, budget_bytes, op.name, (*op.inputs, *op.outputs), remedy)


def executable(dag: Dag, groups: Iterable[int]) -> tuple[int, ...] | None:
    """The groups in an order that can run, the first operators first; None on a cycle."""
    waiting = sorted(groups, key=lambda mask: mask & -mask)
    done, order = 0, []
    while waiting:
        for mask in waiting:
            if all(not dag.predecessors[i] & ~(done | mask) for i in bits(mask)):
                break
        else:
            return None
        waiting.remove(mask)
        order.append(mask)
        done |= mask
    return tuple(order)
