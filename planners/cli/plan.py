"""Commands about one graph or one plan: models, graph, budgets, plan, check, simulate, run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import planners as sp
from planners.cli.files import require_distinct
from planners.cli.options import (
    AsJson,
    ExportLp,
    ExportMps,
    GranularityOption,
    Input,
    MachineOption,
    Model,
    Parameters,
    PlanFile,
    TimeLimit,
    WeightsOption,
    Width,
    app,
    load,
    say_what_weights_do,
    weights_given,
)
from planners.cli.output import (
    CommandAnswer,
    Reporter,
    groups_fact,
    overlap_fact,
    planning_table,
    print_table,
    size_text,
    streaming_fact,
)
from planners.cli.planner_options import options_for, with_planner_options
from planners.cli.stream import run_streaming
from planners.core.caveats import Caveats, caveats
from planners.core.errors import BadInput
from planners.core.registry import DEFAULT, OVERLAP
from planners.core.weights import COUNTED
from planners.simulator.bugs import bugs_explained
from planners.study.budgets import resolve_budget


@app.command()
def models(as_json: AsJson = False) -> None:
    """List the catalogue."""
    names = sp.models()
    CommandAnswer(as_json).give({"models": names}, "\n".join(names))


@app.command()
def graph(
    model: Model,
    out: Annotated[Path, typer.Option("--out", help="where the graph's JSON goes")],
    shape: Input = None,
    granularity: GranularityOption = "fused",
    width: Width = None,
    as_json: AsJson = False,
) -> None:
    """Import a model and save its graph as JSON."""
    require_distinct([model], {"--out": out})
    network = load(model, shape, granularity, width, as_json)
    network.save(out)
    facts = {
        "model": network.name,
        "operators": len(network.operators),
        "tensors": len(network.tensors),
        "macs": network.macs,
        "parameters": network.parameter_count,
        "bytes_per_element": network.bytes_per_element,
        "element_types": network.element_types,
        "out": str(out),
    }
    said = facts | {"bytes_per_element": network.width_words}
    said["element_types"] = ", ".join(f"{n} {name}" for name, n in network.element_types.items())
    known = caveats(network)
    CommandAnswer(as_json).give(facts | known.facts(), with_notes(print_table(said), known))


def with_notes(text: str, known: Caveats) -> str:
    """A table for people, and what is not known of the network that it is about."""
    return "\n".join([text, *(f"note: {line}" for line in known.lines())])


@app.command()
def budgets(
    model: Model,
    shape: Input = None,
    granularity: GranularityOption = "fused",
    width: Width = None,
    parameters: Parameters = False,
    weights: WeightsOption = None,
    time_limit: Annotated[
        float | None, typer.Option("--time-limit", min=0.001, help="seconds for MP; else by work")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print MR, MH and MP: the least budget, the mean, and what the best order holds at most."""
    asked = weights_given(parameters, weights)
    network = load(model, shape, granularity, width, as_json)
    b = sp.budgets(network, parameters=asked == COUNTED, time_limit=time_limit)
    facts = {
        "model": network.name,
        "MR": b.MR,
        "MH": b.MH,
        "MP": b.MP,
        "MP_proven": b.MP_proven,
        "MP_bound": b.MP_bound,
        "default_peak": b.default_peak,
        "operators": len(network.operators),
        "binding_operator": b.binding_operator,
        "parameters_counted": asked == COUNTED,
        "weights": asked,
        "bytes_per_element": network.bytes_per_element,
    }
    sizes: dict[str, Any] = {
        k: size_text(facts[k]) for k in ("MR", "MH", "MP", "MP_bound", "default_peak")
    }
    sizes["bytes_per_element"] = network.width_words
    known = caveats(network)
    text = with_notes(print_table(facts | sizes), known)
    CommandAnswer(as_json).give(facts | known.facts(), text)


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
    network = load(model, shape, granularity, width, as_json)
    if export_lp or export_mps:
        _export(
            network, budget, chosen | {"time_limit": time_limit}, export_lp, export_mps, as_json
        )
        return
    with Reporter(as_json, f"planning {network.name}") as reporter:
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
    with Reporter(as_json, f"writing the ILP of {graph.name}") as reporter:
        facts = export_ilp(graph, size, options, lp, mps, reporter.progress)
    CommandAnswer(as_json).give(facts, print_table(facts))


