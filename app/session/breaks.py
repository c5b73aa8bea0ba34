"""Where divide and conquer cuts the network: found automatically, or chosen by hand. No Panel."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import planners as sp
from app.model.options import AUTOMATIC, break_nodes, cuts
from app.model.state import selected_writer
from app.session.models import Models

NOTE = "break nodes: "
NO_BREAKS = "No break nodes yet: select an operator in the graph and press b, for each one."
NO_OPERATOR = "Nothing is selected: tap an operator in the graph, then press b."
WRONG_ORDER = "Break nodes are for the order “divide and conquer”: choose it first."
NOT_YET = "The chosen model is not on screen yet; mark break nodes once it is."


class Breaks:
    """The break nodes of a session's problem, and what can be done to them."""

    def __init__(
        self, models: Models, choose: Callable[..., object], plan: Callable[[], object]
    ) -> None:
        self.models, self._choose, self._plan = models, choose, plan

    @property
    def nodes(self) -> tuple[str, ...]:
        """Operators at which the network is cut: chosen by hand, or those of the plan on screen."""
        problem, shown = self.models.problem, self.models.work.shown
        by_hand = break_nodes(problem)
        if cuts(problem) and by_hand is not None:
            return by_hand
        return used_breaks(shown.plan) if shown else ()

    @property
    def selected(self) -> str:
        """The operator that is selected, or that writes the selected tensor; or empty."""
        shown = self.models.work.shown
        return selected_writer(shown.graph, self.models.look.selection) if shown else ""

    def by_hand(self, by_hand: bool) -> None:
        """Choose break nodes by hand, starting with those on screen, or let the planner find
        them."""
        models = self.models
        if not by_hand:
            self._choose(break_nodes=AUTOMATIC)
            return
        nodes = list(self.nodes) if models.same_operators else []
        answered = bool(nodes) and not models.stale
        models.problem.take(break_nodes=nodes)
        if answered:
            models.work.shown_for = models.fields()
        else:
            self._plan()

    def toggle(self, operator: str) -> None:
        """Cut the network behind an operator on screen, or remove that cut."""
        work = self.models.work
        if not cuts(self.models.problem):
            work.notice = WRONG_ORDER
        elif not self.models.same_operators:
            work.notice = NOT_YET
        elif not operator:
            work.notice = NO_OPERATOR
        else:
            self._choose(break_nodes=toggled(self.nodes, operator, work.shown.graph))


def used_breaks(plan: sp.Plan) -> tuple[str, ...]:
    """The operators at which a plan cut the network: its options say so, or its notes."""
    given = plan.options.get("break_nodes")
    if isinstance(given, list | tuple):
        return tuple(given)
    notes = [note.removeprefix(NOTE) for note in plan.notes if note.startswith(NOTE)]
    return tuple(name for note in notes for name in note.split(", ") if name in plan.graph.index)


def toggled(names: Iterable[str], name: str, graph: sp.Graph) -> list[str]:
    """The names with one added or removed, in the graph's order."""
    return sorted({*names} ^ {name}, key=lambda n: graph.index.get(n, len(graph.index)))
