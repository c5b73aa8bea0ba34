"""Commands about one plan: check, simulate, run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import planners as sp
from planners.cli.app import AsJson, app
from planners.cli.options import PlanFile
from planners.cli.output import CommandAnswer, Reporter, print_table
from planners.cli.stream import run_streaming
from planners.core.errors import BadInput
from planners.core.registry import OVERLAP


@app.command()
def check(plan_file: PlanFile, as_json: AsJson = False) -> None:
    """Replay a plan and compare it with its claims and layout; say what is not compared."""
    plan = sp.Plan.load(plan_file)
    report = sp.check(plan)
    # What a command has no need of is not loaded.
    from planners.simulator.claims import not_compared

    if plan.planner == OVERLAP or plan.details.pool:
        from planners.overlap.emit.saved_layout import proven_layout

        proven_layout(plan)
    names = (
        "traffic_bytes compulsory_bytes noncompulsory_bytes peak_bytes extent_bytes instructions"
    )
    facts = {"valid": True} | {name: getattr(report, name) for name in names.split()}
    facts["not_compared"] = ", ".join(not_compared(plan))
    CommandAnswer(as_json).give(facts, print_table(facts))


@app.command()
def simulate(
    plan_file: PlanFile,
    machine: Annotated[str | None, typer.Option("--machine")] = None,
    serial: Annotated[bool, typer.Option("--serial", help="overlap nothing")] = False,
    operators: Annotated[
        bool, typer.Option("--operators", help="also print what binds each operator")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Time a plan: makespan, what each engine does, energy; what binds each operator."""
    plan = sp.Plan.load(plan_file)
    timed_on = plan.machine if machine is None else sp.load_machine(machine)
    trace = sp.simulate(plan, timed_on, serial=serial)
    names = "machine serial makespan_s times traffic_bytes peak_bytes energy_j"
    facts: dict[str, Any] = {name: getattr(trace, name) for name in names.split()}
    parts = {f"{name} busy_s": value for name, value in trace.busy_s.items()}
    parts |= {f"{name} stalled_s": value for name, value in trace.stall_s.items()}
    parts |= {f"{name} energy_j": value for name, value in trace.energy.items()}
    nested: dict[str, object] = {
        name: getattr(trace, name) for name in ("busy_s", "stall_s", "energy")
    }
    if len(trace.touched_bytes) > 1:
        nested["touched_bytes"] = trace.touched_bytes
        parts |= {f"{name} touched_bytes": n for name, n in trace.touched_bytes.items()}
    if not operators:
        CommandAnswer(as_json).give(facts | nested, print_table(facts | parts))
        return
    import pandas as pd

    from planners.simulator.binding import seconds_bound, utilisation, what_binds

    bindings = what_binds(plan, trace, timed_on)
    facts["utilisation"] = utilisation(bindings, timed_on)
    nested["bound_s"] = bound_s = seconds_bound(bindings)
    parts |= {f"bound by {name} s": value for name, value in bound_s.items()}
    nested["operators"] = rows = [
        {
            "operator": each.operator,
            "busy_s": each.busy_s,
            "waited_s": sum(each.waited.values()),
            "utilisation": each.utilisation(timed_on),
            "binds": each.binds,
        }
        for each in bindings
    ]
    numbers = pd.DataFrame(rows).to_string(index=False, float_format="{:.6g}".format)
    CommandAnswer(as_json).give(facts | nested, f"{print_table(facts | parts)}\n\n{numbers}")


@app.command()
def run(
    plan_file: PlanFile,
    seed: Annotated[int, typer.Option("--seed", help="seed of random weights and inputs")] = 0,
    model: Annotated[
        Path | None, typer.Option("--model", help="the .tflite file of the plan, with its weights")
    ] = None,
    weights: Annotated[
        Path | None,
        typer.Option("--weights", help="streaming: a safetensors file in the plan's order"),
    ] = None,
    repeats: Annotated[int, typer.Option("--repeats", help="streaming: report the median")] = 1,
    device: Annotated[str, typer.Option("--device", help="streaming: cpu, or cuda")] = "cpu",
    as_json: AsJson = False,
) -> None:
    """Execute a plan in an arena of its bytes, or stream it from disk; compare with PyTorch.

    A plan for a .tflite file runs with that file's own weights, beside the file itself.
    """
    plan = sp.Plan.load(plan_file)
    tflite = "tflite" in plan.graph.source
    if model is not None and not tflite:
        raise BadInput("--model is only for plans of .tflite files")
    if plan.details.streamed and not tflite:
        run_streaming(plan, weights, seed, repeats, device, as_json)
        return
    if weights is not None or repeats != 1 or device != "cpu":
        raise BadInput(
            f"--weights, --repeats and --device are for streaming plans, not {plan.planner}"
        )
    with Reporter(f"running {plan.graph.name}"):
        done = sp.execute(plan, model, seed=seed, float64=not tflite)
    facts = {
        "model": plan.graph.name,
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
        "budget_bytes": plan.budget_bytes,
        "compute_steps": done.compute_steps,
    }
    CommandAnswer(as_json).give(facts, print_table(facts))
    if not done.bit_exact and done.max_abs_error > 1e-3:
        raise typer.Exit(1)
