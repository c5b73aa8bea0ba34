"""Plans that join the methods: stretches in a pool, as fused groups, as whole tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import planners as sp
from app.captions.sentence import Sentence
from app.captions.whole_tensors import whole_story
from app.display.banks import regions_of, room_in, several
from app.display.displayed_plan import DisplayedPlan
from app.display.groups import members_words
from app.display.stream import ShownRegion
from app.display.stretches import RunStretch
from app.kinds.banks import cards_of
from app.kinds.kind import Band, Card, Row, Together, fact, link
from app.kinds.whole_tensors import WholeKind
from app.model.state import group_selection, operator_selection
from app.model.units import seconds_text
from planners.core.colours import ink_on
from planners.core.details.joined import FUSED, POOL, SPILLED, JoinedStretch
from planners.core.units import format_bytes

_IN: Mapping[str, str] = {
    POOL: "in a circular pool",
    FUSED: "in fused groups",
    SPILLED: "as whole tensors with spills",
}
_RUNS: Mapping[str, str] = {
    POOL: "runs in the pool, outputs over dying inputs",
    FUSED: "runs as fused groups, from host to host",
    SPILLED: "runs as whole tensors, some of them spilled, from host to host",
}


class JoinedKind(WholeKind):
    """What the page shows of stretches beyond what it shows of whole tensors."""

    planner = "joined"
    about = (
        "Joins the methods in one plan: blocks run in a circular pool with outputs over dying"
        " inputs, or, where they do not fit, as fused groups or as whole tensors with spills, and"
        " weights stream into the bytes that are free. Best for small memories with weights"
        " counted."
    )
    manner = "in a circular pool where that fits"
    whole_operators = False
    banded = True
    measure = "off-chip traffic"

    def made(self, shown: DisplayedPlan) -> bool:
        return bool(shown.plan.details.stretches)

    def parts(self, shown: DisplayedPlan) -> str:
        count = len(shown.plan.details.stretches)
        return f"{count} sections" if count != 1 else "1 section"

    def manner_of(self, shown: DisplayedPlan) -> str:
        ways = [how for how in _IN if any(ran.stretch.how == how for ran in shown.stretches)]
        if ways == [POOL]:
            return "in one circular pool"
        partly = "partly " if len(ways) > 1 else ""
        return " and ".join(partly + _IN[how] for how in ways or [FUSED])

    def aim(self, plan: sp.Plan) -> str:
        return "traffic"

    def cards(self, shown: DisplayedPlan) -> list[Card]:
        return cards_of(shown) if several(shown) else super().cards(shown)

    def regions(self, shown: DisplayedPlan) -> Sequence[ShownRegion]:
        return regions_of(shown) if several(shown) else super().regions(shown)

    def room(self, shown: DisplayedPlan, memory: str) -> int:
        return room_in(shown, memory) if several(shown) else super().room(shown, memory)

    def of_part(
        self, shown: DisplayedPlan, selection: str, why: Mapping[str, Any]
    ) -> list[Row] | None:
        named = {group_selection(ran.name): ran for ran in shown.stretches}
        return _rows(shown, named[selection]) if selection in named else None

    def part_of(self, shown: DisplayedPlan, operator: str) -> list[Row]:
        return [
            row
            for ran in shown.stretches
            if operator in ran.operators
            for row in (
                link("in the section", ran.name, group_selection(ran.name)),
                fact(_runs(ran.stretch)),
                fact(f"why: {ran.stretch.why}"),
            )
        ]

    def story(self, shown: DisplayedPlan, step: int) -> list[Sentence]:
        begun = [
            Sentence(
                "tile",
                f"From here to {ran.operators[-1]}: {_runs(ran.stretch)}. Why: {ran.stretch.why}.",
            )
            for ran in shown.stretches
            if ran.start_step == step
        ]
        return [*begun, *whole_story(shown, step)]

    def bands(self, shown: DisplayedPlan, why: Mapping[str, Any]) -> list[Band]:
        return [
            Band(
                ran.name,
                ran.operators,
                ran.start_step,
                ran.stop_step,
                ran.colour,
                members_words(ran.operators),
                f"{_runs(ran.stretch)} · {ran.stretch.why}",
            )
            for ran in shown.stretches
        ]

    def together(self, shown: DisplayedPlan) -> list[Together]:
        return [
            Together(group_selection(ran.name), ran.operators, ran.start_step)
            for ran in shown.stretches
        ]


def _rows(shown: DisplayedPlan, ran: RunStretch) -> list[Row]:
    """The table of a stretch: how it runs and why, what it holds, its time and its operators."""
    seconds = shown.step_seconds
    took = seconds[ran.stop_step - 1][1] - seconds[ran.start_step][0]
    held_bytes = max(shown.report.occupancy[ran.start_step : ran.stop_step], default=0)
    head = {"chip": ran.colour, "mark": ran.name, "ink": ink_on(ran.colour)}
    rows = [
        {**fact(members_words(ran.operators)), **head},
        fact(_runs(ran.stretch)),
        fact(f"why: {ran.stretch.why}"),
        fact(f"steps {ran.start_step + 1} – {ran.stop_step}", seconds_text(took)),
        fact("on chip at most", format_bytes(held_bytes)),
        {**fact("operators, and their work"), "title": True},
    ]
    for name in ran.operators:
        operator = shown.graph.operators[shown.graph.index[name]]
        row = fact(f"{name} ({operator.kind})", f"{operator.macs / 1e6:.4g} M MACs")
        rows.append({**row, "key": operator_selection(name)})
    return rows


def _runs(stretch: JoinedStretch) -> str:
    return _RUNS.get(stretch.how, _RUNS[FUSED])
