"""Links: problem and look survive the way into an address and back; nothing else gets in."""

from __future__ import annotations

import json
from dataclasses import replace
from html import escape
from urllib.parse import parse_qsl

import param
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import planners as sp
from app.links.blocks_text import blocks_named, blocks_text
from app.links.url import (
    CHOICES,
    LONGEST,
    OF_THE_MOMENT,
    VERSION,
    from_query,
    link,
    not_in_links,
    pinned_in,
    problem_of,
    to_query,
)
from app.model.option_keys import spec_of, type_of, unusual
from app.model.options import SOLVER, solver_names
from app.model.sizes import format_exact, plain_shape
from app.model.state import Look, ProblemFields, Work
from app.outputs.scripts import as_python
from app.session.initial_plan import first_shown
from app.session.pinning import PinnedPlan
from app.session.session import Session
from app.views.dag.bars import Message
from planners.catalogue.names import timm_names
from planners.core.details import MovedByHand
from planners.core.errors import BadInput
from planners.core.options import Spec
from planners.study.budgets import plain_budget
from tests.cases import cases


def read(query: str) -> tuple[dict[str, object], dict[str, object], list[str]]:
    return from_query(dict(parse_qsl(query.lstrip("?"), keep_blank_values=True)))


def test_no_name_is_offered_in_its_own_place() -> None:
    """Links of the first version do not name a planner's options as today's do."""
    _, _, wrong = read("?v=1&model=squeezenet1_1&cosma.schedule=mpmf")
    assert len(wrong) == 1
    assert "cosma.schedule" not in wrong[0].partition("known here")[2]


def test_a_link_says_all_of_the_problem_and_the_look() -> None:
    problem = ProblemFields(model="resnet18", budget="256 KiB", weights="counted", time_limit=7)
    look = Look(step=12, selection="tensor:relu_", unit="hex", serial=True, colour="MACs")
    found, seen, wrong = read(to_query(problem, look))
    assert wrong == []
    assert ProblemFields(**found).values_by_name() == problem.values_by_name()
    assert (seen["step"], seen["selection"], seen["unit"]) == (12, "tensor:relu_", "hex")
    assert (seen["serial"], seen["colour"]) == (True, "MACs")


@pytest.mark.parametrize(
    ("text", "weights"),
    [
        ("planner=cosma&parameters=0", "left-out"),
        ("planner=cosma&parameters=1", "counted"),
        ("planner=fusion&parameters=0", "counted"),
        ("planner=streaming&parameters=1", "counted"),
        ("planner=overlap&parameters=1", "in-place"),
        ("planner=fusion&parameters=0&weights=in-place", "in-place"),
    ],
)
def test_links_from_before_weights_mean_what_they_did(text: str, weights: str) -> None:
    for version in ("1", "2"):
        problem, _, wrong = read(f"?v={version}&{text}")
        assert (problem["weights"], wrong) == (weights, [])


def test_an_address_without_a_version_is_the_first_page() -> None:
    assert read("?theme=dark") == ({}, {}, [])


FIRST = {"model": "mobilenet_v2", "planner": "fusion", "budget": "256 KiB"}


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("model=ResNet-50&budget=256KiB", {"model": "resnet50", "budget": "256 KiB"}),
        ("Model=resnet18&budget=mp", {"model": "resnet18", "budget": "MP"}),
        ("model=nasnetalarge", {"model": "timm:nasnetalarge"}),
        ("model=vgg16&shape=8", {"model": "vgg16", "input_shape": "8"}),
        ("budget=131072", {**FIRST, "budget": "128 KiB", "weights": "counted"}),
        ("planner=cosma", {**FIRST, "planner": "cosma"}),
        ("objective=latency", {**FIRST, "options": {"fusion.objective": "latency"}}),
        ("theme=dark&bokeh-session-id=x", FIRST),
    ],
)
def test_a_link_may_be_written_by_hand(text: str, fields: dict[str, object]) -> None:
    if "nasnet" in text and not timm_names():
        pytest.skip("needs timm: pip install timm")
    problem, look, wrong = from_query(dict(parse_qsl(text)), FIRST)
    problem.setdefault("weights", fields.get("weights"))
    assert {n: v for n, v in problem.items() if n != "weights"} == {
        n: v for n, v in fields.items() if n != "weights"
    }
    assert (look, wrong) == ({}, [])


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("model=resnet5O", "resnet50"),
        ("bugdet=256KiB", "budget"),
        ("planner=fusoin", "fusion"),
        ("v=2&modle=vgg16", "model"),
        ("v=2&granularity=fusd", "fused"),
        ("v=2&cosmo.objective=peak", "cosma.objective"),
        ("v=1&schedul=joint", "schedule"),
    ],
)
def test_what_a_link_says_in_vain_is_told_with_the_nearest_name(text: str, near: str) -> None:
    _, _, wrong = from_query(dict(parse_qsl(text)), FIRST)
    assert len(wrong) == 1
    assert wrong[0].endswith(f"Did you mean {near}?")


