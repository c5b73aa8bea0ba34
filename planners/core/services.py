"""Functions that one package offers to others that must not import it, loaded at the first call.

A planner imports no other, so that each method stands by itself, and nothing imports a backend.
A service is declared here with the place of its code, as planners are in `planners.core.registry`;
callers know this file only.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from planners.core.graph import Graph
from planners.core.machine import Machine
from planners.core.plan import Plan
from planners.core.progress import Clock, ProgressCallback

F = TypeVar("F")


@dataclass(frozen=True, slots=True)
class Service(Generic[F]):
    """A function by its target, `module:function`."""

    name: str
    target: str

    @property
    def module(self) -> str:
        return self.target.partition(":")[0]

    def function(self) -> F:
        """The function, imported now if it was not yet."""
        function: F = load_target(self.target)
        return function


def load_target(target: str) -> Any:
    """What `module:name` names. Raises `ImportError` and `AttributeError`."""
    module, _, name = target.partition(":")
    return getattr(import_module(module), name)


# ---- the least peak of whole tensors ---------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Peak:
    """The least peak found and its schedule; `proven` where no schedule has less.

    `bound_bytes` is a proven lower bound, equal to `peak_bytes` where proven.
    """

    peak_bytes: int
    bound_bytes: int
    schedule: tuple[int, ...]
    states: int

    @property
    def proven(self) -> bool:
        return self.peak_bytes == self.bound_bytes


Pairs: TypeAlias = Iterable[tuple[str, str]]
"""Operators by name, of which the first runs before the second."""
Shares: TypeAlias = Callable[[int, int], int]
"""Bytes that an operator's outputs share with inputs that die: by the operator's position, and the
mask of all that ran when it did. More where more ran."""


class LeastPeak(Protocol):
    """The schedule of least peak; `shares` makes footprints smaller than those of tensors apart."""

    def __call__(
        self,
        graph: Graph,
        parameters: bool = False,
        *,
        clock: Clock | None = None,
        before: Pairs = (),
        shares: Shares | None = None,
    ) -> Peak: ...


class OrderFootprints(Protocol):
    """The bytes that each step of a schedule takes, nothing spilled."""

    def __call__(
        self,
        graph: Graph,
        schedule: Sequence[int],
        parameters: bool = False,
        *,
        shares: Shares | None = None,
    ) -> list[int]: ...


LEAST_PEAK: Service[LeastPeak] = Service(
    "order of least peak", "planners.cosma.order.peak:minimum_peak"
)
ORDER_FOOTPRINTS: Service[OrderFootprints] = Service(
    "footprints of an order", "planners.cosma.order.peak:order_footprints"
)


# ---- a plan of whole tensors -----------------------------------------------------------------


PlanFunction: TypeAlias = Callable[[Graph, Machine, int, Any, ProgressCallback | None], Plan]
"""What every planner is. The options are a mapping, or of the type that it is annotated with."""

PLAN_WHOLE_TENSORS: Service[PlanFunction] = Service(
    "plan of whole tensors, operators alone", "planners.cosma:plan"
)


# ---- the best plan of several planners -------------------------------------------------------


class BestOfPlanners(Protocol):
    """The best plan of all planners `but` some, by an objective, in the time that a clock has."""

    def __call__(
        self,
        graph: Graph,
        machine: Machine,
        budget_bytes: int,
        objective: str,
        weights: str,
        clock: Clock,
        *,
        but: Collection[str],
    ) -> Plan: ...


BEST_OF_PLANNERS: Service[BestOfPlanners] = Service(
    "the best plan of other planners", "planners.auto.planner:best_of_others"
)
