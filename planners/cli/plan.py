"""`spillway plan`: one model, one planner, one machine."""

from __future__ import annotations

from collections.abc import Mapping
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
from planners.cli.output import CommandAnswer, Reporter, print_table, size_text, with_notes
from planners.cli.planner_options import options_for, with_planner_options
from planners.core.caveats import caveats
from planners.core.plan import Plan
from planners.core.records import plain
from planners.core.registry import DEFAULT, FUSION
from planners.core.units import format_bytes
from planners.core.weights import COUNTED
from planners.simulator.bugs import bugs_explained
from planners.study.budgets import resolve_budget

# ---- A plan for people and as facts: what it is for, how good it is proven to be, what it costs --


def planning_table(plan: Plan, row: Mapping[str, Any]) -> str:
    """A plan for people: what it is for, how good it is proven to be, and what it costs."""
    claims = plan.claims
    proof = {
        "optimal": "proven optimal",
        "feasible": f"within {plan.gap:.2%} of the bound",
    }[claims.status]
    if plan.details.latency:
        proof = f"latency {proof}"
    if plan.details.best:
        proof = plan.details.best.words
    facts = {
        "model": f"{row['model']} ({row['operators']} operators, {plan.graph.granularity})",
        "planner": f"{plan.planner}: {claims.solver}",
        "budget": size_text(plan.budget_bytes),
        "status": f"{claims.status}: {proof}",
        **_objective(plan),
        "compulsory traffic": size_text(claims.compulsory_bytes),
        "peak": size_text(claims.peak_bytes),
        "extent": size_text(claims.extent_bytes),
        "latency": f"{row['makespan_s'] * 1e3:.4g} ms on {_machine(plan)}{_over_floor(row)}",
        **_band(plan, row["makespan_s"]),
        "energy": f"{row['energy_j'] * 1e3:.4g} mJ",
        **_streaming_lines(plan),
        **_overlap_lines(plan),
        "planned in": f"{claims.plan_s:.3f} s",
    }
    return "\n".join([print_table(facts), *plan.notes, *_group_lines(plan)])


def _band(plan: Plan, seconds: float) -> dict[str, str]:
    """From when until when that may be, by what judged the machine's seconds."""
    machine = plan.machine
    if not machine.seconds_band or plan.has_given_times:
        return {}
    first, last = (f"{each * 1e3:.4g}" for each in machine.between_s(seconds))
    return {"  likely": f"{first} to {last} ms, by {machine.judge}"}


def _machine(plan: Plan) -> str:
    if plan.graph.is_timed:
        return f"{plan.machine.name}, operators as given by {plan.graph.timed_by}"
    ideal = plan.machine.is_ideal and not plan.has_given_times
    return f"{plan.machine.name}, an ideal machine" if ideal else plan.machine.name


def _over_floor(row: Mapping[str, Any]) -> str:
    """How far a plan's latency is above what no plan of its problem takes less than."""
    floor, took = row["latency_floor_s"], row["makespan_s"]
    if not floor:
        return ""
    return f", {max(0.0, took / floor - 1):.1%} above its floor of {floor * 1e3:.4g} ms"


def groups_fact(plan: Plan) -> dict[str, Any]:
    """The operators of each fused group, for a plan that has groups."""
    groups = _groups(plan)
    return {"groups": [list(group.operators) for group in groups]} if groups else {}


def streaming_fact(plan: Plan) -> dict[str, Any]:
    """Rings, delays and the front of a plan whose parameters stream."""
    if plan.details.streamed is None:
        return {}
    streamed = plain(plan.details.streamed)
    names = ("pipeline", "times", "slices", "rings", "activation_bytes", "delay_s", "preload_s")
    more = ("kernel_s", "bound_s", "band", "front")
    return {name: streamed[name] for name in (*names, *more)}


