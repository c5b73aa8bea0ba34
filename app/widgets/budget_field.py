"""The budget: buttons of the named ones, a slider, and a size that is typed."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import panel as pn

from app.kinds.registry import kind_of_planner
from app.model.sizes import asked_budget, even_ratios, even_sizes, format_exact
from app.session.session import Session
from app.widgets.bound import bind_to, said_in
from app.widgets.buttons import button
from app.widgets.deferred import seen
from app.widgets.following import follow
from app.widgets.help_text import measured
from app.widgets.style import BUDGET, FIELD, PLAIN, SMALL, TICKS
from planners.audits.shown import of_allocation
from planners.core.errors import BadInput
from planners.core.units import format_bytes

TICKS_OF = ("least", "MR", "MH", "MP")
WIDE, NEAREST = 1.9, 9  # percent of the slider: what a letter takes; between two words
BUDGET_TERMS = {"largest operator": "MR", "halfway": "MH", "all stays": "MP"}
"""The field's terms, by what named budgets are called where nobody has read the papers."""
WORDS_OF = {name: words for words, name in BUDGET_TERMS.items()}
ABOUT = {
    "MR": "MR, the largest operator: no plan exists below",
    "MH": "MH, halfway between MR and MP",
    "MP": "MP, the least peak of all orders: in such an order (mpmf, joint) nothing is spilled",
}
PARTS_ABOUT = {
    "MR": "MR, the largest operator as a whole: plans that split operators need less",
    "MH": "MH, halfway between MR and MP",
    "MP": "MP, the least peak of all orders where operators are whole",
}
ENDS = {
    "least memory": "the least rings that any layer fits: no plan exists below",
    "least delay": "the least rings with the least delay: more memory is of no use",
}
NAMELESS = (
    '<p class="caution">An allocation: MR, MH and MP are of a network and its orders, and are not '
    "known here. A size may be typed.</p>"
)
NAMES_OF_SIZES = ["budgets", "shown", "shown_for", "reach", "fronts"]


