"""The three budgets of the COSMA paper (V-A): MR, MP and their mean MH."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from planners.core.display import Displayed, Fact
from planners.core.errors import BadInput
from planners.core.graph import Graph, assert_graph
from planners.core.progress import Clock
from planners.core.units import format_bytes, parse_size
from planners.cosma.order.peak import minimum_peak, order_peak

MOST_STATES = 50_000
"""Sets of operators that are looked at for MP: some five seconds; hard networks take 10,000."""


@dataclass(frozen=True, slots=True)
class Budgets(Displayed):
    """Budgets in bytes.

    `MR`: the largest need of one operator, no plan exists below it. `MP`: the least peak over all
    schedules; `MP_bound` is a proven lower bound on it and `MP_proven` whether they meet. `MH`:
    the mean of both, rounded down. `default_peak`: the peak of the default schedule. `schedule`:
    operators (positions) in an order that reaches `MP`: in it nothing is spilled from there on.
    """

    MR: int
    MP: int
    MP_bound: int
    default_peak: int
    binding_operator: str
    schedule: tuple[int, ...]

    @property
    def MH(self) -> int:
        return (self.MR + self.MP) // 2

    @property
    def MP_proven(self) -> bool:
        return self.MP == self.MP_bound

    def facts(self) -> list[Fact]:
        proven = "proven" if self.MP_proven else f"at least {format_bytes(self.MP_bound)}"
        return [
            ("Budgets", "in bytes"),
            ("MR", f"{self.MR:,} ({format_bytes(self.MR)}), what {self.binding_operator} needs"),
            ("MH", f"{self.MH:,} ({format_bytes(self.MH)})"),
            ("MP", f"{self.MP:,} ({format_bytes(self.MP)}), {proven}"),
            ("peak in the default order", f"{self.default_peak:,}"),
        ]


def budgets(graph: Graph, *, parameters: bool = False, time_limit: float | None = None) -> Budgets:
    """MR, MH and MP of a graph, activations only unless `parameters`.

    The search for MP ends after `MOST_STATES` sets of operators, so that MP is the same number on
    every machine, and `MP_proven` says whether it is the least; after `time_limit` seconds too,
    where that is given, and then it depends on the machine. Raises `BadInput` for a graph without
    operators.
    """
    needs = _needs(graph, parameters)
    mr = max(needs)
    default = order_peak(graph, tuple(range(len(graph.operators))), parameters)
    clock = Clock(math.inf if time_limit is None else time_limit)
    peak = minimum_peak(graph, parameters, clock=clock, max_states=MOST_STATES)
    return Budgets(
        MR=mr,
        MP=peak.peak_bytes,
        MP_bound=max(mr, peak.bound_bytes),
        default_peak=default,
        binding_operator=graph.operators[needs.index(mr)].name,
        schedule=peak.schedule,
    )


def _needs(graph: Graph, parameters: bool) -> list[int]:
    """Bytes that each operator needs at once."""
    assert_operators(graph)
    return [
        sum(
            graph.size_bytes(t)
            for t in (*op.inputs, *(op.parameters if parameters else ()), *op.outputs)
        )
        for op in graph.operators
    ]


def assert_operators(graph: Graph) -> None:
    """Raises `BadInput` for a graph without operators, and for what is no graph."""
    assert_graph(graph)
    if not graph.operators:
        raise BadInput(f"graph {graph.name!r} has no operators: there is nothing to plan")


def resolve_budget(graph: Graph, budget: int | str, *, parameters: bool = False) -> int:
    """Bytes of a budget given as a number, `"MR"`, `"MH"`, `"MP"` or a size such as `"256KiB"`.

    Raises `BadInput` for a budget that is none of these, and for a graph without operators.
    """
    return resolve_budgets(graph, [budget], parameters=parameters)[0]


def resolve_budgets(
    graph: Graph, labels: Sequence[int | str], *, parameters: bool = False
) -> list[int]:
    """Bytes of several budgets of a graph, as `resolve_budget` reads them: searched for once."""
    plain = [plain_budget(budget) for budget in labels]
    assert_operators(graph)
    named: Budgets | None = None
    sizes = []
    for budget in plain:
        if budget == "MR":  # MH and MP take a search, MR does not.
            budget = max(_needs(graph, parameters))
        elif isinstance(budget, str):
            named = named or budgets(graph, parameters=parameters)
            budget = int(getattr(named, budget))
        sizes.append(budget)
    return sizes


def plain_budget(budget: int | str) -> int | str:
    """`"MR"`, `"MH"` or `"MP"`, or bytes. Raises `BadInput` for what is none of these."""
    label = budget.strip().upper() if isinstance(budget, str) else ""
    if label in ("MR", "MH", "MP"):
        return label
    try:
        return parse_size(budget)
    except BadInput as error:
        raise BadInput(f"budget: {error} (or MR, MH, MP)") from error