def _streaming_lines(plan: Plan) -> dict[str, str]:
    """The same for people."""
    facts = streaming_fact(plan)
    if not facts:
        return {}
    rings = ", ".join(f"{name} {size_text(size)}" for name, size in facts["rings"].items())
    lines = {
        "pipeline": f"{facts['pipeline']}, times: {facts['times']}",
        "rings": rings,
        "activations": size_text(facts["activation_bytes"]),
        "delay": f"{facts['delay_s'] * 1e3:.4g} ms, kernels alone {facts['kernel_s'] * 1e3:.4g} ms",
    }
    if facts["bound_s"] is not None:
        lines["never above"] = f"{facts['bound_s'] * 1e3:.4g} ms"
    if band := facts["band"]:
        within = f"{band['p5_s'] * 1e3:.4g} to {band['p95_s'] * 1e3:.4g} ms"
        lines["90 % of draws"] = f"{within}, median {band['median_s'] * 1e3:.4g} ms"
    return lines


def overlap_fact(plan: Plan) -> dict[str, Any]:
    """The front of RAM against repeated work and modulo operations, of a plan with a pool."""
    pool = plan.details.pool
    return {"front": plain(pool.front), "modulos": pool.modulos} if pool else {}


def _overlap_lines(plan: Plan) -> dict[str, str]:
    """The same for people, with the operators that need all of the RAM."""
    facts = overlap_fact(plan)
    lines = {}
    for point in facts.get("front", []):
        if point["ram_bytes"] == plan.claims.objective_bytes:
            lines["RAM bound by"] = ", ".join(point["binding"])
            lines["repeated work"] = f"{point['extra_macs']:,} of {plan.graph.macs:,} MACs"
    if len(facts.get("front", [])) > 1:
        least = facts["front"][-1]
        size = size_text(least["ram_bytes"])
        lines["least RAM"] = f"{size}, {least['extra_macs']:,} MACs repeated"
    return lines


def _groups(plan: Plan) -> tuple[Any, ...]:
    if plan.planner != FUSION:
        return ()
    from planners.fusion.explain import groups_of  # numpy takes a while, and most commands none

    return groups_of(plan)


def _group_lines(plan: Plan) -> list[str]:
    """A line for each fused group: its tiles, what it moves and its operators."""
    return [
        f"{group.name:<5}{group.tiles:>5} tiles {format_bytes(group.traffic_bytes):>10}  "
        + ", ".join(group.operators)
        for group in _groups(plan)
    ]


def _objective(plan: Plan) -> dict[str, str]:
    """What was minimised, and the bound on it; the other of traffic and memory in its place."""
    claims = plan.claims
    traffic = {"non-compulsory traffic": size_text(claims.noncompulsory_bytes)}
    bound = {"  proven bound": size_text(claims.bound_bytes)}
    if plan.slow_memories:
        through = f"read and written in {' and '.join(plan.slow_memories)}"
        return traffic | {through: size_text(claims.objective_bytes)} | bound
    if plan.details.pool:
        return {"RAM": size_text(claims.objective_bytes)} | bound
    if plan.details.streamed:
        return traffic | {"rings and activations": size_text(claims.objective_bytes)} | bound
    if plan.options.get("objective") == "peak":
        return traffic | {"extent": size_text(claims.extent_bytes)} | bound
    everything = claims.compulsory_bytes + claims.noncompulsory_bytes
    if claims.objective_bytes == everything != claims.noncompulsory_bytes:
        return traffic | {"off-chip traffic": size_text(everything)} | bound
    return traffic | bound


# --------------------------------------------------------------------------------------------------


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
    handling = weights_given(parameters, weights)
    chosen = options_for(planner, options) | {"weights": handling}
    say_what_weights_do(planner, handling)
    network = load(model, shape, granularity, width, fold_padding)
    if export_lp or export_mps:
        _export(
            network, budget, chosen | {"time_limit": time_limit}, export_lp, export_mps, as_json
        )
        return
    with Reporter(f"planning {network.name}") as reporter:
        planned = sp.plan(
            network,
            planner,
            budget,
            machine,
            time_limit,
            progress=reporter.progress,
            replay=False,  # The summary below is made of a replay.
            **chosen,
        )
    with bugs_explained(planned):
        row = sp.summary(planned)
    if out is not None:
        planned.save(out)
    facts = (
        row
        | groups_fact(planned)
        | streaming_fact(planned)
        | overlap_fact(planned)
        | {"bytes_per_element": planned.graph.bytes_per_element, "out": str(out) if out else None}
        | caveats(planned.graph).facts()
    )
    text = with_notes(planning_table(planned, row), caveats(planned.graph))
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
