"""Several memories on the page: each on the map, how full, what goes through it, and sentences."""

from __future__ import annotations

import json
from functools import cache
from typing import cast

import pytest

import planners as sp
from app.display.banks import banks_of, held_in
from app.display.displayed_plan import DisplayedPlan, show
from app.display.wire import from_wire, to_wire
from app.explorer import Explorer
from app.kinds.registry import kind_of, step_story
from app.outputs.export import lifetimes_csv
from app.outputs.standalone import page_html, seen_of
from app.session.session import Session
from app.views.panels.cards import cards_html, proof_text
from app.views.panels.tables import detail_rows, live_rows, live_title
from app.widgets.palette import LIGHT
from planners import plots
from planners.core.bounds.floors import ProblemFloors
from planners.core.objective import Objective
from planners.core.progress import Clock
from planners.core.units import format_bytes
from planners.joined.build import JoinedProgram
from planners.joined.evaluator import Judged
from planners.joined.slow_memory.planner import of_program
from planners.joined.slow_memory.prefetch import AheadLoads, BankSpace
from tests.app.networks import beginning
from tests.joined.networks import late_weights, machine_of
from tests.plans import plan_of
from tests.work_clock import looking_long

NAMES = ("dtcm", "sram", "psram")


@cache
def shown() -> DisplayedPlan:
    """A plan as it comes out of a worker."""
    plan = plan_of("mobilenet_v2", "cosma", "128KiB", "stm32h743_psram")
    return from_wire(json.loads(json.dumps(to_wire(show(json.dumps(plan.to_json()))))))


def test_memories_hold_together_what_is_on_chip() -> None:
    plan = shown()
    each = [held_in(plan, name) for name in NAMES]
    assert all(max(held) for held in each)
    assert tuple(map(sum, zip(*each, strict=True))) == tuple(plan.report.occupancy)


def test_uses_are_those_of_the_simulator() -> None:
    plan = shown()
    touched = sp.simulate(plan.plan).touched_bytes
    for bank in banks_of(plan):
        assert bank.touched_bytes == touched[bank.name]
        ends = [
            span.stop
            for stay in plan.report.residencies
            if stay.memory == bank.name
            for span in stay.spans
        ]
        assert bank.extent_bytes == max(ends) <= bank.size_bytes


def test_cards_say_what_goes_through_each_slow_memory() -> None:
    plan = shown()
    fast, *slow = banks_of(plan)
    cards = cards_html(plan)
    for bank in slow:
        assert f"{format_bytes(bank.touched_bytes)}</b><span" in cards
        assert f"through {bank.name}" in cards
    assert f"peak of {fast.name}" in [
        card.label.split(",")[0] for card in kind_of(plan).cards(plan)
    ]
    assert "bytes through sram and psram: proven least" in proof_text(plan)


def test_rows_and_sentences_name_the_memory() -> None:
    plan, step = shown(), 4
    text = "\n".join(sentence.text for sentence in step_story(plan, step))
    for stay in plan.live(step):
        size = format_bytes(plan.graph.size_bytes(stay.tensor))
        assert f"{stay.tensor} ({size} in {stay.memory})" in text
        cells = [
            row["cells"][1] for row in live_rows(plan, step, "KiB") if row["text"] == stay.tensor
        ]
        assert [cell.split()[0] for cell in cells] == [stay.memory]
        (where,) = detail_rows(plan, f"tensor:{stay.tensor}")[-1]["cells"]
        assert where.startswith(f"{stay.memory} @")
    assert "of 8 MiB in psram were in use" in text
    for name in NAMES:
        assert f"in {name}" in live_title(plan, step, name)


@pytest.mark.parametrize("name", NAMES)
def test_the_map_and_occupancy_show_the_memory_that_is_chosen(name: str) -> None:
    session = Session(None)  # type: ignore[arg-type]
    explorer, plan = Explorer(session, LIGHT), shown()
    session.work.shown = plan
    session.look.memory = name
    tensors = {stay.tensor for stay in plan.report.residencies if stay.memory == name}
    assert set(explorer.map.source.data["tensor"]) == tensors
    bank = next(bank for bank in banks_of(plan) if bank.name == name)
    assert explorer.map.limit.location == explorer.occupancy.limit.location == bank.size_bytes
    assert explorer.map.y_range.end >= bank.extent_bytes
    far = bank.size_bytes > explorer.map.y_range.end
    assert far == explorer.map.far.words.visible == ("up to " + name in explorer.map.far.words.text)
    assert max(explorer.occupancy.source.data["top"]) == max(held_in(plan, name))
    assert explorer.occupancy.source.data["share"][0].endswith(f"of {name}")


