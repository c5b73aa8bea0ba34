"""A lecture on the page: its items, which one is shown, and the way from one to the next.

No Panel here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import param

import planners as sp
from app.display.displayed_plan import DisplayedPlan
from app.jobs.pool import Asks
from app.jobs.protocol import Answer, Request
from app.links.lecture import MOST_ITEMS, MOST_NOTE, MOST_TITLE, Item, Lecture, read_lecture
from app.links.url import from_query
from app.model.state import problem_with
from app.session.models import Models
from app.session.requests import Ask, SessionPart


@dataclass(frozen=True, slots=True)
class LectureActs:
    """A lecture's effects on the page.

    `visit` goes to what the fields of a link ask for, `query` is a link to what is on screen.
    """

    visit: Callable[[Mapping[str, str]], object]
    query: Callable[[], str]


class Lecturing(SessionPart, param.Parameterized):
    """`lecture` is what there is, `at` the place of the item on screen, -1 while there is none."""

    lecture = param.ClassSelector(class_=Lecture, default=Lecture(), doc="Title and items.")
    at = param.Integer(-1, doc="The place of the item that is shown; -1: none.")
    plans = param.Dict({}, doc="For the handout that was asked for: plans of items by their links.")

    def __init__(self, models: Models, jobs: Asks, acts: LectureActs) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.models, self._acts = models, acts
        self._next = Ask(jobs, lambda _answer: None)
        self._plan = Ask(jobs, self._take, ended=lambda _last: self._collect())
        self.asks = (self._next, self._plan)
        self._walked = 0
        self._missing: deque[str] = deque()
        self._found: dict[str, DisplayedPlan] = {}
        self._asked = ""

    @property
    def items(self) -> tuple[Item, ...]:
        """The items in their order."""
        items: tuple[Item, ...] = self.lecture.items
        return items

    @property
    def item(self) -> Item | None:
        """The item on screen."""
        return self.items[self.at] if 0 <= self.at < len(self.items) else None

    # ---- making one ----------------------------------------------------------------------------

    def open(self, content: bytes, name: str) -> None:
        """Take a visitor's file; what is wrong with it is said, and the lecture stays."""
        try:
            lecture = read_lecture(content)
        except sp.SpillwayError as error:
            self.models.work.notice = f"{name:.60}: {error}"
            return
        self.param.update(lecture=lecture, at=-1)
        count = len(lecture.items)
        called = f"“{lecture.title}”" if lecture.title else "The lecture"
        plural = "s" if count > 1 else ""
        self.models.work.notice = f"{called}: {count} item{plural}. Press p, and PageDown to go on."
        self._prepare(0)

    def add(self, title: str = "", note: str = "") -> None:
        """Put what is on screen behind the item on screen, or at the end."""
        if len(self.items) >= MOST_ITEMS:
            self.models.work.notice = f"A lecture has at most {MOST_ITEMS} items."
            return
        shown = self.models.shown
        usual = shown.graph.name if shown else self.models.problem.model
        item = Item(
            title.strip()[:MOST_TITLE] or usual, self._acts.query(), note.strip()[:MOST_NOTE]
        )
        place = self.at + 1 if self.item else len(self.items)
        self._put([*self.items[:place], item, *self.items[place:]])
        self.at = place

    def drop(self, place: int) -> None:
        """Take an item away."""
        if 0 <= place < len(self.items):
            self._put([*self.items[:place], *self.items[place + 1 :]])
            self.at = min(self.at, len(self.items) - 1)

    def move(self, place: int, by: int) -> None:
        """Move an item up or down."""
        other = place + by
        if 0 <= place < len(self.items) and 0 <= other < len(self.items):
            items = list(self.items)
            items[place], items[other] = items[other], items[place]
            self._put(items)

    def edit(self, place: int, **texts: str) -> None:
        """Change the title or the note of an item."""
        most = {"title": MOST_TITLE, "note": MOST_NOTE}
        kept = {name: text.strip()[: most[name]] for name, text in texts.items()}
        if 0 <= place < len(self.items):
            items = list(self.items)
            items[place] = replace(items[place], **kept)  # type: ignore[arg-type]
            self._put(items)

    def call(self, title: str) -> None:
        """Call the lecture by a title."""
        self.lecture = replace(self.lecture, title=title.strip()[:MOST_TITLE])

    def _put(self, items: Sequence[Item]) -> None:
        self.lecture = replace(self.lecture, items=tuple(items))

    # ---- giving it -----------------------------------------------------------------------------

    def step(self, by: int) -> bool:
        """Go on or back by one of the item's steps, or else to the item before or behind.

        Whether there was something to go to.
        """
        item = self.item
        walked = self._walked + by
        if item and 0 <= walked <= item.steps:
            look, shown = self.models.look, self.models.shown
            self._walked = walked
            if shown:
                look.step = max(0, min(shown.steps - 1, look.step + by))
            return True
        return self.go(self.at + by)

    def go(self, place: int) -> bool:
        """Show an item, and have the plan of the next one made meanwhile."""
        if not 0 <= place < len(self.items):
            return False
        self.param.update(at=place)
        self._walked = 0
        fields, there = self.items[place].fields, self.models.look.presenting
        if there and not fields.get("presenting"):
            fields["presenting"] = there
        self._acts.visit(fields)
        self._prepare(place + 1)
        return True

    def _prepare(self, place: int) -> None:
        """Have the plan of an item made, so that it is known once it is shown."""
        if place < len(self.items):
            self._next.ask(self._request(self.items[place]), background=True)

    def _request(self, item: Item) -> Request:
        return Request("plan", self.models.request(problem_with(from_query(item.fields)[0])))

    # ---- the handout ---------------------------------------------------------------------------

    def hand_out(self) -> None:
        """Have the plans of all items made, one after the other, and then the handout."""
        self._found = {}
        self._missing = deque(dict.fromkeys(item.link for item in self.items))
        self._collect()

    def _collect(self) -> None:
        work = self.models.work
        if not self._missing:
            work.param.update(notice="", exporting="")
            self.plans = {**self._found, "": None}
            return
        count = len(self._missing)
        self._asked = self._missing.popleft()
        line = f"The handout: {count} plan{'s' * (count > 1)} to go."
        self._plan.ask(self._request(Item("", self._asked)))
        # The page listens to workers once this changes while they have something to do.
        work.param.update(notice=line, exporting=line)

    def _take(self, answer: Answer) -> None:
        if answer.name == "plan":
            self._found[self._asked] = answer["shown"]
