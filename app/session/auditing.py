"""Another tool's plan on the page: its verdict, the better plan beside it, the better file.

No Panel here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from app.display.displayed_plan import DisplayedPlan
from app.jobs.pool import Asks
from app.jobs.protocol import Answer, Request
from app.session.models import Models
from app.session.requests import Ask, SessionPart, setter
from planners.audits.shown import is_allocation

BETTER = "the better allocation"
MODELS = (".tflite",)
"""Files of models whose runtime plans by itself: what it does can be judged, and written back."""


class Auditing(SessionPart):
    """One question at a time for the better plan, and one for the better file.

    `keep` puts a plan on the shelf and compares with it, `judge` has the plan of a model's runtime
    shown.
    """

    def __init__(
        self,
        models: Models,
        jobs: Asks,
        keep: Callable[[DisplayedPlan, Mapping[str, Any], str], object],
        judge: Callable[[], object],
    ) -> None:
        self.models, self._keep, self._judge = models, keep, judge
        work = models.work
        how = {"runs": setter(work, "auditing"), "wrong": setter(work, "notice")}
        self._better, self._file = Ask(jobs, self._take_plan, **how), Ask(jobs, self._take, **how)
        self.asks = (self._better, self._file)
        self._asked: tuple[Any, ...] = ()
        self._known: dict[tuple[Any, ...], Answer] = {}
        """The last answer to each of both questions, by what was asked: a press asks once."""

    @property
    def verdict(self) -> dict[str, Any]:
        """What was found of the allocation on screen, theirs or the better one; else empty."""
        audit, shown = self.models.work.audit, self.models.shown
        if not shown or not is_allocation(shown.plan) or audit.get("digest") != shown.graph.digest:
            return {}
        return dict(audit)

    @property
    def kind(self) -> str:
        """The ending of the file that is judged or can be; empty where there is none."""
        if token := self.verdict.get("upload", ""):
            return Path(token).suffix
        token = self.models.work.shown_for.get("upload", "")
        return Path(token).suffix if token.endswith(MODELS) else ""

    def judge(self) -> None:
        """Have the plan of the model's runtime judged and shown."""
        self._judge()

    def beside(self) -> None:
        """Have the better plan made, and compared with the one on screen."""
        if self.verdict:
            self._ask(self._better, self._take_plan, "better")

    def write(self, *, over_inputs: bool = False) -> None:
        """Have the better file written, and saved by the browser; outputs of a model may go
        `over_inputs` that die."""
        if self.kind:
            self._ask(self._file, self._take, "better file", over_inputs=over_inputs)

    def _ask(self, ask: Ask, take: Callable[[Answer], None], kind: str, **more: Any) -> None:
        """Ask what is not known yet."""
        if self.busy:
            return
        self.models.work.applied = ""
        problem = self._problem()
        self._asked = (kind, *problem.values(), *more.values())
        if self._asked in self._known:
            take(self._known[self._asked])
        else:
            ask.ask(Request(kind, problem, more))

    def _keep_answer(self, answer: Answer) -> None:
        rest = {k: v for k, v in self._known.items() if k[0] != self._asked[0]}
        self._known = {**rest, self._asked: answer}

    def _problem(self) -> dict[str, Any]:
        of = self.verdict or self.models.work.shown_for
        return {name: of[name] for name in ("upload", "model")}

    def _take_plan(self, answer: Answer) -> None:
        if answer.name == "plan" and self.verdict:
            self._keep_answer(answer)
            self._keep(answer["shown"], dict(self.models.work.shown_for), BETTER)
            self.models.look.param.update(panel="compare", comparing=True)

    def _take(self, answer: Answer) -> None:
        if answer.name == "file":
            self._keep_answer(answer)
            file = {name: answer[name] for name in ("name", "gzip")}
            work, again = self.models.work, self.models.work.exported == file
            work.param.update(exported=file, applied=answer["line"])
            if again:
                work.param.trigger("exported")  # It is saved once more.
