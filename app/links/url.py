"""The problem, the look and the pinned problem as a query string, and back. No Panel here."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import urlencode

import param

import planners as sp
from app.links import links_v1
from app.links.blocks_text import blocks_named, blocks_text
from app.links.plain_links import as_written_today, of_the_page
from app.model.machines import fields_text, numbers_in
from app.model.near_names import nearest
from app.model.option_keys import spec_of, type_of, unusual
from app.model.options import BREAKS, SOLVER, WISHES, solver_names, weights_in
from app.model.presenter import USUAL
from app.model.sizes import asked_budget, format_exact, plain_shape
from app.model.state import FIELDS, WIDTHS, Look, ProblemFields, Work, problem_with
from app.model.upload_store import there
from planners.core.machine import changed_numbers, preset_name
from planners.core.weights import COUNTED, LEFT_OUT, instead_of

VERSION, SECOND, FIRST = "3", "2", "1"
MACHINES_OF_BEFORE = {"npu_small": "npu_ideal"}
"""What a machine was, by its name in a link of before: the usual one had no array."""
UPLOADED = " (uploaded)"
MOST_NAME = 100
TIMM = re.compile(r"timm:[A-Za-z0-9_.]+")
OF_THE_MOMENT = ("name", "playing")
LOOKED_AT = tuple(name for name in Look.param if name not in OF_THE_MOMENT)
CANNOT = "The link's {} = {!r:.60} cannot be used."
UNKNOWN = "The link's {} = {!r:.60} is unknown here."
FEW = 12
"""What a field may be is listed where it is no more than these."""
LONGEST = 8000
"""Most characters of a link: some programs that pass links on truncate longer ones."""

KNOWN = frozenset({*FIELDS, *LOOKED_AT, "v", "parameters", "pinned", "teaching"} - {"options"})
"""What a link may have beside options of planners."""
NO_FIELDS: Mapping[str, Any] = {}

CAN_GO: Mapping[str, str] = {
    "expanded": "the opened blocks",
    "pinned": "the pinned plan",
    "selection": "the selection",
    BREAKS: "the break nodes",
    "wishes": "the wishes",
}
"""What is left out of a link that would be too long, in this order."""


def to_query(problem: ProblemFields, look: Look, pinned: Mapping[str, Any] | None = None) -> str:
    """All fields, with a version, so that a link means the same when defaults change."""
    return link(problem, look, pinned)[0]


def link(
    problem: ProblemFields, look: Look, pinned: Mapping[str, Any] | None = None
) -> tuple[str, list[str]]:
    """A query of at most `LONGEST` characters, and what had to be left out of it in words.

    `pinned` are the fields of the problem that a pinned plan answers, or empty.
    """
    fields = {"v": VERSION, **_texts(problem.values_by_name())}
    fields |= {name: _text(getattr(look, name)) for name in LOOKED_AT}
    fields["expanded"] = blocks_text(look.expanded)
    if pinned:
        theirs = _texts({n: v for n, v in pinned.items() if n in FIELDS})
        kept = problem.options if "options" in pinned else {}
        missing = {key: _usual(key) for key in kept if key not in theirs}
        others = {n: t for n, t in (missing | theirs).items() if t != fields.get(n, _usual(n))}
        fields["pinned"] = json.dumps(others, separators=(",", ":"), ensure_ascii=False)
    left_out = []
    for name, words in CAN_GO.items():
        if len(query := "?" + urlencode(fields)) <= LONGEST:
            break
        if fields.pop(name, "") not in ("", "[]", "auto"):
            left_out.append(words)
    else:
        query = "?" + urlencode(fields)
    return query, left_out


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    """The fields of a problem as a link has them: all options of its planner, of others the
    changed.

    So a link means the same when defaults change.
    """
    fields = {name: _text(value) for name, value in values.items() if name != "options"}
    planner, options = values.get("planner", ""), values.get("options", {})
    defaults = {f"{planner}.{name}": spec.default for name, spec in type_of(planner).own().items()}
    return fields | {key: spec_of(key).text(value) for key, value in (defaults | options).items()}


def _usual(name: str) -> str:
    """The text of an option that is not set; empty for a field."""
    return spec_of(name).text(spec_of(name).default) if "." in name else ""


def not_in_links(work: Work, left_out: Sequence[str] = ()) -> list[str]:
    """In words: what is on the page but not in the link, after what `link` had no room for."""
    parts = [f"{words} (the link would be too long)" for words in left_out]
    if moves := len(work.shown.plan.details.moves) if work.shown else 0:
        parts.append(f"{moves} move{'s' * (moves > 1)} by hand (save the plan to keep them)")
    if others := sum(kept.shown is not work.pinned for kept in work.shelf):
        parts.append(f"{others} more plan{'s' * (others > 1)} of the compare shelf")
    return parts


def from_query(
    given: Mapping[str, str],
    first: Mapping[str, Any] = NO_FIELDS,
) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
    """Fields of the problem and of the look, and one line for each value that cannot be used.

    `first` are the fields of the page without a link: a plain link without a model changes those,
    and so does each whose model cannot be used.
    """
    if "v" not in given:
        return _plain(given, first)
    problem, look, wrong = _versioned(given)
    if "model" in given and "model" not in problem:
        problem = _changed(first, problem)
    return problem, look, wrong


def _changed(first: Mapping[str, Any], problem: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of the page without a link, changed to those of a link."""
    options = {**first.get("options", {}), **problem.get("options", {})}
    return {**first, **problem} | ({"options": options} if options else {})


