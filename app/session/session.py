"""What one visitor's page does: requests plans and sweeps, takes their results. No Panel here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from itertools import count
from typing import Any
from urllib.parse import parse_qsl

from param.parameterized import discard_events

from app.display.displayed_plan import DisplayedPlan
from app.jobs.pool import Asks, Share
from app.kinds.registry import kind_of
from app.links.url import from_query, link, pinned_in
from app.model.machine_file import read_machine
from app.model.pareto import indexed
from app.model.state import ProblemFields, moved, problem_with, selected_operators, selected_tensors
from app.session import planning, sweeping, tour, what_if
from app.session.alternatives import Elsewhere
from app.session.auditing import Auditing
from app.session.blaming import Blaming
from app.session.breaks import Breaks
from app.session.coding import Coding
from app.session.cursor import Cursor
from app.session.initial_plan import first_fields, first_shown, stored_first
from app.session.lecturing import LectureActs, Lecturing
from app.session.live import LiveGroups
from app.session.models import Models
from app.session.moving import Moving
from app.session.pinning import Pins
from app.session.repinning import Repins
from app.session.requests import SessionPart, Together
from app.session.sharing import Sharing
from app.session.stored_fronts import stored_points
from app.session.streams import Streams
from app.session.teaching import Teaching
from app.session.times_file import NOT_YET, timed
from app.session.uploads import Uploads
from planners.audits.shown import is_allocation
from planners.core.errors import BadInput

_keys = count(1)

NOT_OF_IT = "The link's {} = {!r:.60} does not occur in its plan.{}"


class Session:
    """The view-models of a page, its parts, and which part does what for which.

    Every change goes through a method here or of a part; `poll` takes the workers' answers. A plan
    stays on screen until another one has passed `check`. `together` is a context within which all
    changes reach the browser in one message.
    """

    def __init__(self, pool: Asks, together: Together = nullcontext) -> None:
        self.pool = jobs = Share(pool, next(_keys))
        self._together = together
        self.models = models = Models()
        self.problem, self.look, self.work = models.problem, models.look, models.work
        self.cursor, self.teaching = Cursor(models), Teaching(models)
        self.live, self.coding = LiveGroups(models, jobs), Coding(models.work, jobs)
        self.sharing = Sharing(models, jobs)
        takes = {
            "lecture": self._take_lecture,
            "machine": self._take_machine,
            "times": self._take_times,
        }
        self.uploads = Uploads(models, self.bring, takes)
        self.pins = Pins(models, jobs, self.show)
        self.auditing = Auditing(models, jobs, self.pins.keep, self.uploads.judge)
        self.blaming = Blaming(models, jobs, self.auditing)
        self.repins = Repins(models, jobs, self.pins.keep)
        self.moving = Moving(models, jobs, self.show, self.plan)
        self.breaks = Breaks(models, self.choose, self.plan)
        self.streams = Streams(models, jobs, self.change)
        self._compose(jobs)
        self.lecturing = Lecturing(
            models,
            jobs,
            LectureActs(
                visit=self.visit,
                query=lambda: link(self.problem, self.look, self.repins.pinned_for)[0],
            ),
        )
        self.elsewhere = Elsewhere(models, jobs, self.change)
        others = (
            self.elsewhere,
            self.lecturing,
            self.auditing,
            self.blaming,
            self.repins,
            self.sharing,
            self.what_if,
            self.moving,
            self.tour,
        )
        asking = (self.pins, self.sweeps, self.live, self.coding, self.streams, *others)
        self._parts: Sequence[SessionPart] = (self.planning, *asking)
        self._linked: dict[str, Any] = {}
        self._first: dict[str, Any] | None = None  # what the stored plan answers

    def _compose(self, jobs: Asks) -> None:
        """The parts with the most effects on others, and these effects."""
        models, live = self.models, self.live
        self.sweeps = sweeping.Sweeps(
            models, jobs, sweeping.SweepActs(self.check, self.plan, self.pins.take_point)
        )
        acts = what_if.WishActs(
            self.change, self.plan, self.back, self.breaks.toggle, self.moving.undo
        )
        self.what_if = what_if.SessionWishes(models, jobs, acts)
        self.planning = planning.Planning(
            models,
            jobs,
            planning.PlanActs(
                show=self.show,
                adopt=self.uploads.adopt,
                take_graph=self.uploads.take_graph,
                note=self.what_if.note,
                begun=live.follow,
                sized=live.reach,
                over=live.forget,
                together=self._together,
            ),
        )
        self.tour = tour.Tour(
            models,
            jobs,
            tour.TourActs(
                abandon=self.abandon,
                plan=self.plan,
                show=self.show,
                take_budgets=self.planning.take_budgets,
                sweep=self.sweeps.start,
                cancel_sweep=self.sweeps.cancel,
                unpin=self.pins.unpin,
            ),
        )

    # ---- questions to the view-models ---------------------------------------------------------

    def request(self, of: ProblemFields | None = None) -> dict[str, Any]:
        """The problem, or another one, as plain data for a worker."""
        return self.models.request(of)

    def fields(self) -> dict[str, Any]:
        """The problem's fields that a plan answers."""
        return self.models.fields()

    @property
    def stale(self) -> bool:
        """Whether what is on screen answers another problem than the one that is chosen."""
        return self.models.stale

    @property
    def same_network(self) -> bool:
        """Whether the network on screen is the one that is chosen."""
        return self.models.same_network

    @property
    def charted(self) -> dict[str, Any]:
        """The fields of the problem that charts are about."""
        return self.models.charted

    # ---- the plan in the making --------------------------------------------------------------

    def change(self, **fields: Any) -> None:
        """Change the problem and plan it, unless it is what it was."""
        self.planning.change(**fields)

    def choose(self, **values: Any) -> None:
        """Change options of the planner, by their names, and fields of the problem, and plan it.

        Raises `BadInput` for what the planner does not have.
        """
        self.change(**self.problem.fields_of(values))

    def plan(self, *, fresh: bool = False) -> None:
        """Plan the problem as it stands; `fresh`: even what is known from before."""
        self.planning.plan(fresh=fresh)

    def check(self, text: str, asked_for: dict[str, Any] | None = None) -> None:
        """Have a worker check a plan or graph, and show it if it is right."""
        self.planning.check(text, asked_for)

    def bring(self, problem: Mapping[str, Any], file: str, *, judged: bool = False) -> None:
        """Have a worker read an uploaded file; `judged`: what its runtime plans, not the model."""
        self.planning.bring(problem, file, judged=judged)

    def _take_lecture(self, content: bytes, name: str) -> None:
        self.lecturing.open(content, name)

    def _take_machine(self, content: bytes, name: str) -> None:
        self.change(**read_machine(name, content))

    def _take_times(self, content: bytes, name: str) -> None:
        shown = self.work.shown
        if shown is None or not self.same_network:
            raise BadInput(NOT_YET)
        graph = timed(shown.graph, shown.plan.machine, name, content)
        self.change(model=self.uploads.name_timed(graph), input_shape="")

    def cancel(self) -> None:
        """Stop planning; the best plan so far is kept, and else the one on screen."""
        self.planning.cancel()

    def abandon(self) -> None:
        """Give up planning; nothing that comes of it is shown."""
        self.let_go()
        self.planning.abandon()

    def back(self) -> None:
        """Restore the problem of the plan on screen."""
        self.let_go()
        self.planning.back()
        if self.sweeps.strays:
            self.sweeps.forget()

    # ---- the budget while it is dragged ------------------------------------------------------

    def slide(self, budget_bytes: int) -> None:
        """The handle of the budget is moved: update what can follow at once."""
        self.work.under = budget_bytes
        self.live.follow()
        self.streams.follow()

    def let_go(self) -> None:
        """The handle was released: the budget is where it stands."""
        self.work.under = 0

    # ---- the page as a whole -----------------------------------------------------------------

    def open(
        self, problem: Mapping[str, Any], look: Mapping[str, Any], wrong: list[str] | None = None
    ) -> None:
        """Show the stored first plan; plan what a link asks for where that is another problem.

        Without a problem it is the first.
        """
        self.problem.param.update(**first_fields())
        self._first = self.request()
        self._show_first()
        if problem:
            usual = problem_with({}).values_by_name()
            self.problem.param.update(**{**usual, **problem})
        if self.request() == self._first:
            self._chart_first()
        else:
            self._linked = dict(look)  # step and selection belong to the plan that is to come
            judged = look.get("judged") and self.problem.upload
            (self.uploads.judge if judged else self.plan)()
        self.look.param.update(**look)
        self.work.refused = wrong or []
        self._refuse_on_screen(look)

    def _show_first(self) -> None:
        budgets = stored_first()["budgets"]
        self.work.shown_for = self.fields()
        self.show(first_shown())
        self.planning.known.keep(self.work.shown_for, budgets)
        self.work.budgets = budgets

    def _chart_first(self) -> None:
        points = [p for p in stored_first()["points"] if p not in self.work.points]
        self.sweeps.add(points)

    def go_to(self, query: str) -> None:
        """Go to what a link asks for, by its query."""
        self.visit(dict(parse_qsl(query.lstrip("?"), keep_blank_values=True)))

    def visit(self, fields: Mapping[str, str]) -> None:
        """Go to what the fields of a link ask for, on a page that is open."""
        problem, look, wrong = from_query(fields, first_fields())
        pinned, more = pinned_in(fields, problem)
        self.abandon()
        self.problem.param.update(**{**problem_with({}).values_by_name(), **problem})
        if self.stale:
            self._linked = dict(look)
            if self.request() == self._first:
                self._show_first()
                self._chart_first()
            else:
                self.plan()
        self.look.param.update(**look)
        if self.work.pinned is not None:
            self.pins.unpin()
        self.repins.start(pinned)
        self.work.refused = [*wrong, *more]
        self._refuse_on_screen(look)

    def show(self, shown: DisplayedPlan) -> None:
        """Show a checked plan; cursor, selection and blocks stay where they still apply."""
        before, work = self.models.shown, self.work
        same_graph = before is not None and before.graph.digest == shown.graph.digest
        self._look_at(shown, same_graph)
        charted = same_graph or indexed(work.points, work.shown_for)
        if self.sweeps.strays or not charted:
            self.sweeps.forget()
        if not indexed(work.points, work.shown_for):
            self.sweeps.add(stored_points(work.shown_for))
        budgets = self.planning.known.budgets_of(work.shown_for)
        written = bool(shown.packed or shown.late)
        work.param.update(budgets=budgets, shown=shown, written=written, infeasible={})
        self.look.judged = is_allocation(shown.plan)
        self.look.param.trigger("step")
        self.live.explain(shown)
        self.live.reach()
        self.streams.explain(shown)
        self.what_if.explain(shown)
        self.moving.explain(shown)

    def _look_at(self, shown: DisplayedPlan, same_graph: bool) -> None:
        """Set cursor, selection and blocks for a plan: no view may draw it with the old plan's."""
        look = self.look
        with discard_events(look):
            step = look.step if same_graph else shown.opening_step
            look.step = moved(self._linked.get("step", step), 0, shown.steps)
            if not same_graph:
                look.selection = self._linked.get("selection", "")
                opened = self._linked.get("expanded", sorted(shown.opened))
                look.expanded = [name for name in opened if name in shown.tree.names]
        self._refuse(self._linked, shown)
        self._linked = {}

    def _refuse_on_screen(self, linked: Mapping[str, Any]) -> None:
        """The same where the plan of a link is on screen already."""
        if not self._linked and self.work.shown is not None:
            self._refuse(linked, self.work.shown)

    def _refuse(self, linked: Mapping[str, Any], shown: DisplayedPlan) -> None:
        """Name what a link selects that the plan does not have."""
        if unknown := parts_not_in(shown, linked):
            self.work.refused = [*self.work.refused, *unknown.values()]
            with discard_events(self.look):
                self.look.param.update(**dict.fromkeys(unknown.keys() - {"step"}, ""))

    @property
    def busy(self) -> bool:
        """Whether a worker may still send an answer."""
        return any(part.busy for part in self._parts)

    def poll(self) -> None:
        """Take all answers of the workers since the last call."""
        with self._together():
            for part in self._parts:
                part.poll()

    def close(self) -> None:
        """The visitor has gone: stop everything that runs for them."""
        for part in self._parts:
            part.close()


def parts_not_in(shown: DisplayedPlan, look: Mapping[str, Any]) -> dict[str, str]:
    """A line for each of the selection, memory and step of a link that its plan does not have."""
    kind, selection, memory = kind_of(shown), look.get("selection", ""), look.get("memory", "")
    has = selected_tensors(shown.graph, selection) or selected_operators(shown.graph, selection)
    unknown = {}
    if selection and not has and kind.of_part(shown, selection, {}) is None:
        unknown["selection"] = NOT_OF_IT.format("selection", selection, "")
    keys = [region.key for region in kind.regions(shown)]
    if memory and memory not in keys:
        has_these = f" It has {', '.join(keys)}." if keys else ""
        unknown["memory"] = NOT_OF_IT.format("memory", memory, has_these)
    if (step := look.get("step", 0)) >= shown.steps:
        unknown["step"] = NOT_OF_IT.format("step", step, f" It has {shown.steps} steps.")
    return unknown
