"""Where divide and conquer cuts the network: found automatically, or chosen by hand. No Panel."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import planners as sp
from app.options import cuts
from app.state import selected_writer

if TYPE_CHECKING:
    from app.session import Session

NOTE = "break nodes: "
OTHER_OPERATORS = {"model", "granularity"}
NO_BREAKS = "No break nodes yet: select an operator in the graph and press b, for each one."
NO_OPERATOR = "Nothing is selected: tap an operator in the graph, then press b."
WRONG_ORDER = "Break nodes are for the order “divide and conquer”: choose it first."
NOT_YET = "The model that is chosen is not on screen yet: break nodes are marked once it is."


class Breaks:
    """The break nodes of a session's problem, and what can be done to them."""

    def __init__(self, session: Session) -> None:
        self.session = session

    @property
    def nodes(self) -> tuple[str, ...]:
        """Operators at which the network is cut: chosen by hand, or those of the plan on screen."""
        problem, shown = self.session.problem, self.session.work.shown
        if cuts(problem) and problem.break_nodes is not None:
            return tuple(problem.break_nodes)
        return used_breaks(shown.plan) if shown else ()

    @property
    def selected(self) -> str:
        """The operator that is selected, or that writes the selected tensor; or nothing."""
        shown = self.session.work.shown
        return selected_writer(shown.graph, self.session.look.selection) if shown else ""

    def by_hand(self, by_hand: bool) -> None:
        """Choose break nodes by hand, beginning with those on screen, or have them found again."""
        session = self.session
        if not by_hand:
            session.change(break_nodes=None)
            return
        found = list(self.nodes) if self._same_graph else []
        answered = bool(found) and not session.stale
        session.problem.break_nodes = found
        if answered:
            session.work.shown_for = session.fields()
        else:
            session.plan()

    def toggle(self, operator: str) -> None:
        """Cut the network behind an operator on screen, or no more."""
        work = self.session.work
        if not cuts(self.session.problem):
            work.notice = WRONG_ORDER
        elif not self._same_graph:
            work.notice = NOT_YET
        elif not operator:
            work.notice = NO_OPERATOR
        else:
            self.session.change(break_nodes=toggled(self.nodes, operator, work.shown.graph))

    @property
    def _same_graph(self) -> bool:
        """Whether the operators on screen are those of the model that is chosen."""
        answered, chosen = self.session.work.shown_for, self.session.fields()
        return all(answered.get(name) == chosen[name] for name in OTHER_OPERATORS)


def used_breaks(plan: sp.Plan) -> tuple[str, ...]:
    """The operators at which a plan cut the network: its options say so, or its notes."""
    given = plan.options.get("break_nodes")
    if isinstance(given, list | tuple):
        return tuple(given)
    told = [note.removeprefix(NOTE) for note in plan.notes if note.startswith(NOTE)]
    return tuple(name for note in told for name in note.split(", ") if name in plan.graph.index)


def toggled(names: Iterable[str], name: str, graph: sp.Graph) -> list[str]:
    """The names with one more or one less, in the graph's order."""
    return sorted({*names} ^ {name}, key=lambda n: graph.index.get(n, len(graph.index)))
