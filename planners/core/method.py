"""The map of a planner's method, as data: what is decided, by what, in which modules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module


@dataclass(frozen=True, slots=True)
class Decision:
    """A question that a method answers, how it does, and the modules that do, by their full names.

    `proven` says in which case nothing is better; empty where nothing is proven. `table` names the
    list of strategies in the first of the modules, of which the best answer is taken.
    """

    what: str
    how: str
    modules: tuple[str, ...]
    proven: str = ""
    table: str = ""

    @property
    def strategies(self) -> tuple[str, ...]:
        """The names of the strategies, in the order in which they are asked."""
        if not self.table:
            return ()
        table = getattr(import_module(self.modules[0]), self.table)
        return tuple(strategy.name for strategy in table)

    @property
    def row(self) -> str:
        """Its row of the table in the documentation."""
        files = ", ".join(
            f"`{name.removeprefix('planners.').replace('.', '/')}`" for name in self.modules
        )
        by = f"{self.how}: {', '.join(self.strategies)}" if self.table else self.how
        return f"| {self.what} | {by} | {files} | {self.proven} |"


def as_table(method: Sequence[Decision]) -> str:
    """A method as a table in Markdown."""
    head = "| decided | by | in | proven |\n|---|---|---|---|\n"
    return head + "".join(f"{decision.row}\n" for decision in method)