def _versioned(given: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
    """The same of a link with a version, whose fields are as usual where it has none."""
    if given["v"] not in OPTION:
        return {}, {}, [f"This link has version {given['v']!r:.20}; this explorer reads {VERSION}."]
    wrong = _unknown(given)
    given = _on_its_machine(given, given["v"])
    given, brought = _uploaded(_presented(_of_now(given, wrong), wrong), wrong)
    problem, options = _read(ProblemFields, given, wrong), _options(given, wrong)
    problem |= brought | ({"options": unusual(options)} if options else {})
    look = _read(Look, {k: v for k, v in given.items() if k in LOOKED_AT}, wrong)
    return problem, look, wrong


def _plain(
    given: Mapping[str, str], first: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
    """The same of a link without a version, which a person wrote."""
    usual = ProblemFields.param["planner"].default
    planner = usual if "model" in given else first.get("planner", usual)
    named = as_written_today(given, KNOWN, planner)
    if not named:
        return dict(first), {}, []
    problem, look, wrong = _versioned({**named, "v": VERSION})
    return (problem if "model" in problem else _changed(first, problem)), look, wrong


def _unknown(given: Mapping[str, str]) -> list[str]:
    """A line for each name in a link that means nothing here."""
    version = given["v"]
    options = links_v1.OLD if version == FIRST else ()

    def known(name: str) -> bool:
        planner, dot, _ = name.partition(".")
        is_option = bool(dot) and planner in sp.planners() and version != FIRST
        return name in KNOWN or name in options or is_option or of_the_page(name)

    unknown = {name: text for name, text in given.items() if not known(name)}
    near = {*KNOWN, *options, *(f"{p}.{o}" for p in sp.planners() for o in type_of(p).own())}
    near = {name for name in near if known(name)}
    return [UNKNOWN.format(_short(name), unknown[name]) + nearest(name, near) for name in unknown]


def _short(name: str) -> str:
    """A name that somebody else wrote, as a part of one line."""
    return " ".join(name.split())[:60]


def pinned_in(
    given: Mapping[str, str], problem: Mapping[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """The fields of the pinned problem of a link, and one line for each that cannot be used.

    `problem` are the fields that the link has for the plan on screen; empty where none is pinned.
    """
    if given.get("v") not in OPTION or "pinned" not in given:
        return {}, []
    cannot = f"The link's pinned = {given['pinned']!r:.60} cannot be used."
    try:
        texts = json.loads(given["pinned"])
    except (ValueError, RecursionError):
        return {}, [cannot]
    if not isinstance(texts, dict) or not all(isinstance(v, str) for v in texts.values()):
        return {}, [cannot]
    wrong: list[str] = []
    texts = _on_its_machine({"machine": "", **texts}, given["v"])
    if not texts["machine"]:
        del texts["machine"]
    if "machine" in problem:  # changed numbers refer to that preset
        texts = {"machine": problem["machine"], **texts}
    if "weights" not in given:
        before = {n: given[n] for n in ("planner", "parameters") if n in given}
        texts = {**texts, "weights": _of_now({**before, **texts}, wrong).get("weights", LEFT_OUT)}
    texts, brought = _uploaded(texts, wrong)
    fields = {**_read(ProblemFields, texts, wrong), **brought}
    options = _options({"v": given["v"], **texts}, wrong)
    if wrong:  # else the comparison would be with another problem than the pinned one
        return {}, [line.replace("The link's", "The link's pinned") for line in wrong]
    both = {**problem.get("options", {}), **options}
    return {**problem_with(problem).values_by_name(), **fields, "options": unusual(both)}, []


AS_WEIGHTS = {"0": LEFT_OUT, "1": COUNTED}
"""What `parameters` in a link said."""


def _on_its_machine(given: Mapping[str, str], version: str) -> dict[str, str]:
    """A link with the machine that it was made for, whatever that is called today."""
    if version == VERSION:
        return dict(given)
    machine = given.get("machine", ProblemFields.param["machine"].default)
    return {**given, "machine": MACHINES_OF_BEFORE.get(machine, machine)}


def _of_now(given: Mapping[str, str], wrong: list[str]) -> dict[str, str]:
    """A link as it would be made today: before `weights`, `parameters` said what they do, and some
    planners counted them in any case."""
    rest = dict(given)
    counted = rest.pop("parameters", "0")
    if "weights" in rest:
        return rest
    if counted not in AS_WEIGHTS:
        wrong.append(CANNOT.format("parameters", counted))
        return rest
    info = sp.planners().get(rest.get("planner", ProblemFields.param["planner"].default))
    weights = instead_of(AS_WEIGHTS[counted], info.honours) if info else AS_WEIGHTS[counted]
    usual = weights == LEFT_OUT and "parameters" not in given
    return rest if usual else rest | {"weights": weights}


def _presented(given: Mapping[str, str], wrong: list[str]) -> dict[str, str]:
    """A link as it would be made today: before there were layouts to present, one taught or not."""
    rest = dict(given)
    if (taught := rest.pop("teaching", "0")) not in ("0", "1"):
        wrong.append(CANNOT.format("teaching", taught))
    return {"presenting": USUAL, **rest} if taught == "1" else rest


def _uploaded(given: Mapping[str, str], wrong: list[str]) -> tuple[dict[str, str], dict[str, Any]]:
    """The rest of a link, and the fields of an uploaded model, whose file may be gone."""
    rest = dict(given)
    token, model = rest.pop("upload", ""), rest.get("model", "")
    if not model.endswith(UPLOADED):
        if token:
            wrong.append(CANNOT.format("upload", token) + f" Its model is not a file:{UPLOADED}.")
        return rest, {}
    del rest["model"]
    if there(token):
        return rest, {"model": model[:MOST_NAME], "upload": token}
    wrong.append(f"{model!r:.60} is a file that is not on this server: upload it again.")
    return rest, {}


def _read(
    kind: type[param.Parameterized], given: Mapping[str, str], wrong: list[str]
) -> dict[str, Any]:
    values: dict[str, Any] = {}
    blank = kind()
    for name in given:
        if name in ("name", "options") or name not in kind.param:
            continue
        text = given[name]
        try:
            value = blocks_named(text) if name == "expanded" else _value(kind.param[name], text)
            setattr(blank, name, value)
            _known(name, value)
        except (ValueError, RecursionError, sp.SpillwayError) as error:
            why = _why(name, kind.param[name], text, error)
            wrong.append(CANNOT.format(name, text) + why)
        else:
            values[name] = value
    if "machine_fields" in values:
        try:
            values["machine_fields"] = _changes(values)
        except sp.SpillwayError as error:
            changed = values.pop("machine_fields")
            wrong.append(CANNOT.format("machine_fields", changed) + f" {error}.")
    return values


def _options(given: Mapping[str, str], wrong: list[str]) -> dict[str, Any]:
    """The options of a link by key, defaults too; a line for each that cannot be used."""
    options: dict[str, Any] = {}
    for name, text in given.items():
        try:
            if (option := OPTION[given["v"]](name, text)) is not None:
                key, value = option
                options[key] = _allowed(key, spec_of(key).checked(value))
        except (ValueError, RecursionError, sp.SpillwayError) as error:
            why = f" {error}." if isinstance(error, sp.SpillwayError) else ""
            wrong.append(CANNOT.format(_short(name), text) + why)
    return options


def _option(name: str, text: str) -> tuple[str, Any] | None:
    """The key and the value of an option; None for any other field, and for a planner not here."""
    if name.partition(".")[0] not in sp.planners() or "." not in name:
        return None
    return name, spec_of(name).read(text)


def _allowed(key: str, value: Any) -> Any:
    """An option that a link or a visitor's file may set: one that does not name a file of ours."""
    spec = spec_of(key)
    values = (spec.default, *spec.words) if spec.file else (value,)
    choices = solver_names() if key == SOLVER else values
    if value not in choices:
        raise ValueError(value)
    return value


OPTION = {VERSION: _option, SECOND: _option, FIRST: links_v1.option}
"""How each version of links names options."""


def _changes(values: Mapping[str, Any]) -> str:
    """Numbers that differ from a preset, as written. Raises `SpillwayError` for unknown ones."""
    machine = values.get("machine", ProblemFields.param["machine"].default)
    return fields_text(machine, numbers_in(machine, values["machine_fields"]))


def _known(name: str, value: Any) -> None:
    """Names in a link must be known: a model given by path would let a link read files."""
    if name == "budget":
        asked_budget(value)
    if name == "input_shape":
        plain_shape(value)
    if name == "model" and TIMM.fullmatch(value):
        return
    choices = CHOICES.get(name)
    if choices and value not in choices():
        raise ValueError(value)


def _why(name: str, spec: param.Parameter[Any], text: str, error: Exception) -> str:
    """The nearest of what a field may be, as a question; else what it may be, by the error or the
    field's own bounds."""
    objects = CHOICES[name]() if name in CHOICES else getattr(spec, "objects", ())
    if near := nearest(text, [str(each) for each in objects]):
        return near
    if isinstance(error, sp.SpillwayError):
        return f" {error}."
    if isinstance(spec, param.Boolean):
        return " It is 0 or 1."
    if isinstance(spec, param.Integer):
        low, high = spec.bounds or (None, None)
        ends = [f"from {low:,}" if low is not None else "", f"to {high:,}" if high else ""]
        return " ".join([" It is a whole number", *filter(None, ends)]) + "."
    if objects and len(objects) > FEW:
        return f" It is none of the {len(objects):,} names known here."
    if objects:
        return f" It is one of {', '.join(str(each) or 'empty' for each in objects)}."
    return ' It is a list of names: ["…", "…"].' if isinstance(spec, param.List) else ""


CHOICES: Mapping[str, Callable[[], Collection[Any]]] = {
    "model": sp.models,
    "machine": sp.presets,
    "planner": sp.planners,
    "bytes_per_element": lambda: WIDTHS,
}


def _text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return str(int(value)) if isinstance(value, bool) else str(value)


def _value(spec: param.Parameter[Any], text: str) -> Any:
    if isinstance(spec, param.Boolean):
        if text not in ("0", "1"):
            raise ValueError(text)
        return text == "1"
    if isinstance(spec, param.List):
        return _names(text)
    if isinstance(spec, param.Selector):
        return next((each for each in spec.objects if str(each) == text), text)
    return int(text) if isinstance(spec, param.Integer) else text


def _names(text: str) -> list[str]:
    names = json.loads(text)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError(text)
    return names


def problem_of(plan: sp.Plan) -> dict[str, Any]:
    """The fields of the problem that a plan answers, as far as the catalogue has them: of a graph
    with times of its own it has no model."""
    graph, source = plan.graph, plan.graph.source
    fields: dict[str, Any] = {
        "granularity": graph.granularity,
        "bytes_per_element": graph.bytes_per_element,
        "weights": weights_in(plan),
        "budget": format_exact(plan.budget_bytes),
        "machine": preset_name(plan.machine),
        "machine_fields": fields_text(
            preset_name(plan.machine), changed_numbers(plan.machine) or {}
        ),
        "planner": plan.planner,
    }
    if not graph.is_timed:
        fields["model"] = source.get("catalogue", graph.name)
    if shapes := source.get("input_shape"):
        fields["input_shape"] = " and ".join("x".join(map(str, shape)) for shape in shapes)
    if wishes := plan.options.get(WISHES):
        fields[WISHES] = wishes
    texts = {name: _text(value) for name, value in fields.items()}
    return {**_read(ProblemFields, texts, []), "options": unusual(_options_of(plan))}


def _options_of(plan: sp.Plan) -> dict[str, Any]:
    """The options of a plan by key, those that can be used here."""
    specs, options = type_of(plan.planner).own(), dict[str, Any]()
    for name, value in plan.options.items():
        if name in specs:
            key = f"{plan.planner}.{name}"
            with suppress(ValueError, sp.SpillwayError):
                options[key] = _allowed(key, specs[name].checked(value))
    return options
