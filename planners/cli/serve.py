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
    name: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-websocket-origin",
            metavar="NAME",
            help="host and port under which others reach it; repeatable",
        ),
    ] = None,
    show: Annotated[bool, typer.Option("--show/--no-show", help="open the browser")] = True,
) -> None:
    """Open the explorer in the browser."""
    names = [f"--allow-websocket-origin={each}" for each in name or ()]
    shown = [] if show else ["--no-show"]
    sys.argv[1:] = ["--port", str(port), "--address", address, *names, *shown]
    # By name: the library knows nothing of the application.
    runpy.run_module("app", run_name="__main__")
