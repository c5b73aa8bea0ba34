"""What if: wishes made, dropped and undone, and what they cost. No Panel here."""

from __future__ import annotations

import json
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from app.display.displayed_plan import DisplayedPlan
from app.display.wish_offers import BREAK, DROP, PICK, WISH, why_no_choice, wished_tensor
from app.jobs.pool import Asks
from app.jobs.protocol import Answer, Request
from app.model.state import operator_selection, selected_writer
from app.model.wishes import KNOWN, added, asked, picked_wish, why_not_asked
from app.session.breaks import NOT_YET
from app.session.models import Models
from app.session.requests import Ask, SessionPart, setter

KEPT = 20  # problems to go back to, and plans without wishes whose numbers are kept
NO_TENSOR = (
    "Nothing is selected: tap a tensor or an operator, then press k (on chip) or o (off chip)."
)
NO_OPERATOR = "That is not an operator: tap one in the graph, or press Escape."
ITSELF = "That is the same operator: tap another one, or press Escape."
NOTHING = "There is nothing to undo."
MEASURED = ("status", "gap", "traffic_bytes", "noncompulsory_bytes", "peak_bytes", "makespan_s")


@dataclass(frozen=True, slots=True)
class WishActs:
    """The effects of wishes: a changed problem planned, a plan, the problem on screen restored, a
    cut at an operator, a move by hand undone (returns whether there was one)."""

    change: Callable[..., object]
    plan: Callable[[], object]
    back: Callable[[], object]
    cut: Callable[[str], object]
    undo_move: Callable[[], bool]


