"""Rectangles moved by hand in a session: judged by `check`, shown where it agrees. No Panel."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import planners as sp
from app.display.displayed_plan import DisplayedPlan
from app.display.moved_by_hand import (
    address_of,
    alignment_of,
    at_text,
    free_places,
    in_the_way,
    room_of,
    stay_at,
    why_fixed,
    why_outside,
)
from app.jobs.handlers.moved_by_hand import judged, refusal
from app.jobs.pool import Asks
from app.jobs.protocol import Answer, Request
from app.model.state import TENSOR
from app.session.models import Models
from app.session.requests import Ask, SessionPart, setter
from planners.core.errors import BadInput

AT_ONCE = 400  # instructions: so many are parsed, checked and timed in a tenth of a second
KEPT = 20  # plans to go back to, besides the planner's own
NO_TENSOR = "Select a tensor first: tap its rectangle, or a row at the right."
NO_ROOM = "There is no free place {} that holds it while it is on chip."
NOT_HERE = "{} is not on chip in this plan."


class Moving(SessionPart):
    """What was moved by hand, what was refused, and the way back."""

    def __init__(
        self,
        models: Models,
        jobs: Asks,
        show: Callable[[DisplayedPlan], object],
        plan: Callable[[], object],
    ) -> None:
        self.models, self._show, self._plan = models, show, plan
        flags = {"runs": setter(models.work, "judging"), "wrong": setter(models.work, "notice")}
        self._judge = Ask(jobs, self._take, **flags)
        self.asks = (self._judge,)
        self._base: DisplayedPlan | None = None
        self._before: list[DisplayedPlan] = []
        self._mine: DisplayedPlan | None = None
        self._asked: tuple[DisplayedPlan, int, int] | None = None

    @property
    def moves(self) -> int:
        """How many moves by hand the plan on screen has."""
        shown = self.models.work.shown
        return len(shown.plan.details.moves) if shown else 0

    @property
    def can_undo(self) -> bool:
        """Whether there is a move to take back, or a refused one."""
        return bool(self._before or self.models.work.attempt)

    @property
    def chosen(self) -> sp.Residency | None:
        """The stay of the selected tensor at the cursor, or the next one after it."""
        shown, look = self.models.work.shown, self.models.look
        if shown is None or not look.selection.startswith(TENSOR):
            return None
        return stay_at(shown.report, look.selection.removeprefix(TENSOR), look.step)

    def explain(self, shown: DisplayedPlan) -> None:
        """A plan came on screen: questions about another one are dropped."""
        self.close()
        self.models.work.attempt = {}
        if shown is not self._mine:
            self._base, self._before, self._mine = None, [], None

    def to(self, text: str) -> None:
        """Move the chosen stay to an address that was typed."""
        self._with_chosen(lambda residency: self.move(residency, address_of(text)))

    def by(self, bytes_: int) -> None:
        """Move the chosen stay by some bytes, from where it was last tried."""
        self._with_chosen(
            lambda residency: self.move(residency, max(0, self.place_of(residency) + bytes_))
        )

    def to_next(self, direction: int) -> None:
        """Move the chosen stay to the next free place above (1) or below (-1)."""

        def move(residency: sp.Residency) -> None:
            shown, here = self.models.work.shown, self.place_of(residency)
            room, alignment = room_of(shown.plan, residency), alignment_of(shown.plan)
            places = free_places(shown.report, residency, room, alignment)
            ahead = [at for at in places if (at > here if direction > 0 else at < here)]
            if not ahead:
                raise BadInput(NO_ROOM.format("higher" if direction > 0 else "lower"))
            self.move(residency, ahead[0] if direction > 0 else ahead[-1])

        self._with_chosen(move)

    def place_of(self, residency: sp.Residency) -> int:
        """The address of a stay, or the one at which it was refused just now."""
        attempt = self.models.work.attempt
        number = attempt.get("number", -1)
        residencies = self.models.work.shown.report.residencies
        tried = number >= 0 and residencies[number] == residency
        return int(attempt["offset"]) if tried else residency.spans[0].start

    def _with_chosen(self, act: Callable[[sp.Residency], None]) -> None:
        residency, work = self.chosen, self.models.work
        selected = self.models.look.selection
        if residency is None:
            there = selected.startswith(TENSOR)
            name = selected.removeprefix(TENSOR)
            work.notice = NOT_HERE.format(name) if there else NO_TENSOR
            return
        try:
            act(residency)
        except BadInput as error:
            work.notice = f"{residency.tensor} stays where it is: {error}"

    def drop(self, number: int, offset: int) -> None:
        """A rectangle was let go at an address; `number` is the place of its stay."""
        residencies = self.models.work.shown.report.residencies
        if 0 <= number < len(residencies):
            try:
                self.move(residencies[number], offset)
            except BadInput as error:
                self.models.work.notice = str(error)

    def move(self, residency: sp.Residency, offset: int) -> None:
        """Have `check` judge a stay at another address. Raises `BadInput` where it cannot move."""
        work = self.models.work
        shown: DisplayedPlan = work.shown
        if reason := why_fixed(shown.plan, residency):
            raise BadInput(reason)
        self.close()
        if offset == residency.spans[0].start:
            work.attempt = {}
            return
        work.notice = ""
        number = shown.report.residencies.index(residency)
        self._asked = (shown, number, offset)
        text = shown.text  # as planned: what is drawn may have a shorter program
        if len(shown.instructions) > AT_ONCE:
            fields = {"plan": text, "stay": number, "offset": offset}
            self._judge.ask(Request("move", more=fields))
            return
        try:
            plan = sp.Plan.from_json(json.loads(text))
            moved = judged(plan, shown.report, residency, offset)
        except sp.InvalidPlan as error:
            self._refuse(refusal(error))
        else:
            self._accept(moved)

    def _accept(self, moved: DisplayedPlan) -> None:
        assert self._asked is not None
        before = self._asked[0]
        base, history = self._base or before, [*self._before, before][-KEPT:]
        self._mine = moved
        self._show(moved)
        self._base, self._before = base, history

    def _refuse(self, why: dict[str, Any]) -> None:
        """Show the refused move beside the last valid plan."""
        assert self._asked is not None
        shown, number, offset = self._asked
        residency = shown.report.residencies[number]
        others = in_the_way(shown.report, residency, offset)
        outside = why_outside(shown.plan, residency, offset)
        self.models.work.attempt = {
            "number": number,
            "tensor": residency.tensor,
            "offset": offset,
            "place": at_text(offset),
            "others": [shown.report.residencies.index(other) for other in others],
            **why,
            **({"text": outside} if outside else {}),
        }

    def undo(self) -> bool:
        """Take back a refused move, or the last one; returns whether there was one."""
        if self.discard():
            return True
        if not self._before:
            return False
        base, history = self._base, self._before[:-1]
        self._mine = self._before[-1]
        self._show(self._mine)
        self._base, self._before = base, history
        return True

    def discard(self) -> bool:
        """Take back a refused move; returns whether there was one."""
        was = bool(self.models.work.attempt)
        self.models.work.attempt = {}
        return was

    def back(self) -> None:
        """Show the planner's own plan again; one that was loaded with moves is planned anew."""
        work = self.models.work
        work.attempt = {}
        if self._base is not None:
            self._show(self._base)
        elif self.moves:
            self._plan()

    def _take(self, answer: Answer) -> None:
        """Take a worker's verdict."""
        if answer.name == "plan":
            self._accept(answer["shown"])
        elif answer.name == "refused":
            self._refuse({k: answer[k] for k in ("text", "step", "address", "fault")})
