"""What a joined program is worth: a plan of it, replayed and timed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from planners.core.details import BestOfForms, Details, LatencyClaim
from planners.core.details.joined import FUSED, POOL, SPILLED, JoinedStretch
from planners.core.graph import Graph
from planners.core.objective import Objective
from planners.core.plan import Plan
from planners.core.portfolio import Value
from planners.core.registry import COSMA, JOINED
from planners.core.units import format_bytes
from planners.joined.build import JoinedBuilder, JoinedProgram
from planners.joined.options import JoinedOptions
from planners.joined.segments import Segment
from planners.simulator.account import account
from planners.simulator.check import figures
from planners.simulator.simulate import Trace, makespan_s, simulate
from planners.wishes.language import Wish, broken

# ---- What is claimed of a plan by what is asked: a bound of the problem, whoever made the plan ---

SCOPE = "all plans of the problem"


def claimed(plan: Plan, trace: Trace | None, aim: Objective) -> Plan:
    """The plan with what is known of it by what is asked now, whatever its file claims."""
    moved = plan.claims.offchip_bytes
    bound = min(aim.floors.compulsory_bytes, moved)
    best = latency = None
    if plan.planner == COSMA and plan.slow_memories:  # Its aim is what goes through these.
        moved, bound = plan.claims.objective_bytes, 0
        value = aim.value(plan, trace)
        met = not aim.better(aim.floor, value)
        best = BestOfForms(aim.name, value, aim.floor, met, forms=1)
    if trace is not None and aim.name == "latency":
        latency = LatencyClaim(trace.makespan_s, min(aim.floor, trace.makespan_s), SCOPE)
    proven = not latency.gap if latency else aim.name == "traffic" and bound == moved
    claims = replace(
        plan.claims,
        status="optimal" if proven else "feasible",
        objective_bytes=moved,
        bound_bytes=bound,
    )
    details = replace(plan.details, latency=latency, tried=(), best=best)
    return replace(plan, claims=claims, details=details)


# --------------------------------------------------------------------------------------------------

SOLVER = "pool, groups, streams"
LISTED = 4


@dataclass(frozen=True, slots=True)
class Judged:
    """A plan, its timing, what it is worth by the objective, and the wishes that it breaks.

    It is timed where the objective follows from that, else when it is asked for.
    """

    plan: Plan
    timed: Trace | None
    value: float
    joined_program: JoinedProgram
    lost: tuple[Wish, ...] = ()

    @property
    def trace(self) -> Trace:
        """Its timing."""
        return self.timed or simulate(self.plan)


@dataclass(frozen=True, slots=True)
class Judge:
    """Judges programs of one problem."""

    builder: JoinedBuilder
    aim: Objective
    chosen: JoinedOptions

    def better(self, one: Judged, other: Judged) -> bool:
        """Whether one plan breaks fewer wishes than another, or as many and is worth more."""
        if len(one.lost) != len(other.lost):
            return len(one.lost) < len(other.lost)
        return self.aim.better(one.value, other.value)

    def worth(self, one: Judged) -> Value:
        """How many wishes a plan breaks, then what it is worth by the objective."""
        return len(one.lost), one.value

    def value_is_better(self, one: Value, other: Value) -> bool:
        """`better`, of values of plans and bounds of these."""
        if one[:1] != other[:1]:
            return one[:1] < other[:1]
        return not one or self.aim.better(one[1], other[1])

    def met(self, best: Judged) -> bool:
        """Whether no plan of the problem is better."""
        return not best.lost and not self.aim.better(self.aim.floor, best.value)

    def beforehand(self, program: JoinedProgram) -> float | None:
        """What a program is worth where that is soon found without its replay; None where it is
        not, or wishes count too."""
        if self.builder.wishes:
            return None
        if self.chosen.objective == "traffic":
            return account(self.aim.floors.graph, program.program).traffic_bytes
        if self.chosen.objective == "latency":
            return makespan_s(self.aim.floors.graph, program.program, self.builder.machine)
        return None

    def evaluate(self, program: JoinedProgram) -> Judged:
        """A plan of a program, replayed and timed."""
        builder, aim = self.builder, self.aim
        graph, clock = aim.floors.graph, builder.clock  # In the model's order.
        figures(graph, program.program, machine=builder.machine)  # For all below.
        moved = account(graph, program.program)
        floor = min(aim.floors.compulsory_bytes, moved.traffic_bytes)
        proven = self.chosen.objective == "traffic"
        claims = moved.claims(moved.traffic_bytes, floor, SOLVER, clock.silent(), proven)
        segments = tuple(_told(graph, builder, segment) for segment in program.segments)
        plan = Plan(
            planner=JOINED,
            graph=graph,
            machine=builder.machine,
            budget_bytes=builder.budget_bytes,
            program=program.program,
            claims=claims,
            options=self.chosen.values(),
            notes=_notes(graph, program, segments),
            details=Details(stretches=segments),
        )
        trace = simulate(plan) if aim.simulated else None
        if trace is not None and self.chosen.objective == "latency":
            claim = LatencyClaim(trace.makespan_s, min(aim.floor, trace.makespan_s), SCOPE)
            plan = replace(plan, details=replace(plan.details, latency=claim))
            if not claim.gap:
                plan = replace(plan, claims=replace(claims, status="optimal"))
        lost = broken(plan, builder.wishes)
        return Judged(plan, trace, aim.value(plan, trace), program, tuple(lost))


def _told(graph: Graph, builder: JoinedBuilder, segment: Segment) -> JoinedStretch:
    """How a segment runs, and why so."""
    ops = graph.operators
    first, last = ops[segment.first].name, ops[segment.stop - 1].name
    if segment.ways:
        why = "a way in the pool was found within the budget: its maps stay on chip"
        positions = slice(segment.first, segment.stop)
        if ops[positions] != builder.graph.operators[positions]:
            why += "; operators run in an order that needs less at once than the model's"
        return JoinedStretch(first, last, POOL, why)
    method = SPILLED if segment.spilled else FUSED
    blocks = f"{segment.blocks} block{'s' if segment.blocks != 1 else ''}"
    if segment.unfit == segment.blocks:
        why = f"no way in the pool was found within the budget ({blocks})"
    elif segment.unfit:
        why = (
            f"for {segment.unfit} of {blocks} no way in the pool was found within the budget, and "
            "what lies between would cross twice more"
        )
    else:
        why = f"better than what was tried in the pool ({blocks})"
    if segment.spilled:
        return JoinedStretch(first, last, method, why)
    part = builder.fused.part(segment.first, segment.stop)
    if part and part.again:
        why += f"; {_few(part.again)} run again, which moves less than to spill what they make"
    if part and part.boxed:
        why += f"; {_few(part.boxed)} run alone, box by box: no group of theirs fits"
    return JoinedStretch(first, last, method, why)


def _few(names: Sequence[str]) -> str:
    """Some names, and how many more there are."""
    text = ", ".join(names[:LISTED])
    return f"{text} and {len(names) - LISTED} more" if len(names) > LISTED else text


def _notes(graph: Graph, program: JoinedProgram, parts: Sequence[JoinedStretch]) -> tuple[str, ...]:
    """What runs how."""
    runs = (
        f"{s.how}: {s.first} to {s.last}" if s.first != s.last else f"{s.how}: {s.first}"
        for s in parts
    )
    streamed = (
        f"the pool's parameters stream in slices of {format_bytes(program.slice_bytes)} at most"
    )
    pooled = any(s.how != FUSED for s in parts)
    return (
        f"parameters {'counted' if program.slice_bytes else 'read in place'}, {graph.width_words}, "
        f"granularity {graph.granularity}",
        f"joined of {len(parts)} stretch{'es' if len(parts) != 1 else ''} ({'; '.join(runs)})",
        *([streamed] if program.slice_bytes and pooled else []),
    )