class SessionWishes(SessionPart):
    """The wishes of a session's problem, and what can be done to them."""

    def __init__(self, models: Models, jobs: Asks, acts: WishActs) -> None:
        self.models, self._acts = models, acts
        self._price = Ask(jobs, self._take, runs=setter(models.work, "pricing"))
        self.asks = (self._price,)
        self._shown: deque[dict[str, Any]] = deque(maxlen=KEPT)
        self._without: OrderedDict[str, dict[str, Any]] = OrderedDict()
        self._priced = ""
        self._back = False

    # ---- wishes ------------------------------------------------------------------------------

    def act(self, key: str) -> None:
        """Perform the action of a button of the panel, by its key."""
        for start, do in (
            (WISH, self.add),
            (DROP, self.drop),
            (PICK, self._begin),
            (BREAK, self._acts.cut),
        ):
            if key.startswith(start):
                do(key.removeprefix(start))
                return
        actions = {"clear": self.clear, "undo": self.undo, "give up": self.give_up}
        if key in actions:
            actions[key]()

    def add(self, text: str) -> None:
        """Add a wish and remove those that it contradicts."""
        if not self.models.same_operators:
            self.models.work.notice = NOT_YET
            return
        if reason := why_not_asked(text, self.models.problem.planner):
            self.models.work.notice = f"{text}: {reason}."
            return
        self._acts.change(wishes=added(self.models.problem.wishes, text))

    def drop(self, text: str) -> None:
        """Remove a wish."""
        self._acts.change(wishes=[w for w in self.models.problem.wishes if w != text])

    def clear(self) -> None:
        """Remove all wishes."""
        self._acts.change(wishes=[])

    def toggle(self, kind: str) -> None:
        """Wish the selected tensor, or the selected operator's output, on or off chip; or no
        more."""
        work, look = self.models.work, self.models.look
        tensor = wished_tensor(work.shown, look.selection) if work.shown else ""
        if not tensor:
            work.notice = NO_TENSOR
            return
        look.panel = "what if"
        text, planner = f"{kind} {tensor}", self.models.problem.planner
        is_supported = kind in KNOWN.get(planner, ())
        if text in self.models.problem.wishes:
            self.drop(text)
        elif is_supported and (why := why_no_choice(work.shown, tensor, planner)):
            work.notice = f"{text}: {why}."
        else:
            self.add(text)

    # ---- a wish of two operators -------------------------------------------------------------

    def _begin(self, words: str) -> None:
        kind, operator = words.split(" ", 1)
        self.models.work.param.update(picking={"kind": kind, "operator": operator}, notice="")

    def picked(self, selection: str) -> bool:
        """Take the tapped operator as the second one; returns whether one was awaited."""
        work = self.models.work
        if not work.picking or work.shown is None:
            return False
        first, second = work.picking["operator"], selected_writer(work.shown.graph, selection)
        if not second or second == first:
            work.notice = ITSELF if second else NO_OPERATOR
            return True
        text = picked_wish(work.picking["kind"], first, second)
        work.picking = {}
        self.models.look.selection = operator_selection(first)
        self.add(text)
        return True

    def give_up(self) -> bool:
        """Stop waiting for a second operator; returns whether one was awaited."""
        waited = bool(self.models.work.picking)
        self.models.work.picking = {}
        return waited

    # ---- undo --------------------------------------------------------------------------------

    def note(self, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
        """A plan for other fields replaces one: remember that one, for undo."""
        if before and before != after and not self._back:
            self._shown.append(dict(before))
        self._back = False

    def undo(self) -> None:
        """Undo a move by hand; else restore the problem on screen; else the problem before it."""
        models = self.models
        if self.give_up() or self._acts.undo_move():
            return
        if models.stale or models.work.planning:
            self._acts.back()
        elif self._shown:
            before = self._shown.pop()
            models.problem.param.update(**before)
            self._acts.plan()
            self._back = True
        else:
            models.work.notice = NOTHING

    # ---- what wishes cost --------------------------------------------------------------------

    def explain(self, shown: DisplayedPlan) -> None:
        """Compare a new plan with wishes to the one without, which is known or planned beside
        it."""
        models, work = self.models, self.models.work
        fields = work.shown_for or models.fields()
        key = _key({**fields, "wishes": []}, shown)
        self.give_up()
        if key != self._priced or not fields.get("wishes"):
            self.close()
            work.wished = {}
        if not fields.get("wishes"):
            if not shown.moved:
                self._remember(key, numbers(shown))
            return
        self._priced = key
        if key in self._without:
            work.wished = self._without[key]
        elif not self.busy and not models.stale and asked(models.problem):
            problem = models.request()
            problem["options"] = {k: v for k, v in problem["options"].items() if k != "wishes"}
            budgets = {"budgets": [shown.plan.budget_bytes]}
            self._price.ask(Request("sweep", problem, budgets), background=True)

    def _remember(self, key: str, found: dict[str, Any]) -> None:
        self._without[key] = found
        self._without.move_to_end(key)
        while len(self._without) > KEPT:
            self._without.popitem(last=False)

    def _take(self, answer: Answer) -> None:
        """The plan without wishes."""
        if answer.name == "point":
            numbers_without = {name: answer[name] for name in MEASURED}
            self._remember(self._priced, numbers_without)
            self.models.work.wished = numbers_without


def numbers(shown: DisplayedPlan) -> dict[str, Any]:
    """The costs of a plan, as the points of a sweep have them."""
    report, claims = shown.report, shown.plan.claims
    return {
        "status": claims.status,
        "gap": shown.plan.gap,
        "traffic_bytes": report.traffic_bytes,
        "noncompulsory_bytes": report.noncompulsory_bytes,
        "peak_bytes": report.peak_bytes,
        "makespan_s": shown.trace.makespan_s,
    }


def _key(fields: Mapping[str, Any], shown: DisplayedPlan) -> str:
    """The problem that a plan answers, with its budget in bytes: names and sizes are then equal."""
    return json.dumps({**fields, "budget": shown.plan.budget_bytes}, sort_keys=True)


def knows_wishes(planner: str) -> bool:
    """Whether a planner supports any wish."""
    return bool(KNOWN.get(planner))
