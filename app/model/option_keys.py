"""Options of all planners in one mapping, by `planner.option`: what they are, and their defaults.

Everything known about an option comes from the type of its planner's options. No Panel here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import planners as sp
from app.model.sizes import format_exact
from planners.core.options import Options, Spec


def type_of(planner: str) -> type[Options]:
    """The type of a planner's options; where it declares none, what every planner has."""
    info = sp.planners().get(planner)
    try:
        return (info.options if info else None) or Options
    except Exception:  # whatever a third-party planner raises, planning will report it
        return Options


def spec_of(key: str) -> Spec:
    """What is known of an option. Raises `BadInput` where there is none such."""
    planner, _, name = key.partition(".")
    specs = type_of(planner).own()
    if name not in specs:
        raise sp.BadInput(f"{planner} has no option {name!r:.40}; it has {', '.join(specs)}")
    return specs[name]


def keyed(planner: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """A planner's options by key, as it takes them. Raises `BadInput`."""
    return {
        key: spec_of(key).checked(value)
        for key, value in ((f"{planner}.{name}", value) for name, value in values.items())
    }


def unusual(options: Mapping[str, Any]) -> dict[str, Any]:
    """Those that are not the default."""
    return {key: value for key, value in options.items() if value != spec_of(key).default}


def own_of(planner: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of one planner, by their names alone."""
    head = f"{planner}."
    return {key.removeprefix(head): value for key, value in options.items() if key.startswith(head)}


def offered(spec: Spec, value: Any, values: Sequence[Any] = ()) -> dict[str, Any]:
    """The values of an option that a page offers, by label; empty where it is typed. `value` is
    set.

    `values` are those available here, where an option's type cannot know them.
    """
    choices = list(values or spec.words or spec.choices)
    if choices and value not in choices:
        choices.append(value)
    return {spec.word(each): each for each in choices}


def typed(spec: Spec, value: Any) -> str:
    """An option as a person types it; empty for the value that an empty field stands for."""
    if spec.empty and value == spec.default:
        return ""
    return format_exact(value) if spec.kind == "size" and value else spec.text(value)


def read(spec: Spec, text: str) -> Any:
    """What a person typed. Raises `BadInput`."""
    return spec.read(text.strip()) if text.strip() or not spec.empty else spec.default


def title(spec: Spec) -> str:
    """What a page calls an option."""
    return spec.label or spec.name.replace("_", " ")


def brief(spec: Spec, value: Any) -> str:
    """The value of an option in a word or two."""
    if spec.short or spec.kind != "flag":
        return (spec.short or "{}").format(value)
    return title(spec) if value else f"no {title(spec)}"
