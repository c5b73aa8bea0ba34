"""The command that writes the explorer over stored plans as a folder of plain files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import planners as sp
from planners.cli.app import AsJson, app
from planners.cli.export import explorer_part
from planners.cli.options import (
    FoldPadding,
    GranularityOption,
    Input,
    MachineOption,
    Parameters,
    WeightsOption,
    Width,
    load,
    weights_given,
)
from planners.cli.output import CommandAnswer, Reporter, print_table, size_text
from planners.cli.study import workers
from planners.core.registry import AUTO, OURS

SITE, CELLS = "app.outputs.site.write", "app.outputs.site.cells"
"""By name: the library knows nothing of the application."""
FAILED = 1


def _listed(text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]


@app.command()
def site(
    models: Annotated[str, typer.Option("--models", help="models or files, separated by commas")],
    out: Annotated[Path, typer.Option("--out", help="a new or empty folder, or this command's")],
    planners: Annotated[
        str,
        typer.Option(
            "--planners",
            help="planners, separated by commas; with options: fusion:objective=latency",
        ),
    ] = ",".join(name for name, *_ in OURS if name != AUTO),
    budgets: Annotated[str, typer.Option("--budgets", help="separated by commas")] = "MR,256KiB,MP",
    machine: MachineOption = "npu_small",
    time_limit: Annotated[
        float, typer.Option("--time-limit", min=0.001, help="seconds for each plan")
    ] = 10.0,
    jobs: Annotated[int, typer.Option("--jobs", min=1, help="processes on this machine")] = 1,
    title: Annotated[str, typer.Option("--title", help="title of the first page")] = "Spillway",
    tour: Annotated[bool, typer.Option("--tour/--no-tour", help="the guided tour")] = True,
    assignments: Annotated[
        bool, typer.Option("--assignments/--no-assignments", help="the ten tasks")
    ] = True,
    shape: Input = None,
    granularity: GranularityOption = "fused",
    width: Width = None,
    fold_padding: FoldPadding = True,
    parameters: Parameters = False,
    weights: WeightsOption = None,
    as_json: AsJson = False,
) -> None:
    """Write models × planners × budgets as a site of plain files, without a server.

    It opens from a disk or any web server. A run that was stopped goes on where it was, and what is
    asked for no more is removed.
    """
    cells, writer = (explorer_part(name, "spillway site") for name in (CELLS, SITE))
    request = cells.SiteAsked(
        graphs=[load(name, shape, granularity, width, fold_padding) for name in _listed(models)],
        planners=_listed(planners),
        budgets=_listed(budgets),
        machine=sp.load_machine(machine),
        time_limit=time_limit,
        options={"weights": weights_given(parameters, weights)},
        tour=tour,
        tasks=assignments,
        title=title,
    )
    if not (request.graphs and request.planners and request.budgets):
        raise sp.BadInput("nothing to plan: name a model, a planner and a budget at least")
    with Reporter("site") as reporter, workers(jobs, None) as executor:
        done = writer.write_site(out, request, reporter.say, lambda: reporter.stop, executor)
    facts = {**done.counts, "new": done.new, "files": done.files, "bytes": done.size_bytes}
    facts |= {"stopped": done.stopped, "failures": list(done.failures)}
    table = {**done.counts, "made now": done.new, "files": done.files}
    table |= {"size": size_text(done.size_bytes), "open": str(out / "index.html")}
    lines = [print_table(table), *(f"failed: {line}" for line in done.failures)]
    if done.stopped:
        lines.append("stopped: run the same command again for the rest")
    CommandAnswer(as_json).give(facts, "\n".join(lines))
    if done.stopped or done.failures:
        raise typer.Exit(FAILED)
