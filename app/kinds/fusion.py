"""Plans of fused groups: a step is a tile of a group."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import planners as sp
from app.captions.fusion import tile_story
from app.captions.sentence import Sentence
from app.captions.whole_tensors import whole_story
from app.display.displayed_plan import DisplayedPlan
from app.display.groups import group_line, members_words
from app.kinds.group_rows import group_rows
from app.kinds.kind import Band, Row, Together, link
from app.kinds.whole_tensors import WholeKind
from app.model.state import group_selection, selected_group
from planners.core.colours import group_colour


class GroupKind(WholeKind):
    """What the page shows of fused groups beside what it shows of whole tensors."""

    planner = "fusion"
    about = (
        "Runs fused groups tile by tile: keeps a line buffer and a halo of rows instead of whole"
        " maps, and cuts long rows into bands."
    )
    manner = "in fused groups"
    whole_operators = False
    answers_at_once = True
    banded = True
    measure = "off-chip traffic"

    def made(self, shown: DisplayedPlan) -> bool:
        return bool(shown.groups)

    def parts(self, shown: DisplayedPlan) -> str:
        return f"{len(shown.groups)} groups"

    def aim(self, plan: sp.Plan) -> str:
        return "off-chip traffic"

    def of_part(
        self, shown: DisplayedPlan, selection: str, why: Mapping[str, Any]
    ) -> list[Row] | None:
        group = selected_group(shown, selection)
        return None if group is None else group_rows(shown, group, why)

    def part_of(self, shown: DisplayedPlan, operator: str) -> list[Row]:
        if operator not in shown.group_of:
            return []
        name = shown.groups[shown.group_of[operator]].name
        return [link("in the fused group", name, group_selection(name))]

    def story(self, shown: DisplayedPlan, step: int) -> list[Sentence]:
        group = shown.group_at(step)
        return whole_story(shown, step) if group is None else tile_story(shown, step, group)

    def bands(self, shown: DisplayedPlan, why: Mapping[str, Any]) -> list[Band]:
        return [
            Band(
                group.name,
                group.operators,
                group.start_step,
                group.stop_step,
                group_colour(k),
                members_words(group.operators),
                group_line(shown, group, why),
            )
            for k, group in enumerate(shown.groups)
        ]

    def together(self, shown: DisplayedPlan) -> list[Together]:
        return [
            Together(group_selection(group.name), group.operators, group.start_step)
            for group in shown.groups
        ]
