"""Typed options: each planner's fields are checked, go through texts and back, and rule each other
out in words; a planner of one's own says its type by an annotation."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import pytest

import planners as sp
from planners.cli.planner_options import declared, options_for
from planners.core.errors import BadInput
from planners.core.options import Options, Spec, flag, whole
from planners.core.registry import PlannerInfo

TYPES = {name: info.options for name, info in sp.planners().items() if info.options}


def every_spec() -> list[Any]:
    return [
        pytest.param(options, spec, id=f"{name}-{spec.name}")
        for name, options in TYPES.items()
        for spec in options.specs().values()
    ]


def other_values(spec: Spec) -> list[Any]:
    """Values of an option that are not its default."""
    match spec.kind:
        case "flag":
            return [not spec.default]
        case "choice":
            return [choice for choice in spec.choices if choice != spec.default]
        case "whole" | "size":
            return [max(int(spec.least), 1) + 6, 3]
        case "number":
            return [0.125, 1e-3]
        case "text":
            return ["a b", "roofline"]
        case _:
            return [("one", "two, three")]


def test_every_planner_of_ours_has_a_type() -> None:
    assert set(TYPES) >= {"cosma", "fusion", "overlap", "streaming", "auto"}


@pytest.mark.parametrize(("options", "spec"), every_spec())
def test_an_option_goes_through_texts_and_back(options: type[Options], spec: Spec) -> None:
    for value in [spec.default, *other_values(spec)]:
        assert spec.read(spec.text(value)) == spec.checked(value) == value
    assert spec.help
    assert spec.checked(spec.default) == spec.default


@pytest.mark.parametrize(("options", "spec"), every_spec())
def test_what_cannot_be_is_refused_by_name(options: type[Options], spec: Spec) -> None:
    wrong: list[Any] = [object(), {"a": 1}]
    if spec.kind not in ("text", "names", "texts"):
        wrong += ["no such", math.nan, None]
    if spec.kind in ("whole", "size"):
        wrong += [1.5, True, spec.least - 1]
    if spec.kind == "number":
        wrong += [spec.least - 1, math.inf, True]
    for value in wrong:
        with pytest.raises(BadInput, match=spec.name):
            options.from_values({spec.name: value})


@pytest.mark.parametrize("name", sorted(TYPES))
def test_what_others_rule_out_is_refused_with_the_reason(name: str) -> None:
    options = TYPES[name]
    specs = [s for s in options.own().values() if s.kind in ("flag", "choice")][:6]
    refused = 0
    for values in product(*([s.default, *other_values(s)[:2]] for s in specs)):
        given = {s.name: value for s, value in zip(specs, values) if value != s.default}
        made = options(**given)
        broken = [r for r in made.rules() if r.option in given and not r.idle]
        if broken:
            refused += 1
            with pytest.raises(BadInput) as error:
                options.from_values(given)
            assert any(rule.reason in str(error.value) for rule in broken)
        else:
            assert options.from_values(given) == made
            assert made.unusual() == given
    assert refused or name in ("auto", "joined")


def test_an_unknown_option_names_those_there_are() -> None:
    with pytest.raises(
        BadInput, match="fusion has no option 'schedule'; it has objective, baseline"
    ):
        TYPES["fusion"].from_values({"schedule": "joint"})


@pytest.mark.parametrize("name", sorted(TYPES))
def test_the_command_line_has_every_option(name: str) -> None:
    for spec in TYPES[name].own().values():
        assert name in declared()[spec.name]
        for value in other_values(spec):
            given = spec.text(value) if spec.kind not in ("flag", "texts") else value
            assert options_for(name, {spec.name: given})[spec.name] == value


def test_the_usual_value_of_anothers_option_does_no_harm() -> None:
    assert options_for("fusion", {"schedule": "default", "bands": "4"}) == {"bands": 4}
    with pytest.raises(BadInput, match="fusion has no option 'schedule', which cosma"):
        options_for("fusion", {"schedule": "joint"})


@dataclass(frozen=True, kw_only=True)
class RowOptions(Options):
    """Options of a planner of one's own."""

    rows: int = whole(4, "rows at once", least=1)
    eager: bool = flag("load as early as can be")


class Took(Exception):
    """What the planner below was given."""


def plan(graph: Any, machine: Any, budget: int, options: RowOptions, progress: Any) -> sp.Plan:
    raise Took(options)


def untyped(graph: Any, machine: Any, budget: int, options: Mapping[str, Any], progress: Any):  # type: ignore[no-untyped-def]
    raise Took(options)


def test_a_planner_of_ones_own_says_its_options_by_an_annotation() -> None:
    info = PlannerInfo("mine", "mine", f"{__name__}:plan")
    object.__setattr__(info, "function", lambda: plan)
    assert info.options is RowOptions
    with pytest.raises(Took) as took:
        info.plan(None, None, 1, {"rows": 8})  # type: ignore[arg-type]
    assert took.value.args == (RowOptions(rows=8),)
    with pytest.raises(BadInput, match="rows must be a whole number from 1 on, not 0"):
        info.plan(None, None, 1, {"rows": 0})  # type: ignore[arg-type]


def test_a_planner_without_a_type_takes_any_options() -> None:
    info = PlannerInfo("mine", "mine", f"{__name__}:untyped")
    object.__setattr__(info, "function", lambda: untyped)
    assert info.options is None
    with pytest.raises(Took) as took:
        info.plan(None, None, 1, {"anything": 8})  # type: ignore[arg-type]
    assert took.value.args == ({"anything": 8},)
