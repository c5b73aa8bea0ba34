"""`spillway models`: the names of the catalogue."""

from __future__ import annotations

import planners as sp
from planners.cli.app import AsJson, app
from planners.cli.output import CommandAnswer


@app.command()
def models(as_json: AsJson = False) -> None:
    """List the catalogue."""
    names = sp.models()
    CommandAnswer(as_json).give({"models": names}, "\n".join(names))
