"""The options of COSMA: order, replacement and method, and which go together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from planners.core.options import Options, Rule, choice, flag, names, text, texts, whole

AUTO = "auto"
SCHEDULES = ("default", "mpmf", "joint", "dnc")
BY_LATENCY = ("traffic_then_latency", "latency")
OBJECTIVES = ("traffic", "peak", *BY_LATENCY)
OPTIMAL = "optimal"
SCHEMES = ("belady", "greedy", "size_ordered", "hill_climb")
OWN_ORDER = ("joint", "dnc")
"""Schedules that are found together with what leaves the chip."""


@dataclass(frozen=True, kw_only=True)
class CosmaOptions(Options):
    """Options of the COSMA planner."""

    objective: str = choice(
        OBJECTIVES,
        "the objective: off-chip traffic, peak memory, traffic and then latency, or latency",
        label="Objective",
        words={
            "traffic": "least traffic",
            "peak": "least peak memory",
            "traffic_then_latency": "least traffic, then latency",
            "latency": "least latency",
        },
        place="front",
    )
    schedule: str = choice(
        SCHEDULES,
        "the order of operators: the model's, least peak, optimal, or divide and conquer",
        label="Order",
        words={
            "default": "as the model has it",
            "mpmf": "least peak memory first (MPMF)",
            "joint": "best order (joint)",
            "dnc": "divide and conquer (DnC)",
        },
        place="front",
    )
    break_nodes: str | tuple[str, ...] = names(
        AUTO, "dnc: operators that cut the network, separated by commas, or auto", place="front"
    )
    method: str = choice(
        ("search", "ilp"),
        "how the plan is found: by our search, or by the paper's integer linear program",
        label="Method",
        words={"search": "our search", "ilp": "the paper's ILP"},
    )
    replacement: str = choice(
        (OPTIMAL, *SCHEMES),
        "which tensors are spilled: the proven optimum, or a scheme to compare with",
        label="Replacement",
        words={
            OPTIMAL: "optimal",
            "belady": "Belady",
            "greedy": "greedy",
            "size_ordered": "by size (offline)",
            "hill_climb": "hill climbing (offline)",
        },
    )
    solver: str = text(
        "HiGHS", "ilp: HiGHS, CBC, or another solver that PuLP finds", label="Solver of the ILP"
    )
    paper_strict: bool = flag(
        "ilp: exactly the paper's equations", label="exactly the paper's equations", short="strict"
    )
    alignment: int = whole(
        64,
        "alignment of addresses in the schemes' arena",
        least=1,
        unit="bytes",
        label="Alignment of the arena",
        short="aligned to {}",
    )
    wishes: tuple[str, ...] = texts("'keep T', 'spill T' or 'A before B' each", place="none")

    def rules(self) -> Iterator[Rule]:
        if self.schedule != "dnc":
            yield Rule("break_nodes", "only divide and conquer uses them: use schedule='dnc'")
        elif self.objective == "peak":
            yield Rule("break_nodes", "for least memory the network is not cut")
        if self.schedule == "dnc":
            yield Rule("method", "divide and conquer has a search of its own")
        if self.schedule == "dnc" or self.method != "ilp":
            yield Rule("solver", "only the paper's ILP has it: use method='ilp'")
            yield Rule("paper_strict", "only the paper's ILP has it: use method='ilp'")
            yield from self._without_ilp()
        else:
            yield Rule("replacement", "the ILP itself chooses what is spilled")
        if self.replacement == OPTIMAL:
            yield Rule("alignment", "only schemes have an aligned arena", idle=True)

    def _without_ilp(self) -> Iterator[Rule]:
        if self.schedule in OWN_ORDER:
            yield Rule("replacement", "it is chosen together with the order")
        elif self.objective != "traffic":
            yield Rule("replacement", "the others are for traffic only")
        elif self.wishes:
            yield Rule("replacement", "wishes go with the optimal one: use replacement='optimal'")
