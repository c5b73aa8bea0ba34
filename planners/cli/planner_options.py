"""Flags of a command for the options of all planners, made from what their types say."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache, wraps
from typing import Annotated, Any

import typer

from planners.core.errors import BadInput
from planners.core.options import Spec
from planners.core.registry import planner as find_planner
from planners.core.registry import planners

WISHES, TIMES = "wishes", "times"
TYPES: Mapping[str, Any] = {"flag": bool, "whole": int, "number": float, "texts": list[str]}


@cache
def declared() -> Mapping[str, Mapping[str, Spec]]:
    """The planners' own options by name, then by planner: one flag may serve several."""
    by_name: dict[str, dict[str, Spec]] = {}
    for name, info in planners().items():
        try:
            options = info.options
        except BadInput:  # a planner that cannot be imported says so when it is chosen
            continue
        for spec in (options.specs() if options else {}).values():
            if not spec.shared or spec.name == WISHES:
                by_name.setdefault(spec.name, {})[name] = spec
    return by_name


def with_planner_options(only: Sequence[str] = ()) -> Callable[[Callable[..., Any]], Any]:
    """Let a command take the options of all planners, or some, as its argument `options`.

    They arrive by name, those alone that were given.
    """

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        by_name = {n: specs for n, specs in declared().items() if not only or n in only}
        signature = inspect.signature(command, eval_str=True)
        ours = [p for p in signature.parameters.values() if p.name != "options"]
        flags = [_parameter(name, specs) for name, specs in by_name.items()]

        @wraps(command)
        def run(**values: Any) -> Any:
            given = {name: values.pop(name) for name in by_name}
            return command(
                **values, options={n: v for n, v in given.items() if v not in (None, [])}
            )

        run.__signature__ = signature.replace(parameters=[*ours, *flags])  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in [*ours, *flags]}
        return run

    return decorate


def options_for(planner: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a command line in the planner's own types, without the usual ones of others.

    Raises `BadInput` for a value that cannot be, and for an option that only others have.
    """
    options = find_planner(planner).options
    taken: dict[str, Any] = {}
    for name, value in given.items():
        theirs = declared()[name]
        if options is not None and name in options.specs():
            spec = options.spec(name)
            taken[name] = spec.read(value) if isinstance(value, str) else value
        elif options is None or name in (WISHES, TIMES):  # what all planners are given
            taken[name] = value
        elif any(_differs(spec, value) for spec in theirs.values()):
            raise BadInput(
                f"{planner} has no option {name!r}, which {' and '.join(theirs)} have; "
                f"it has {', '.join(options.specs())}"
            )
    return taken


def _differs(spec: Spec, value: Any) -> bool:
    return bool((spec.read(value) if isinstance(value, str) else value) != spec.default)


def _parameter(name: str, specs: Mapping[str, Spec]) -> inspect.Parameter:
    kinds = {TYPES.get(spec.kind, str) for spec in specs.values()}
    kind: Any = kinds.pop() if len(kinds) == 1 else str
    flag = "--wish" if name == WISHES else next(iter(specs.values())).flag
    if kind is bool and any(spec.default for spec in specs.values()):
        flag = f"{flag}/--no-{flag.removeprefix('--')}"
    option = typer.Option(flag, help=_help(specs))
    annotation: Any = Annotated[kind | None, option]
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation
    )


def _help(specs: Mapping[str, Spec]) -> str:
    """What an option is, planner by planner, with its choices and its default."""
    return "; ".join(f"{planner}: {_line(spec)}" for planner, spec in specs.items())


def _line(spec: Spec) -> str:
    line = spec.help
    if spec.kind == "choice" and len(spec.choices) < 10:
        line += f": {', '.join(str(choice) for choice in spec.choices if choice != '')}"
    if spec.kind in ("flag", "texts") or spec.default == "":
        return line
    return f"{line} (default {spec.default})"
