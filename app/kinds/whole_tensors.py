"""The plain kind of plan: tensors that lie on chip whole, or in pieces without known meaning.

Third-party planners get it. The other kinds override what differs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import planners as sp
from app.captions.sentence import Sentence
from app.captions.whole_tensors import whole_story
from app.display.displayed_plan import DisplayedPlan
from app.display.stream import ShownRegion
from app.kinds.binding_bars import BindingBars
from app.kinds.kind import Band, Card, Looks, Row, Together, fact
from app.kinds.map_rows import MapRows
from app.kinds.strips import Strips
from app.kinds.tables import largest_first, largest_tensors, live_by_tensor, stays_of
from app.kinds.timeline_bars import BOUND, ENGINES, Bars
from app.model.state import selected_tensors
from app.model.units import seconds_text
from planners.core.bounds.floors import latency_floor_s
from planners.core.colours import STAYS
from planners.core.units import format_bytes
from planners.simulator.records.interval_columns import columns_of_intervals

SPILL = "not compulsory: bytes spilled or fetched again because the memory is too small"
MOST_TOLD_BOUND = 2000
"""Intervals of the longest trace whose lane of what binds is drawn: finding it takes 0.13 s."""
LATENCY = "from the scoreboard: engines overlap where data and addresses allow it"


class WholeKind:
    """What the page shows of a plan, by its kind; everything except the plan belongs to the
    kind."""

    planner = ""
    """The name of the planner that makes such plans."""
    about = ""
    """What that planner does, in terms of the glossary."""
    manner = ""
    """How its plans run a network whose tensors are not whole, as a part of a sentence."""
    measure = ""
    """What the solver's bytes measure; empty where its objective says that."""
    budgets: Mapping[str, str] = {}
    """What named budgets mean to it, where that is not the usual."""
    whole_operators = True
    """Whether an operator runs whole: then no plan exists below the largest operator's need."""
    answers_at_once = False
    """Whether the result of another budget is known before there is a program."""
    panel = ""
    """The panel that only this kind has, by its name on the page."""
    pictures: Mapping[str, str] = {}
    """Figures that only this kind has, by what they show; they can be saved as pictures."""
    looks: Looks = STAYS
    streams = False
    """Whether parameters stream, in layers whose kernels wait."""
    fine = False
    """Whether rectangles of the map are thin: the channels of one pixel each."""
    banded = False
    """Whether bands over the steps show which of them belong together."""
    has_code = False
    """Whether there is a generator of C code for its programs."""

    def made(self, shown: DisplayedPlan) -> bool:
        """Whether a plan is of this kind."""
        return True

    # ---- cards -----------------------------------------------------------------------------

    def parts(self, shown: DisplayedPlan) -> str:
        """The number of parts into which the planner divides the network."""
        return f"{len(shown.graph.operators)} operators"

    def manner_of(self, shown: DisplayedPlan) -> str:
        """How this plan runs its network, as a part of a sentence."""
        return self.manner

    def title(self, shown: DisplayedPlan) -> str:
        """Under the network's name: the planner, and the number of parts."""
        hand = ", by hand" if shown.moved else ""
        return f"{shown.plan.planner}{hand} · {self.parts(shown)}"

    def aim(self, plan: sp.Plan) -> str:
        """What was minimised, to which claims refer."""
        return "peak memory" if plan.options.get("objective") == "peak" else "spill traffic"

    def unproven(self, plan: sp.Plan) -> str:
        """What was searched for without a bound; empty where the gap says how near the plan is."""
        return ""

    def cards(self, shown: DisplayedPlan) -> list[Card]:
        """Traffic, the most bytes held, and latency."""
        report, budget = shown.report, shown.plan.budget_bytes
        peak_text = f"peak, {report.peak_bytes / budget:.0%} of {format_bytes(budget)}"
        spilled = format_bytes(report.noncompulsory_bytes)
        return [
            Card(spilled, "spill traffic", "extra", SPILL),
            traffic_card(shown),
            Card(format_bytes(report.peak_bytes), peak_text, "peak"),
            latency_card(shown),
        ]

    # ---- address map -----------------------------------------------------------------------

    def rows(self, shown: DisplayedPlan, memory: str) -> MapRows | Strips:
        """The drawn rows of a memory."""
        return MapRows(shown, memory)

    def limit(self, shown: DisplayedPlan) -> tuple[int, str]:
        """The limit of the addresses, and its name."""
        return shown.plan.budget_bytes, "budget"

    def regions(self, shown: DisplayedPlan) -> Sequence[ShownRegion]:
        """The parts of the memories to choose from."""
        return ()

    def region(self, shown: DisplayedPlan, key: str) -> ShownRegion | None:
        """The part that a link calls by `key`; the first where there is none of that name."""
        regions = self.regions(shown)
        return next((region for region in regions if region.key == key), next(iter(regions), None))

    def memory(self, shown: DisplayedPlan, key: str) -> str:
        """The memory of that part."""
        region = self.region(shown, key)
        return region.memory if region else shown.memories[0]

    def room(self, shown: DisplayedPlan, memory: str) -> int:
        """Bytes of a memory that can be filled."""
        return shown.plan.budget_bytes

    def drawn(self, shown: DisplayedPlan, selection: str) -> set[str]:
        """The map's names for what is selected: its tensors."""
        return set(selected_tensors(shown.graph, selection))

    # ---- tables ----------------------------------------------------------------------------

    def live(self, shown: DisplayedPlan, step: int, unit: str) -> list[Row]:
        """A row for each residency at the cursor, largest first."""
        return largest_first([*live_by_tensor(shown, step, unit).values()])

    def largest(self, shown: DisplayedPlan) -> list[Row]:
        """With nothing selected: the tensors that move most for lack of memory, or the largest."""
        if sizes := {name: size for name, size in shown.moved_bytes.items() if size}:
            return largest_tensors(shown, sizes, "spilled", "the memory is too small for them")
        residencies = shown.residency_columns
        names = (residencies.tensors[at] for at in residencies.tensor.tolist())
        sizes = dict(zip(names, residencies.size_bytes.tolist(), strict=True))
        return largest_tensors(shown, sizes, "on chip", "nothing is spilled")

    def of_part(
        self, shown: DisplayedPlan, selection: str, why: Mapping[str, Any]
    ) -> list[Row] | None:
        """Rows on a selected part of the plan, and `why` it is one; None where the selection is no
        part."""
        return None

    def of_tensor(self, shown: DisplayedPlan, name: str) -> list[Row]:
        """Where a tensor is on chip."""
        return stays_of(shown, name)

    def part_of(self, shown: DisplayedPlan, operator: str) -> list[Row]:
        """The part of the plan that an operator is in."""
        return []

    def of_operator(self, shown: DisplayedPlan, name: str) -> list[Row]:
        """The facts of an operator's parameters."""
        graph = shown.graph
        operator = graph.operators[graph.index[name]]
        size = sum(graph.size_bytes(tensor) for tensor in operator.parameters)
        return [fact("parameters", format_bytes(size))] if size else []

    # ---- time ------------------------------------------------------------------------------

    def bars(self, shown: DisplayedPlan, trace: sp.Trace) -> Bars:
        """The timeline's bars of a trace; what binds operators where that is known."""
        return BindingBars(shown, trace) if tells_bound(shown, trace) else Bars(shown.names, trace)

    def lanes(self, shown: DisplayedPlan, trace: sp.Trace) -> list[str]:
        """The engines that are used, compute first and what binds it beneath."""
        engines = engines_of(trace)
        return [*engines[:1], *[BOUND] * tells_bound(shown, trace), *engines[1:]]

    # ---- the cursor, and sentences ---------------------------------------------------------

    def story(self, shown: DisplayedPlan, step: int) -> list[Sentence]:
        """What happened during a step, in the order in which it happened."""
        return whole_story(shown, step)

    def bands(self, shown: DisplayedPlan, why: Mapping[str, Any]) -> list[Band]:
        """What is coloured over the steps and in the graph; `why` is what is known of it so far."""
        return []

    def together(self, shown: DisplayedPlan) -> list[Together]:
        """Operators that run together, in the order in which they run."""
        return []

    def waits(self, shown: DisplayedPlan) -> list[tuple[str, int]]:
        """The selection and the step of what waits; a key leads from one to the next."""
        return []

    def changes_at_front(self, options: Mapping[str, Any]) -> bool:
        """Whether plans made with these options list all budgets at which they change."""
        return False

    def front(self, plan: sp.Plan) -> list[int]:
        """Budgets at which a plan's own front has a point, rising; empty where it has no front."""
        return []