def test_a_pinned_plan_of_one_memory_goes_beside_it() -> None:
    session = Session(None)  # type: ignore[arg-type]
    explorer, plan = Explorer(session, LIGHT), shown()
    session.work.shown = plan
    other = plan_of(plan.graph, "cosma", "MR")
    session.pins.keep(show(json.dumps(other.to_json())), {})
    session.look.param.update(memory="psram", split=True)
    most = max(explorer.occupancy.pinned.data["y"])
    assert most == other.claims.peak_bytes < explorer.occupancy.y_range.end
    below, held, _ = explorer.split.views or ()
    assert {stay.tensor for stay in sp.check(other).residencies} == {*below.source.data["tensor"]}
    assert held.limit.location == below.limit.location == other.budget_bytes


@pytest.mark.usefixtures("drawing")
def test_a_file_of_the_page_has_each_memory() -> None:
    graph = beginning("squeezenet1_1", "cat_1")
    plan = plan_of(graph, "cosma", "MR", "stm32h743_psram")
    html = page_html(seen_of(plan))
    for name in NAMES:
        assert f">{name}</button>" in html


def test_the_notebook_draws_each_memory() -> None:
    html = shown().plan._repr_html_()
    for bank in banks_of(shown()):
        size = format_bytes(bank.size_bytes)
        assert f">{bank.name} {size}" in html or f"above, up to {bank.name} of {size}" in html


def test_plots_of_a_memory_have_its_size() -> None:
    plan = shown().plan
    for name in NAMES:
        bars = plots.occupancy(plan, name).get(0)
        assert max(bars.dimension_values("held")) == max(held_in(shown(), name))
        assert plots.address_map(plan, name) is not None
    with pytest.raises(sp.BadInput, match="nothing lies in 'flash'"):
        plots.occupancy(plan, "flash")


def test_lifetimes_of_all_memories_are_shared_out_again() -> None:
    assert len(lifetimes_csv(shown()).splitlines()) == 1 + len(shown().report.residencies)


@cache
def both_ways() -> DisplayedPlan:
    """A joined plan whose weights come ahead to a second memory."""
    graph, machine = sp.from_torch(*late_weights()), machine_of(64_000)
    options = {"objective": "latency", "weights": "counted", "others": False, "improve": False}
    with looking_long():
        alone = sp.plan(graph, "joined", 20_000, machine_of(1), 6, **options)
        aim = Objective("latency", ProblemFloors(graph, machine, "counted"), alone.budget_bytes)
        trace, none = sp.simulate(alone), cast(JoinedProgram, None)
        own = Judged(alone, trace, trace.makespan_s, none)
        ahead = AheadLoads(
            graph, machine, alone.program, BankSpace(machine), Clock(60.0, None)
        ).best()
    return show(json.dumps(of_program(own, ahead, machine, aim).plan.to_json()))


def test_a_joined_plan_shows_stretches_and_each_memory() -> None:
    plan, kind = both_ways(), kind_of(both_ways())
    assert kind.planner == "joined"
    assert plan.stretches
    fast, *slow = banks_of(plan)
    assert [region.name for region in kind.regions(plan)] == [fast.name, *(b.name for b in slow)]
    assert kind.room(plan, slow[0].name) == slow[0].size_bytes
    assert next(card.label for card in kind.cards(plan)) == f"through {slow[0].name}"
    held = {bank.name: held_in(plan, bank.name) for bank in (fast, *slow)}
    for bank in (fast, *slow):
        assert 0 < max(held[bank.name]) <= bank.size_bytes
    together = [*map(sum, zip(*held.values(), strict=True))]
    assert all(a >= b for a, b in zip(together, plan.report.occupancy, strict=True))
    assert all(plan.report.occupancy[s] >= max(h[s] for h in held.values()) for s in (0, 5, -1))


@pytest.mark.usefixtures("drawing")
def test_files_and_plots_of_a_joined_plan_have_each_memory() -> None:
    plan = both_ways().plan
    html, notebook = page_html(seen_of(plan)), plan._repr_html_()
    for bank in banks_of(both_ways()):
        assert f">{bank.name}</button>" in html
        assert bank.name in notebook
        assert plots.address_map(plan, bank.name) is not None
        bars = plots.occupancy(plan, bank.name).get(0)
        assert 0 < max(bars.dimension_values("held")) <= bank.size_bytes
