"""`spillway serve`: the explorer in the browser."""

from __future__ import annotations

import runpy
import sys
from typing import Annotated

import typer

from planners.cli.app import app


@app.command()
def serve(
    port: Annotated[int, typer.Option("--port", min=0, max=65535)] = 5006,
    address: Annotated[str, typer.Option("--address")] = "localhost",
    show: Annotated[bool, typer.Option("--show/--no-show", help="open the browser")] = True,
) -> None:
    """Open the explorer in the browser."""
    sys.argv[1:] = ["--port", str(port), "--address", address, *([] if show else ["--no-show"])]
    # By name: the library knows nothing of the application.
    runpy.run_module("app", run_name="__main__")
