"""The command that writes a plan as C code."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

import planners as sp
from planners.cli.app import AsJson, app
from planners.cli.options import PlanFile
from planners.cli.output import CommandAnswer, Reporter, print_table, size_text


@app.command()
def code(
    plan_file: PlanFile,
    out: Annotated[Path, typer.Option("--out", help="a folder, new or empty or of this command")],
    weights: Annotated[
        Literal["model", "random"],
        typer.Option("--weights", help="of the plan's own model, calibrated; or without a model"),
    ] = "model",
    seed: Annotated[int, typer.Option("--seed", help="of random weights and inputs")] = 0,
    as_json: AsJson = False,
) -> None:
    """Write an overlap plan as C99: int8, one pool of the planned bytes, no other memory.

    `make run` in the folder prints the checksum that is printed here.
    """
    made = sp.Plan.load(plan_file)
    sp.check(made)
    with Reporter(f"writing {made.graph.name} as C"):
        written = sp.write_code(made, out, weights=weights, seed=seed)
        checksum = written.checksum
    facts = {
        "model": made.graph.name,
        "out": str(out),
        "files": list(written.files),
        "pool_bytes": written.pool_bytes,
        "checksum": checksum,
    }
    shown = {"files": " ".join(written.files), "pool_bytes": size_text(written.pool_bytes)}
    CommandAnswer(as_json).give(facts, print_table(facts | shown))
