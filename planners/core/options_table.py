"""The options of a planner as a table in Markdown, made from their type."""

from __future__ import annotations

import math

from planners.core.options import Options, Spec
from planners.core.units import format_bytes

HEAD = ("Option", "Default", "May be", "What it is")


def options_table(options: type[Options]) -> str:
    """A row for each option of the planner's own, as they are declared."""
    rows = [HEAD, ("---",) * len(HEAD), *(_row(spec) for spec in options.own().values())]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _row(spec: Spec) -> tuple[str, str, str, str]:
    help = spec.help.replace("|", "\\|")
    return f"`{spec.flag}`", _value(spec, spec.default), _domain(spec), help


def _value(spec: Spec, value: object) -> str:
    if value == "":
        return spec.word(value) if spec.words or spec.empty else "none"
    if value == ():
        return "none"
    if spec.kind == "size" and isinstance(value, int) and value:
        return format_bytes(value)
    return f"`{value}`"


def _domain(spec: Spec) -> str:
    match spec.kind:
        case "flag":
            return "on or off"
        case "choice":
            return ", ".join(_value(spec, choice) for choice in spec.choices[:8]) + (
                ", …" if len(spec.choices) > 8 else ""
            )
        case "whole" | "number" | "size":
            most = "" if spec.most == math.inf else f" to {spec.most:,.0f}"
            unit = f" {spec.unit}" if spec.unit else ""
            return f"{spec.least:g}{most or ' and above'}{unit}"
        case "names":
            return "names separated by commas"
        case "texts":
            return "files or folders" if spec.file else "texts"
        case _:
            return "text"
