"""The command that writes a better plan into another tool's file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from planners.cli.app import AsJson, app
from planners.cli.files import require_distinct
from planners.cli.options import TimeLimit
from planners.cli.output import CommandAnswer, Reporter, print_table, size_text
from planners.core.files import write_text


@app.command()
def apply(
    model: Annotated[Path, typer.Argument(help="a .tflite file")],
    out: Annotated[Path, typer.Option("--out", help="the same file with the plan in it")],
    overlap: Annotated[
        bool,
        typer.Option(
            "--overlap",
            help="outputs over dying inputs (for the runtime's reference kernels only)",
        ),
    ] = False,
    c_file: Annotated[
        Path | None,
        typer.Option("--c", help="also write the plan as C99, for binaries without a planner"),
    ] = None,
    time_limit: TimeLimit = 10.0,
    as_json: AsJson = False,
) -> None:
    """Plan the arena of TensorFlow Lite Micro and write that plan into the model's file.

    Weights, operators and quantisation stay byte for byte the same; the runtime follows the plan
    as it is. Without --overlap nothing lies over anything that is still to be read.
    """
    from planners.audits.cure.tflm import plan_c, planned, written

    require_distinct([model], {"--out": out, "--c": c_file})
    with Reporter(f"placing {model.name}"):
        file, plan = planned(model, overlap=overlap, time_limit_s=time_limit)
        source = plan_c(plan) if c_file else ""
        written(file, plan, out)
        if c_file:
            write_text(c_file, source)
    facts: dict[str, Any] = {
        "model": model.name,
        "out": str(out),
        "head_bytes": plan.head_bytes,
        "own_bytes": plan.own_bytes,
        "bound_bytes": plan.bound_bytes,
        "proven": plan.proven,
        "tensors": len(plan.tensors),
        "scratch_buffers": len(plan.scratch),
        "overlapped": list(plan.overlapped),
        "scratch_unknown": list(plan.unknown),
    }
    CommandAnswer(as_json).give(facts, f"{plan.sentence()}\n{print_table(_table(facts))}")


def _table(facts: dict[str, Any]) -> dict[str, Any]:
    shown = {
        "written": facts["out"],
        "head": size_text(facts["head_bytes"]),
        "runtime's own": size_text(facts["own_bytes"]),
        "least": size_text(facts["bound_bytes"]),
        "placed": f"{facts['tensors']} tensors, {facts['scratch_buffers']} scratch buffers",
    }
    if facts["overlapped"]:
        shown["for"] = f"reference kernels alone: {', '.join(facts['overlapped'])} overlap"
    if facts["scratch_unknown"]:
        kinds = ", ".join(facts["scratch_unknown"])
        shown["not known"] = f"scratch of {kinds}: the head may be larger"
    return shown
