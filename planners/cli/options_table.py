"""`spillway options`: what each planner lets one choose, from the types of options."""

from __future__ import annotations

from typing import Annotated

import typer

import planners as sp
from planners.cli.app import AsJson, app
from planners.cli.output import CommandAnswer
from planners.core.options_table import options_table
from planners.core.registry import planner as find_planner

Planner = Annotated[str | None, typer.Argument(help="name of a planner; without one, all")]


@app.command("options")
def options(planner: Planner = None, as_json: AsJson = False) -> None:
    """List the options of a planner, or of all, with defaults, bounds and help."""
    names = list(sp.planners()) if planner is None else [planner]
    types = {name: find_planner(name).options for name in names}
    facts = {
        name: {
            spec.name: {
                "kind": spec.kind,
                "default": spec.default,
                "choices": list(spec.choices),
                "help": spec.help,
                "flag": spec.flag,
            }
            for spec in (options.own() if options else {}).values()
        }
        for name, options in types.items()
    }
    texts = [
        f"## {name}\n\n{options_table(options) if options else 'any options'}"
        for name, options in types.items()
    ]
    CommandAnswer(as_json).give(facts, "\n\n".join(texts))
