"""The problem and the look as a query string, and back; and as Python that plans the same."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping
from math import isfinite
from typing import Any
from urllib.parse import urlencode

import param

import planners as sp
from app.options import OPTIONS, always_counts, fields_of, solver_names
from app.sizes import format_exact, plain_budget, plain_shape
from app.state import WIDTHS, Look, Problem

VERSION = "1"
UPLOADED = " (uploaded)"
TIMM = re.compile(r"timm:[A-Za-z0-9_.]+")
LOOKED_AT = (
    "step",
    "selection",
    "colour",
    "unit",
    "serial",
    "metric",
    "memory",
    "weighed",
    "teaching",
    "across",
    "swept",
    "more_bytes",
    "wide",
)


def to_query(problem: Problem, look: Look) -> str:
    """All fields, with a version, so that a link means the same when defaults change."""
    fields: dict[str, Any] = {"v": VERSION, **problem.values_by_name()}
    fields |= {name: getattr(look, name) for name in LOOKED_AT}
    return "?" + urlencode({key: _text(value) for key, value in fields.items()})


def from_query(
    given: Mapping[str, str],
) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
    """Fields of the problem and of the look, and one line for each value that cannot be used."""
    if "v" not in given:
        return {}, {}, []
    if given["v"] != VERSION:
        return {}, {}, [f"This link has version {given['v']!r:.20}; this explorer reads {VERSION}."]
    wrong: list[str] = []
    problem = _read(Problem, given, wrong)
    look = _read(Look, {k: v for k, v in given.items() if k in LOOKED_AT}, wrong)
    return problem, look, wrong


def _read(
    kind: type[param.Parameterized], given: Mapping[str, str], wrong: list[str]
) -> dict[str, Any]:
    values: dict[str, Any] = {}
    blank = kind()
    for name in given:
        if name == "name" or name not in kind.param:
            continue
        try:
            value = _value(kind.param[name], given[name])
            setattr(blank, name, value)
            _known(name, value)
        except (ValueError, sp.SpillwayError):
            wrong.append(f"The link's {name} = {given[name]!r:.60} cannot be used.")
        else:
            values[name] = value
    return values


def _known(name: str, value: Any) -> None:
    """Names in a link must be ours: a model by path would let a link read files."""
    if name == "budget":
        plain_budget(value)
    if name == "input_shape":
        plain_shape(value)
    if name == "model" and TIMM.fullmatch(value):
        return
    choices = CHOICES.get(name)
    if choices and value not in choices():
        raise ValueError(value)


CHOICES: Mapping[str, Callable[[], Collection[Any]]] = {
    "model": sp.models,
    "machine": sp.presets,
    "planner": sp.planners,
    "bytes_per_element": lambda: WIDTHS,
    "solver": solver_names,
}
AUTO = "auto"


def _text(value: Any) -> str:
    if isinstance(value, list):
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return AUTO if value is None else str(int(value)) if isinstance(value, bool) else str(value)


def _value(spec: param.Parameter, text: str) -> Any:
    if isinstance(spec, param.Boolean):
        if text not in ("0", "1"):
            raise ValueError(text)
        return text == "1"
    if isinstance(spec, param.List):
        return None if text == AUTO else _names(text)
    numbers = isinstance(spec, param.Selector) and isinstance(spec.default, int)
    if isinstance(spec, param.Integer) or numbers:
        return int(text)
    return finite(text) if isinstance(spec, param.Number) else text


def finite(text: str) -> float:
    """A number. Raises `ValueError` for anything else, and for what is none."""
    value = float(text)
    if not isfinite(value):
        raise ValueError(text)
    return value


def _names(text: str) -> list[str]:
    found = json.loads(text)
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        raise ValueError(text)
    return found


def problem_of(plan: sp.Plan) -> dict[str, Any]:
    """The fields of the problem that a plan answers, as far as the catalogue has them."""
    graph, source = plan.graph, plan.graph.source
    fields: dict[str, Any] = {
        "granularity": graph.granularity,
        "bytes_per_element": graph.bytes_per_element,
        "parameters": plan.program.counts_parameters,
        "budget": format_exact(plan.budget_bytes),
        "machine": plan.machine.name,
        "planner": plan.planner,
        "model": source.get("catalogue", graph.name),
    }
    if always_counts(plan.planner):
        del fields["parameters"]
    if shapes := source.get("input_shape"):
        fields["input_shape"] = " and ".join("x".join(map(str, shape)) for shape in shapes)
    chosen = fields_of(plan.planner, plan.options)
    fields |= {name: chosen[name] for name in OPTIONS if name in chosen}
    texts = {name: _text(value) for name, value in fields.items()}
    return _read(Problem, texts, [])