class BudgetField(pn.viewable.Viewer):
    """Buttons, slider and text of one budget; each follows the others.

    The text is made here for another place.
    """

    def __init__(self, session: Session, **params: Any) -> None:
        super().__init__(**params)
        self.session = session
        self._make()
        self._bind()
        session.problem.param.watch(lambda *_: self._show(), list(session.problem.param))
        session.work.param.watch(lambda *_: self._show_budgets(), NAMES_OF_SIZES)
        self._show()
        self._show_budgets()

    def _bind(self) -> None:
        """Bind the budget: the problem's, or that under the handle while it is moved."""
        models, wrong = self.session.models, said_in(self.wrong)

        def slide(place: int) -> None:
            self.session.slide(self._size_at(place) * 1024)

        def words() -> str:
            under = models.work.under
            return format_exact(under) if under else str(models.problem.budget)

        self.handle = bind_to(self.slider, models.work, ["under"], self._place, slide)
        self.text = bind_to(self.typed, models.work, ["under"], words, self._type, wrong)
        follow(models.problem, "budget", lambda: self.text.show())

    def _make(self) -> None:
        self.named = {
            name: size_button(name, text, partial(self._set_budget, name))
            for name, text in ABOUT.items()
        }
        self.nameless = pn.pane.HTML(
            NAMELESS, css_classes=["budget-nameless"], stylesheets=[PLAIN], margin=(2, 8)
        )
        self.slider = pn.widgets.IntSlider(
            start=0,
            end=1,
            step=1,
            show_value=False,
            tooltips=False,
            css_classes=["budget-slider"],
            sizing_mode="stretch_width",
            margin=(0, 12),
        )
        self.ticks = pn.pane.HTML(
            "",
            css_classes=["budget-ticks"],
            stylesheets=[PLAIN, TICKS],
            sizing_mode="stretch_width",
            margin=(-4, 12, 0, 12),
            height=14,
        )
        self._make_ends()
        self.sizes: list[int] = [1, 2]  # the sizes of the slider's places, in KiB
        self.slider.param.watch(self._slid, "value_throttled")
        self.typed = pn.widgets.TextInput(
            label="Budget",
            placeholder="e.g. 256 KiB, 1.5MB",
            css_classes=["budget-typed"],
            stylesheets=[FIELD],
            sizing_mode="stretch_width",
            margin=(2, 8),
        )
        self.wrong = pn.pane.HTML(
            "", css_classes=["budget-wrong"], margin=(0, 8), stylesheets=[PLAIN]
        )

    def _make_ends(self) -> None:
        """For streamed parameters: the least memory, and the least that has the least delay."""
        self.ends = {
            name: size_button(name, text, partial(self._set_end, name), visible=False)
            for name, text in ENDS.items()
        }

    def _set_end(self, name: str) -> None:
        if (ends := self.session.streams.ends) is not None:
            self._set_budget(format_exact(ends[list(ENDS).index(name)]))

    def _set_budget(self, text: str) -> None:
        self.session.let_go()
        self.session.change(budget=text)
        self.text.show()  # as it is understood

    def _slid(self, event: Any) -> None:
        if event.new is not None:
            self._set_budget(format_exact(self._size_at(event.new) * 1024))

    def _size_at(self, place: int) -> int:
        """KiB at a place of the slider; in a slow browser that may still be another network's."""
        return self.sizes[min(place, len(self.sizes) - 1)]

    def _type(self, text: str) -> None:
        """Take a size that was typed. Raises `BadInput` for anything else, which ends what was said
        of the size before."""
        if not text.strip():
            return
        try:
            size = asked_budget(text)
        except BadInput:
            self.session.work.infeasible = {}
            raise
        self._set_budget(size if isinstance(size, str) else format_exact(size))

    def _show(self) -> None:
        """Show which budget is chosen, and what the named ones mean to the planner."""
        problem = self.session.problem
        kind = kind_of_planner(problem.planner)
        about = {**(ABOUT if kind.whole_operators else PARTS_ABOUT), **kind.budgets}
        for name, widget in self.named.items():
            widget.description = f"{about[name]} ({measured(problem.weights)})"
            widget.color = "primary" if problem.budget == name else "default"
        self._name_buttons()
        self._show_ends()
        self.handle.show()

    def _show_budgets(self) -> None:
        budgets = self.session.work.budgets
        self._name_buttons()
        self._show_ends()
        self.slider.disabled = not budgets
        least = self.session.live.least_bytes
        if budgets and not self.session.work.under:
            self.sizes = slider_sizes(budgets, least, self.session.streams.most_bytes)
            self.slider.param.update(start=0, end=len(self.sizes) - 1, value=self._place())
        named = {} if self.session.streams.offered else {**budgets}
        named |= {"least": least} if least else {}
        self.ticks.object = ticks_html(named, self.sizes, WORDS_OF)
        self.handle.show()

    def _name_buttons(self) -> None:
        """Label with sizes, where those on screen are of the chosen network; equal ones are one."""
        budgets = self.session.work.budgets if self.session.same_network else {}
        for name, widget in self.named.items():
            size = f"\n{format_bytes(budgets[name])}" if budgets else "\n…"
            unproven = name == "MP" and budgets and not budgets["MP_proven"]
            terms = " = ".join(terms_of(budgets, self.named, name))
            widget.label = f"{WORDS_OF[name]} ({terms}{' ≤' if unproven else ''}){size}"

    def _show_ends(self) -> None:
        """Named budgets do not apply to rings: show the ends of their front instead. Nor are they
        of allocations."""
        streams, shown = self.session.streams, self.session.work.shown
        allocation = bool(shown) and of_allocation(shown.graph) and self.session.same_network
        self.nameless.visible = allocation
        budgets = self.session.work.budgets if self.session.same_network else {}
        for name, widget in self.named.items():
            last = terms_of(budgets, self.named, name)[-1] == name
            widget.visible = last and not (streams.offered or allocation)
        for place, (name, widget) in enumerate(self.ends.items()):
            ends = streams.ends
            widget.visible, widget.disabled = streams.offered, ends is None
            widget.label = f"{name}\n{format_bytes(ends[place]) if ends else '…'}"

    def _place(self) -> int:
        """Place the handle at the budget; where no size is known, leave it."""
        size = self.session.models.handle_bytes
        return place_of(size, self.sizes) if size else int(self.slider.value or 0)

    def __panel__(self) -> pn.Column:
        return seen(
            pn.Column,
            seen(pn.Row, *self.named.values(), sizing_mode="stretch_width", margin=(0, 5)),
            seen(pn.Row, *self.ends.values(), sizing_mode="stretch_width", margin=(0, 5)),
            self.nameless,
            self.slider,
            self.ticks,
            sizing_mode="stretch_width",
            margin=0,
        )