class CosmaKind(WholeKind):
    """Plans of COSMA: the plain kind, and a description of its planner."""

    planner = "cosma"
    about = (
        "Chooses when each tensor is on chip (its residency), at which address, and what is"
        " spilled to its home off chip, with the least spill traffic."
    )


class AutoKind(WholeKind):
    """The choice of asking every planner; its plans are of their own planner's kind."""

    planner = "auto"
    measure = "what each planner minimises"
    about = (
        "Asks every planner that can plan this within the budget, and returns the best plan by"
        " the objective below. A proof is about that planner's own objective."
    )


def traffic_card(shown: DisplayedPlan) -> Card:
    """What crosses the off-chip interface."""
    compulsory = format_bytes(shown.report.compulsory_bytes)
    about = f"{compulsory} are compulsory: each input loaded once, each output stored once"
    whole = format_bytes(shown.report.traffic_bytes)
    return Card(whole, "traffic incl. compulsory", "traffic", about)


def latency_card(shown: DisplayedPlan) -> Card:
    """How long the program takes, and how far it is above its floor."""
    took, floor = shown.trace.makespan_s, latency_floor_s(shown.plan)
    is_given = shown.plan.has_given_times
    is_ideal = shown.plan.machine.is_ideal and not is_given
    label, hover = "ideal latency" if is_ideal else "latency", LATENCY
    if is_ideal:
        hover += "\nIdeal machine: every operator runs at the full MAC rate."
    machine = shown.plan.machine
    if machine.seconds_band and not is_given:
        first, last = map(seconds_text, machine.between_s(took))
        hover += f"\nLikely {first} to {last}, by {machine.judge}."
    if is_given:
        hover += f"\nTimes: {shown.trace.times}."
    if floor:
        hover += (
            f"\n{max(0.0, took / floor - 1):.1%} above its floor of {seconds_text(floor)}: no plan "
            "of this problem takes less than all operators one after the other, or all compulsory "
            "traffic, each engine at full rate."
        )
    if (claim := shown.plan.details.latency) and not shown.moved:
        hover += f"\nBound {claim.scope}, within this budget: {seconds_text(claim.bound_s)}."
    return Card(seconds_text(took), label, "latency", hover)


def tells_bound(shown: DisplayedPlan, trace: sp.Trace) -> bool:
    """Whether a lane says what binds operators: not where nothing overlaps, and not of programs for
    which that takes long to find."""
    short = len(trace.intervals) <= MOST_TOLD_BOUND
    return short and not trace.serial and bool(shown.bindings)


def engines_of(trace: sp.Trace) -> list[str]:
    """Engines that are used, compute first, in the order of `ENGINES`."""
    times = columns_of_intervals(trace.intervals)
    used = times.by_engine(times.stall_s)
    order = list(ENGINES)
    return sorted(used, key=lambda e: order.index(e) if e in order else len(order))
