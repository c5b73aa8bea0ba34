"""`spillway plan`: one model, one planner, one machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import planners as sp
from planners.cli.app import AsJson, app
from planners.cli.files import require_distinct
from planners.cli.options import (
    ExportLp,
    ExportMps,
    FoldPadding,
    GranularityOption,
    Input,
    MachineOption,
    Model,
    Parameters,
    TimeLimit,
    WeightsOption,
    Width,
    load,
    say_what_weights_do,
    weights_given,
)
from planners.cli.output import CommandAnswer, Reporter, print_table, with_notes
from planners.cli.plan_table import groups_fact, overlap_fact, planning_table, streaming_fact
from planners.cli.planner_options import options_for, with_planner_options
from planners.core.caveats import caveats
from planners.core.registry import DEFAULT
from planners.core.weights import COUNTED
from planners.simulator.bugs import bugs_explained
from planners.study.budgets import resolve_budget


@app.command()
@with_planner_options()
def plan(
    model: Model,
    budget: Annotated[
        str, typer.Option("--budget", help="MR, MH, MP, bytes, 256KiB, 1.5MB")
    ] = "MR",
    planner: Annotated[str, typer.Option("--planner", help=", ".join(sp.planners()))] = DEFAULT,
    machine: MachineOption = "npu_small",
    time_limit: TimeLimit = 60.0,
    out: Annotated[Path | None, typer.Option("--out", help="save the plan as JSON")] = None,
    export_lp: ExportLp = None,
    export_mps: ExportMps = None,
    shape: Input = None,
    granularity: GranularityOption = "fused",
    width: Width = None,
    fold_padding: FoldPadding = True,
    parameters: Parameters = False,
    weights: WeightsOption = None,
    as_json: AsJson = False,
    *,
    options: dict[str, Any],
) -> None:
    """Plan a model within a budget; interrupt once (Ctrl-C) to keep the best plan so far."""
    files = {"--out": out, "--export-lp": export_lp, "--export-mps": export_mps}
    require_distinct([model, machine, *_files_of(options)], files)
    asked = weights_given(parameters, weights)
    chosen = options_for(planner, options) | {"weights": asked}
    say_what_weights_do(planner, asked)
    network = load(model, shape, granularity, width, fold_padding)
    if export_lp or export_mps:
        _export(
            network, budget, chosen | {"time_limit": time_limit}, export_lp, export_mps, as_json
        )
        return
    with Reporter(f"planning {network.name}") as reporter:
        made = sp.plan(
            network,
            planner,
            budget,
            machine,
            time_limit,
            progress=reporter.progress,
            replay=False,  # The summary below is made of a replay.
            **chosen,
        )
    with bugs_explained(made):
        row = sp.summary(made)
    if out is not None:
        made.save(out)
    facts = (
        row
        | groups_fact(made)
        | streaming_fact(made)
        | overlap_fact(made)
        | {"bytes_per_element": made.graph.bytes_per_element, "out": str(out) if out else None}
        | caveats(made.graph).facts()
    )
    text = with_notes(planning_table(made, row), caveats(made.graph))
    CommandAnswer(as_json).give(facts, text)


def _files_of(options: dict[str, Any]) -> list[str]:
    """Options that may name files which a planner reads."""
    return [value for value in options.values() if isinstance(value, str)]


def _export(
    graph: sp.Graph,
    budget: str,
    options: dict[str, Any],
    lp: Path | None,
    mps: Path | None,
    as_json: bool,
) -> None:
    """Write the paper's ILP instead of planning."""
    from planners.cosma.ilp.export import export_ilp

    size = resolve_budget(graph, budget, parameters=options["weights"] == COUNTED)
    with Reporter(f"writing the ILP of {graph.name}") as reporter:
        facts = export_ilp(graph, size, options, lp, mps, reporter.progress)
    CommandAnswer(as_json).give(facts, print_table(facts))