@app.command()
def check(plan_file: PlanFile, as_json: AsJson = False) -> None:
    """Replay a plan on symbolic bytes and compare it with its claims, and with its layout."""
    made = sp.Plan.load(plan_file)
    report = sp.check(made)
    if made.planner == OVERLAP or made.details.pool:
        from planners.overlap.emit.saved import (
            proven_layout,  # numpy, which most commands do not need
        )

        proven_layout(made)
    names = (
        "traffic_bytes compulsory_bytes noncompulsory_bytes peak_bytes extent_bytes instructions"
    )
    facts = {"valid": True} | {name: getattr(report, name) for name in names.split()}
    CommandAnswer(as_json).give(facts, print_table(facts))


@app.command()
def simulate(
    plan_file: PlanFile,
    machine: Annotated[str | None, typer.Option("--machine")] = None,
    serial: Annotated[bool, typer.Option("--serial", help="overlap nothing")] = False,
    as_json: AsJson = False,
) -> None:
    """Time a plan: makespan, what each engine does, energy."""
    trace = sp.simulate(sp.Plan.load(plan_file), machine, serial=serial)
    facts = {
        "machine": trace.machine,
        "serial": trace.serial,
        "makespan_s": trace.makespan_s,
        "times": trace.times,
        "traffic_bytes": trace.traffic_bytes,
        "peak_bytes": trace.peak_bytes,
        "energy_j": trace.energy_j,
    }
    parts = {f"{name} busy_s": value for name, value in trace.busy_s.items()}
    parts |= {f"{name} stalled_s": value for name, value in trace.stall_s.items()}
    parts |= {f"{name} energy_j": value for name, value in trace.energy.items()}
    nested = {"busy_s": trace.busy_s, "stall_s": trace.stall_s, "energy": trace.energy}
    if len(trace.touched_bytes) > 1:
        nested["touched_bytes"] = trace.touched_bytes
        parts |= {f"{name} touched_bytes": n for name, n in trace.touched_bytes.items()}
    CommandAnswer(as_json).give(facts | nested, print_table(facts | parts))


@app.command()
def run(
    plan_file: PlanFile,
    seed: Annotated[int, typer.Option("--seed", help="of random weights and inputs")] = 0,
    model: Annotated[
        Path | None, typer.Option("--model", help="the .tflite file of the plan, with its weights")
    ] = None,
    weights: Annotated[
        Path | None, typer.Option("--weights", help="streaming: safetensors in its order")
    ] = None,
    repeats: Annotated[int, typer.Option("--repeats", help="streaming: report the median")] = 1,
    device: Annotated[str, typer.Option("--device", help="streaming: cpu, or cuda")] = "cpu",
    as_json: AsJson = False,
) -> None:
    """Execute a plan in an arena of its bytes, or stream it from disk, beside eager PyTorch.

    A plan for a .tflite file runs with that file's own weights, beside the file itself.
    """
    made = sp.Plan.load(plan_file)
    tflite = "tflite" in made.graph.source
    if model is not None and not tflite:
        raise BadInput("--model is for plans of .tflite files: other models have their weights")
    if made.details.streamed and not tflite:
        run_streaming(made, weights, seed, repeats, device, as_json)
        return
    if weights is not None or repeats != 1 or device != "cpu":
        raise BadInput(f"weights, repeats and device are for streaming plans, not {made.planner}")
    with Reporter(as_json, f"running {made.graph.name}"):
        done = sp.execute(made, model, seed=seed, float64=not tflite)
    facts = {
        "model": made.graph.name,
        "bit_exact": done.bit_exact,
        "max_abs_error": done.max_abs_error,
    }
    if (exact := done.float64) is not None:
        facts |= {
            "plan_float64_error": exact.plan,
            "eager_float64_error": exact.eager,
            "float64_note": exact.why_not,
        }
    facts |= {
        "arena_bytes": done.arena_bytes,
        "budget_bytes": made.budget_bytes,
        "compute_steps": done.compute_steps,
    }
    CommandAnswer(as_json).give(facts, print_table(facts))
    if not done.bit_exact and done.max_abs_error > 1e-3:
        raise typer.Exit(1)