@pytest.mark.parametrize(
    ("field", "text", "why"),
    [
        ("budget", "x", "write bytes, or e.g. 256KiB"),
        ("budget", "99999999 GiB", "1024 GiB is the largest possible size."),
        ("axis", "q", "It is one of empty, steps, time."),
        ("upload", "q", "Its model is not a file: (uploaded)."),
        ("input_shape", "1,2,x", "write e.g. 1x3x224x224"),
        ("time_limit", "9999", "It is a whole number from 1 to 3,600."),
        ("step", "last", "It is a whole number from 0."),
        ("serial", "yes", "It is 0 or 1."),
        ("unit", "octets", "It is one of KiB, hex."),
        ("machine", "q", "It is none of the "),
        ("swept", "q", "It is a list of names"),
        ("machine_fields", "a=b", "'a=b' gives no number to a field of the machine."),
        ("cosma.alignment", "zz", "a whole number of bytes from 1 on"),
        ("cosma.objective", "q", "choose one of traffic, peak"),
    ],
)
def test_what_a_link_cannot_have_is_told_with_the_reason(field: str, text: str, why: str) -> None:
    _, _, wrong = from_query({"v": VERSION, field: text})
    assert len(wrong) == 1
    assert f"{field} = {text!r} cannot be used." in wrong[0]
    assert why in wrong[0]
    assert wrong[0].endswith(".")


@pytest.mark.parametrize(
    "text", ["model=resnet5&planner=fusoin&foo=1", "v=3&model=resnet5&planner=fusoin&foo=1"]
)
def test_form_and_pictures_agree_where_a_link_names_no_model(text: str) -> None:
    problem, _, wrong = from_query(dict(parse_qsl(f"{text}&budget=96 KiB")), FIRST)
    assert problem == {**FIRST, "budget": "96 KiB"}
    told = " ".join(sorted(wrong))
    assert "foo = '1'" in told
    assert "model = 'resnet5' cannot be used. Did you mean resnet" in told
    assert "planner = 'fusoin' cannot be used. Did you mean fusion?" in told
    session = Session(None)  # type: ignore[arg-type]
    session.work.refused = wrong
    message = Message(session)
    assert message.row.visible
    assert all(escape(line) in message.text.object for line in wrong)
    session.work.param.update(notice="", infeasible={})  # As when the plan comes.
    assert all(escape(line) in message.text.object for line in wrong)


def test_another_version_is_said_to_be_another() -> None:
    assert "version" in read("?v=99&model=resnet18")[2][0]


@pytest.mark.parametrize(
    ("version", "machine", "today"),
    [
        ("1", "npu_small", "npu_ideal"),
        ("2", "npu_small", "npu_ideal"),
        ("2", "", "npu_ideal"),
        ("2", "stm32f746", "stm32f746"),
        ("3", "npu_small", "npu_small"),
    ],
)
def test_a_link_keeps_the_machine_that_it_was_made_for(
    version: str, machine: str, today: str
) -> None:
    given = {"v": version, "model": "vgg16"} | ({"machine": machine} if machine else {})
    assert from_query(given)[0]["machine"] == today
    pinned = {"v": version, "pinned": json.dumps({"planner": "fusion", "machine": machine})}
    if machine:
        assert pinned_in(pinned, {})[0]["machine"] == today


