"""Fields of the problem: sizes as typed, budgets on the slider, options, what is said of them."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from random import Random

import planners as sp
from app.display.displayed_plan import show
from app.explorer import Explorer
from app.model.option_keys import offered, type_of
from app.session.session import Session
from app.views.panels.controls import Controls
from app.widgets.budget_field import WORDS_OF, place_of, slider_sizes, ticks_html
from tests.plans import plan_of


def test_typed_sizes_are_read_exactly_or_refused_exactly() -> None:
    session = Session(None)
    controls = Controls(session)
    asked: list[dict[str, str]] = []
    session.change = lambda **fields: asked.append(fields)  # type: ignore[method-assign]
    controls.budget.typed.value = "256 elephants"
    assert "&#x27;256 elephants&#x27; is not a size" in controls.budget.wrong.object
    assert asked == []
    controls.budget.typed.value = "256KiB"
    assert asked == [{"budget": "256 KiB"}]
    assert controls.budget.wrong.object == ""


def test_what_is_not_known_is_said_beside_the_model(explorer: Explorer) -> None:
    session = explorer.session
    controls = Controls(session)
    assert not controls.caveats.visible
    plan = plan_of("quantized_resnet18", budget="MP")
    float_model = show(json.dumps(plan.to_json()))
    fields = session.work.shown_for | {"model": session.problem.model}
    session.work.param.update(shown=float_model, shown_for=fields)
    assert controls.caveats.visible
    assert "the float model that is quantised" in controls.caveats.object
    session.work.param.update(shown_for=fields | {"model": "another"})
    assert not controls.caveats.visible


def test_named_budgets_wait_for_the_network_that_is_chosen() -> None:
    session = Session(None)
    session.open({}, {})
    field = Controls(session).budget
    mr, mp = field.named["MR"], field.named["MP"]
    known = mr.label
    assert [widget.visible for widget in field.named.values()] == [True, True, True]
    session.problem.model = "resnet18"
    assert mr.label == "largest operator (MR)\n…"
    session.problem.model = session.work.shown_for["model"]
    assert mr.label == known
    known_sizes = session.work.budgets
    session.work.budgets = {**known_sizes, **dict.fromkeys(("MR", "MH", "MP"), known_sizes["MR"])}
    assert [widget.visible for widget in field.named.values()] == [False, False, True]
    assert mp.label == "all stays (MR = MH = MP)\n738.8 KiB"


def test_a_size_that_cannot_be_is_said_to_be_wrong_and_nothing_else() -> None:
    session = Session(None)
    session.open({}, {})
    field = Controls(session).budget
    for text, told in (
        ("99999999 GiB", "1024 GiB is the largest possible size"),
        ("half", "half"),
    ):
        session.work.infeasible = {"need_bytes": 2, "have_bytes": 1, "wishes": True}
        field.typed.value = text
        assert told in field.wrong.object
        assert session.work.infeasible == {}
        assert session.problem.budget == "MR"


def test_a_shape_that_is_none_is_refused_beside_its_field() -> None:
    session = Session(None)
    controls = Controls(session)
    asked: list[dict[str, str]] = []
    session.change = lambda **fields: asked.append(fields)  # type: ignore[method-assign]
    controls.shape.value = "1x3xbig"
    assert "is not an input shape" in controls.wrong_shape.object
    assert asked == []
    controls.shape.value = "2 x 3 x 96 x 96"
    assert asked == [{"input_shape": "2 x 3 x 96 x 96"}]
    assert controls.wrong_shape.object == ""


def test_every_value_of_an_option_can_be_chosen() -> None:
    for spec in (spec for name in sp.planners() for spec in type_of(name).own().values()):
        shown = offered(spec, spec.default)
        assert len(shown) == len({*shown.values()})
        if spec.kind == "choice" and len(spec.choices) < 10:
            assert set(shown.values()) == set(spec.choices)


def test_named_budgets_are_ticks_where_they_are_on_the_slider() -> None:
    even = range(50, 251)
    apart = ticks_html({"MR": 100 * 1024, "MH": 150 * 1024, "MP": 200 * 1024}, even)
    assert [f"left:{at}%" in apart for at in (25.0, 50.0, 75.0)] == [True] * 3
    equal = dict.fromkeys(("MR", "MH", "MP"), 10240)
    assert "MR·MH·MP" in ticks_html(equal, range(8, 13))
    assert ">all stays<" in ticks_html(equal, range(8, 13), WORDS_OF)
    assert "span" not in ticks_html({}, [1, 2])


def test_ticks_have_the_words_of_the_buttons_and_long_words_share_a_mark() -> None:
    even, close = range(50, 251), {"MR": 100 * 1024, "MP": 120 * 1024}
    assert ticks_html(close, even).count("<span") == 2
    together = ticks_html(close, even, WORDS_OF)
    assert together.count("<span") == 1
    assert "largest operator·all stays" in together


TICK = re.compile(r'<span class="(\w*)" style="left:([\d.]+)%">([^<]+)</span>')


def test_no_two_words_of_ticks_lie_over_one_another() -> None:
    rng, letter = Random(5), 1.9
    for _ in range(500):
        sizes = sorted(rng.sample(range(8, 4096), 40))
        budgets = {
            name: 1024 * rng.choice(sizes[: rng.choice((1, 4, 40))])
            for name in ("least", "MR", "MH", "MP")
        }
        right = 0.0
        for edge, left, words in TICK.findall(ticks_html(budgets, sizes, WORDS_OF)):
            wide = letter * len(words)
            begin = float(left) - {"first": 0.0, "last": wide}.get(edge, wide / 2)
            assert right <= begin + 0.2, budgets
            right = begin + wide
        assert right <= 100.2, budgets


def test_the_slider_begins_at_the_least_plan_where_that_is_known() -> None:
    budgets = {"MR": 100 * 1024, "default_peak": 200 * 1024}
    whole = slider_sizes(budgets, None)
    assert whole == list(range(80, 222))
    ratios = slider_sizes(budgets, 9 * 1024 + 1)
    assert (ratios[0], ratios[-1]) == (10, 221)
    assert ratios == sorted(set(ratios))
    steps = [b / a for a, b in pairwise(ratios) if a > 100]
    assert max(steps) < 1.1 * min(steps)
    for sizes in (whole, ratios):
        assert [place_of(1024 * size, sizes) for size in sizes] == list(range(len(sizes)))
        assert place_of(0, sizes) == 0
        assert place_of(2**40, sizes) == len(sizes) - 1