def terms_of(budgets: Mapping[str, Any], named: Iterable[str], name: str) -> list[str]:
    """The named budgets that are written as one of them is, itself too, in their order."""
    size = format_bytes(budgets[name]) if budgets else ""
    return [
        each for each in named if each == name or (size and format_bytes(budgets[each]) == size)
    ]


def slider_sizes(
    budgets: Mapping[str, Any], least: int | None, most: int | None = None
) -> list[int]:
    """What the slider offers, in KiB: from below the least plan to above what is ever useful.

    Where the planner's own `least` is known it begins there, and goes on in equal ratios; up to
    `most` where more is of no use to the planner.
    """
    if least and most:
        return even_ratios(least, max(most, least + 1024))
    high = round(max(budgets["default_peak"], budgets["MR"]) * 1.1)
    return even_ratios(least, high) if least else even_sizes(round(budgets["MR"] * 0.8), high)


def place_of(size: int, sizes: Sequence[int]) -> int:
    """The place of the slider that means a size in bytes, or the nearest below it."""
    return max(0, bisect_right(sizes, size // 1024) - 1)


def ticks_html(
    budgets: Mapping[str, Any], sizes: Sequence[int], words: Mapping[str, str] | None = None
) -> str:
    """Marks of the named budgets on the slider; those too close for two words share a mark.

    `words` are what the budgets are called, where that is not their names.
    """
    places: list[tuple[float, str]] = []
    named = [(budgets[name], name) for name in TICKS_OF if name in budgets]
    if words:  # Equal ones have one.
        named = [(size, words.get(name, name)) for size, name in dict(named).items()]
    for size, name in sorted(named, key=lambda found: found[0]):
        share = 100 * place_of(size, sizes) / max(1, len(sizes) - 1)
        while places and _collide(places[-1], (share, name)):
            before, other = places.pop()
            share, name = before, f"{other}·{name}"
        places.append((share, name))
    marks = "".join(
        f'<span class="{_edge(at, name)}" style="left:{at:.1f}%">{name}</span>'
        for at, name in places
    )
    return f'<div class="ticks">{marks}</div>'


def _collide(one: tuple[float, str], other: tuple[float, str]) -> bool:
    """Whether words at two places, the second not before the first, leave no room between."""
    return other[0] - one[0] < NEAREST or _span(*other)[0] < _span(*one)[1]


def _span(at: float, name: str) -> tuple[float, float]:
    """Where a word begins and ends, in percent of the slider."""
    width = WIDE * len(name)
    begin = at - {"first": 0.0, "last": width}.get(_edge(at, name), width / 2)
    return begin, begin + width


def _edge(at: float, name: str) -> str:
    """The CSS class of a word, so that one near an end of the slider stays within it."""
    half = WIDE * len(name) / 2
    return "first" if at < max(5, half) else "last" if at > min(85, 100 - half) else ""


def size_button(name: str, about: str, act: Callable[[], object], **more: Any) -> pn.widgets.Button:
    """A button of a named budget; its size is written below the name once it is known."""
    return button(
        name,
        f"budget-{name.replace(' ', '-')}",
        act,
        description=about,
        stylesheets=[SMALL, BUDGET],
        sizing_mode="stretch_width",
        margin=(2, 3),
        **more,
    )