@pytest.mark.parametrize(
    "text",
    [
        "model=/etc/passwd",
        "model=../graph.json",
        "machine=abacus",
        "planner=oracle",
        "budget=lots",
        "budget=-1",
        "bytes_per_element=3",
        "time_limit=0",
        "weights=maybe",
        "granularity=coarse",
        "input_shape=1x3xbig",
        "model=timm:hf-hub:x/y",
        "step=-2",
    ],
)
def test_what_a_link_may_not_say_is_one_line_and_changes_nothing(text: str) -> None:
    problem, look, wrong = read("?v=3&" + text)
    assert (problem, look) == ({}, {})
    assert len(wrong) == 1
    assert text.split("=")[0] in wrong[0]


def test_the_copied_python_plans_the_same() -> None:
    problem = ProblemFields(model="squeezenet1_1", time_limit=5)
    names: dict[str, object] = {"print": lambda *_: None}
    exec(as_python(problem), names)
    assert names["plan"].graph.name == "squeezenet1_1"  # type: ignore[attr-defined]


def test_a_plan_says_what_problem_it_answers() -> None:
    fields = problem_of(first_shown().plan)
    session = Session(None)  # type: ignore[arg-type]
    assert ProblemFields(**fields).model == session.problem.model
    assert fields["planner"] == "cosma"


def test_sizes_are_written_so_that_they_read_back() -> None:
    for size in (1, 1000, 1024, 2**20, 3 * 2**19, 12345):
        assert plain_budget(format_exact(size)) == size
    assert plain_budget(" mr ") == "MR"
    with pytest.raises(BadInput, match="is not a size"):
        plain_budget("256 elephants")


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("", None),
        ("8", 8),
        ("1x3x224x224", [[1, 3, 224, 224]]),
        ("1, 3, 8, 8", [[1, 3, 8, 8]]),
        ("1×3 and 2×4", [[1, 3], [2, 4]]),
    ],
)
def test_input_shapes_are_read(text: str, shape: object) -> None:
    assert plain_shape(text) == shape


@pytest.mark.parametrize("text", ["0", "1x", "1x-3", "big", "1x3x1e3", "and"])
def test_what_is_no_input_shape_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="not an input shape"):
        plain_shape(text)


# ---- everything comes back -----------------------------------------------------------------

NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=12)


def fitting_option(key: str, spec: Spec) -> st.SearchStrategy[object]:
    """Values that an option may have, and a link may name."""
    if key == SOLVER:
        return st.sampled_from(solver_names())
    if spec.choices or spec.file:
        return st.sampled_from(spec.choices or tuple(spec.words) or (spec.default,))
    if spec.kind == "flag":
        return st.booleans()
    if spec.kind == "names":
        return st.just("auto") | st.lists(NAMES.filter(bool), max_size=4).map(tuple)
    if spec.kind == "number":
        return st.floats(spec.least, min(spec.most, 1e9))
    return st.integers(int(spec.least), int(min(spec.most, 2**40)))


OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        key: fitting_option(key, spec_of(key))
        for planner in sp.planners()
        for key in (f"{planner}.{name}" for name in type_of(planner).own())
    },
).map(unusual)


def fitting(spec: param.Parameter, name: str) -> st.SearchStrategy[object]:
    """Values that a parameter may have, and a link may name."""
    if name in CHOICES:
        return st.sampled_from(sorted(CHOICES[name](), key=str))
    if name == "budget":
        sizes = st.integers(1, 2**40).map(format_exact)
        return st.one_of(st.sampled_from(["MR", "MH", "MP"]), sizes)
    if name == "input_shape":
        return st.sampled_from(["", "8", "1x3x64x64", "1x3 and 2x4"])
    if name == "machine_fields":
        changed = "clock_hz=123456,mac_pj=0.515625,host.read_bytes_per_s=1.25e9"
        return st.sampled_from(["", "dma_in.latency_s=1.25e-7", changed])
    if name == "upload":  # a file that is on the server, and here there is none
        return st.just("")
    if name == "expanded":
        return st.lists(NAMES, max_size=6).map(lambda names: sorted(set(names)))
    if name == "options":
        return OPTIONS
    if isinstance(spec, param.Boolean):
        return st.booleans()
    if isinstance(spec, param.Selector):
        return st.sampled_from(spec.objects)
    if isinstance(spec, param.List):
        return st.lists(NAMES, max_size=4)
    if isinstance(spec, param.Integer):
        low, high = spec.bounds
        return st.integers(low or 0, high or 2**40)
    return NAMES


def values_of(kind: type[param.Parameterized]) -> st.SearchStrategy[dict[str, object]]:
    specs = {name: kind.param[name] for name in kind.param if name not in OF_THE_MOMENT}
    return st.fixed_dictionaries({name: fitting(spec, name) for name, spec in specs.items()})


@settings(max_examples=cases(40))
@given(values_of(ProblemFields), values_of(Look), st.none() | values_of(ProblemFields))
def test_all_of_a_page_comes_back(
    problem: dict[str, object], look: dict[str, object], pinned: dict[str, object] | None
) -> None:
    query, left_out = link(ProblemFields(**problem), Look(**look), pinned)
    assert left_out == []
    found, seen, wrong = read(query)
    assert wrong == []
    assert ProblemFields(**found).values_by_name() == problem
    assert {name: seen[name] for name in look} == look
    again, wrong = pinned_in(dict(parse_qsl(query.lstrip("?"), keep_blank_values=True)), found)
    assert wrong == []
    assert again == (pinned or {})


def test_blocks_are_written_once() -> None:
    names = ["fc", "layer1", "layer1.0", "layer1.1", "layer1.1.conv", "a~b%c.d"]
    text = blocks_text(names)
    assert text == "0.a%7Eb%25c.d~0.fc~0.layer1~1.0~1.1~2.conv"
    assert blocks_named(text) == sorted(names)
    for wrong in ("1.a", "x.a", "zero", "-1.a", "0.a~3.b"):
        with pytest.raises(ValueError):
            blocks_named(wrong)


def test_a_link_that_would_be_too_long_says_what_it_leaves_out() -> None:
    many = [f"block number {i} with a long name" for i in range(400)]
    query, left_out = link(ProblemFields(), Look(expanded=many, selection="tensor:x"))
    assert len(query) <= LONGEST
    assert left_out == ["the opened blocks"]
    assert read(query)[1]["selection"] == "tensor:x"
    problem = ProblemFields.with_values(schedule="dnc", break_nodes=many)
    query, left_out = link(problem, Look(expanded=many), {"budget": "MH"})
    assert len(query) <= LONGEST
    assert left_out == ["the opened blocks", "the pinned plan", "the break nodes"]
    assert ProblemFields(**read(query)[0]).option("schedule") == "dnc"


@pytest.mark.parametrize("text", ["nonsense", "[]", '{"budget": 3}', "[" * 9000, '"MR"'])
def test_a_pinned_problem_that_is_none_is_one_line(text: str) -> None:
    fields, wrong = pinned_in({"v": "1", "pinned": text}, {})
    assert fields == {}
    assert len(wrong) == 1
    assert wrong[0].startswith("The link's pinned = ")
    assert len(wrong[0]) < 120


def test_a_pinned_problem_with_one_wrong_value_is_not_another_problem() -> None:
    asked = {"v": "1", "pinned": json.dumps({"budget": "MH", "model": "/etc/passwd"})}
    fields, wrong = pinned_in(asked, {"planner": "fusion"})
    assert fields == {}
    assert len(wrong) == 1
    assert "pinned model" in wrong[0]
    asked["pinned"] = json.dumps({"budget": "MH"})
    fields, wrong = pinned_in(asked, {"planner": "fusion"})
    assert wrong == []
    assert (fields["planner"], fields["budget"]) == ("fusion", "MH")
    assert pinned_in({}, {}) == ({}, [])


def test_what_no_link_holds_is_said() -> None:
    work = Work(shown=first_shown())
    assert not_in_links(work) == []
    assert not_in_links(work, ["the wishes"]) == ["the wishes (the link would be too long)"]
    others = [PinnedPlan("a", work.shown, {}), PinnedPlan("b", work.shown, {})]
    work.param.update(shelf=others)
    assert not_in_links(work) == ["2 more plans of the compare shelf"]
    work.param.update(pinned=work.shown)
    assert not_in_links(work) == []
    plan = work.shown.plan
    moved = replace(plan, details=replace(plan.details, moves=(MovedByHand("a", 0, 0, 64),)))
    work.param.update(shown=replace(work.shown, plan=moved), pinned=None, shelf=[])
    assert not_in_links(work) == ["1 move by hand (save the plan to keep them)"]
