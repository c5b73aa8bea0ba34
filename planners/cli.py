"""The `spillway` command: every question to the library, on a terminal or as JSON.

Exit codes: 0 done, 1 no answer in the time given, 2 bad usage or input, 3 infeasible.
"""

from __future__ import annotations

import json
import runpy
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

import planners as sp
from planners.cli_output import (
    Answer,
    Reporter,
    answers_only,
    fail,
    one_line_at_most,
    planning_table,
    print_table,
    size_text,
)
from planners.errors import BadInput, BudgetTooSmall, SpillwayError
from planners.files import write_text
from planners.graph.model import Granularity

app = typer.Typer(
    name="spillway",
    help="Plan how a neural network runs in a memory that is too small for it.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

INTERRUPTED = 130  # What a command returns that Ctrl-C ended.

Model = Annotated[str, typer.Argument(help="catalogue name, timm:NAME, or a graph file")]
Input = Annotated[str | None, typer.Option("--input", help="input shape, e.g. 1x3x224x224")]
GranularityOption = Annotated[Granularity, typer.Option("--granularity")]
Width = Annotated[int, typer.Option("--bytes-per-element", min=1)]
Parameters = Annotated[
    bool, typer.Option("--parameters", help="count parameters too (default: activations only)")
]
AsJson = Annotated[bool, typer.Option("--json", help="one JSON object on standard output")]
MachineOption = Annotated[str, typer.Option("--machine", help="a preset, or a .toml/.json file")]
TimeLimit = Annotated[float, typer.Option("--time-limit", min=0.001, help="seconds")]
PlanFile = Annotated[Path, typer.Argument(help="a plan that `spillway plan --out` wrote")]
Schedule = Annotated[str, typer.Option("--schedule", help="cosma: default, mpmf or joint")]
Replacement = Annotated[str, typer.Option("--replacement", help="cosma: optimal, belady, greedy")]
Method = Annotated[str, typer.Option("--method", help="cosma: search (ours) or the paper's ilp")]


def input_shape(text: str | None) -> tuple[int, ...] | None:
    """`1x3x224x224` as numbers. Raises `BadInput` for anything else."""
    if text is None:
        return None
    try:
        shape = tuple(int(part) for part in text.lower().split("x"))
    except ValueError:
        shape = ()
    if not shape or min(shape) < 1:
        raise BadInput(f"--input {text!r}: write sizes joined by x, e.g. 1x3x224x224")
    return shape


def load(
    model: str, shape: str | None, granularity: Granularity, width: int, quiet: bool
) -> sp.Graph:
    """The graph of a model, with a word on standard error while it is imported."""
    with Reporter(quiet, f"importing {model}"):
        return sp.load(
            model,
            input_shape=input_shape(shape),
            granularity=granularity,
            bytes_per_element=width,
        )


@app.command()
def models(as_json: AsJson = False) -> None:
    """List the catalogue."""
    names = sp.models()
    Answer(as_json).give({"models": names}, "\n".join(names))


@app.command()
def graph(
    model: Model,
    out: Annotated[Path, typer.Option("--out", help="where the graph's JSON goes")],
    shape: Input = None,
    granularity: GranularityOption = "fused",
    width: Width = 1,
    as_json: AsJson = False,
) -> None:
    """Import a model and save its graph as JSON."""
    found = load(model, shape, granularity, width, as_json)
    found.save(out)
    facts = {
        "model": found.name,
        "operators": len(found.operators),
        "tensors": len(found.tensors),
        "macs": found.macs,
        "parameters": found.parameter_count,
        "out": str(out),
    }
    Answer(as_json).give(facts, print_table(facts))


@app.command()
def budgets(
    model: Model,
    shape: Input = None,
    granularity: GranularityOption = "fused",
    width: Width = 1,
    parameters: Parameters = False,
    time_limit: TimeLimit = 10.0,
    as_json: AsJson = False,
) -> None:
    """Print MR, MH and MP: the least budget, the mean, and the budget that needs no spill."""
    found = load(model, shape, granularity, width, as_json)
    b = sp.budgets(found, parameters=parameters, time_limit=time_limit)
    facts = {
        "model": found.name,
        "MR": b.MR,
        "MH": b.MH,
        "MP": b.MP,
        "MP_proven": b.MP_proven,
        "MP_bound": b.MP_bound,
        "default_peak": b.default_peak,
        "operators": len(found.operators),
        "binding_operator": b.binding_operator,
        "parameters_counted": parameters,
    }
    sizes = {k: size_text(facts[k]) for k in ("MR", "MH", "MP", "MP_bound", "default_peak")}
    Answer(as_json).give(facts, print_table(facts | sizes))


@app.command()
def plan(
    model: Model,
    budget: Annotated[
        str, typer.Option("--budget", help="MR, MH, MP, bytes, 256KiB, 1.5MB")
    ] = "MR",
    planner: Annotated[str, typer.Option("--planner")] = "cosma",
    machine: MachineOption = "npu_small",
    time_limit: TimeLimit = 60.0,
    out: Annotated[Path | None, typer.Option("--out", help="save the plan as JSON")] = None,
    schedule: Schedule = "default",
    replacement: Replacement = "optimal",
    method: Method = "search",
    shape: Input = None,
    granularity: GranularityOption = "fused",
    width: Width = 1,
    parameters: Parameters = False,
    as_json: AsJson = False,
) -> None:
    """Plan a model within a budget; interrupt once (Ctrl-C) to keep the best plan so far."""
    found = load(model, shape, granularity, width, as_json)
    options: dict[str, Any] = {"schedule": schedule, "replacement": replacement, "method": method}
    with Reporter(as_json, f"planning {found.name}") as reporter:
        options["parameters"], options["progress"] = parameters, reporter.progress
        made = sp.plan(found, planner, budget, machine, time_limit, **options)
    sp.check(made)
    if out is not None:
        made.save(out)
    row = sp.summary(made)
    Answer(as_json).give(row | {"out": str(out) if out else None}, planning_table(made, row))


@app.command()
def check(plan_file: PlanFile, as_json: AsJson = False) -> None:
    """Replay a plan on symbolic bytes and compare it with its claims."""
    made = sp.Plan.load(plan_file)
    report = sp.check(made)
    names = (
        "traffic_bytes compulsory_bytes noncompulsory_bytes peak_bytes extent_bytes instructions"
    )
    facts = {"valid": True} | {name: getattr(report, name) for name in names.split()}
    Answer(as_json).give(facts, print_table(facts))


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
        "traffic_bytes": trace.traffic_bytes,
        "peak_bytes": trace.peak_bytes,
        "energy_j": trace.energy_j,
    }
    parts = {f"{name} busy_s": value for name, value in trace.busy_s.items()}
    parts |= {f"{name} stalled_s": value for name, value in trace.stall_s.items()}
    parts |= {f"{name} energy_j": value for name, value in trace.energy.items()}
    nested = {"busy_s": trace.busy_s, "stall_s": trace.stall_s, "energy": trace.energy}
    Answer(as_json).give(facts | nested, print_table(facts | parts))


@app.command()
def run(
    plan_file: PlanFile,
    seed: Annotated[int, typer.Option("--seed", help="of random weights and inputs")] = 0,
    as_json: AsJson = False,
) -> None:
    """Execute a plan in an arena of its bytes and compare it with eager PyTorch."""
    made = sp.Plan.load(plan_file)
    with Reporter(as_json, f"running {made.graph.name}"):
        done = sp.execute(made, seed=seed)
    facts = {
        "model": made.graph.name,
        "bit_exact": done.bit_exact,
        "max_abs_error": done.max_abs_error,
        "arena_bytes": done.arena_bytes,
        "budget_bytes": made.budget_bytes,
        "compute_steps": done.compute_steps,
    }
    Answer(as_json).give(facts, print_table(facts))
    if not done.bit_exact and done.max_abs_error > 1e-3:
        raise typer.Exit(1)


@app.command()
def sweep(
    model: Annotated[list[str], typer.Argument(help="one or more models")],
    planners: Annotated[str, typer.Option("--planners", help="names with commas")] = "cosma",
    budgets: Annotated[str, typer.Option("--budgets", help="with commas")] = "MR,MH,MP",
    machine: MachineOption = "npu_small",
    time_limit: TimeLimit = 60.0,
    out: Annotated[Path | None, typer.Option("--out", help="save the table as CSV")] = None,
    schedule: Schedule = "default",
    replacement: Replacement = "optimal",
    shape: Input = None,
    granularity: GranularityOption = "fused",
    width: Width = 1,
    parameters: Parameters = False,
    as_json: AsJson = False,
) -> None:
    """Plan models × planners × budgets into one table."""
    graphs = [load(name, shape, granularity, width, as_json) for name in model]
    options: dict[str, Any] = {
        "schedule": schedule,
        "replacement": replacement,
        "parameters": parameters,
    }
    with Reporter(as_json, "sweeping") as reporter:
        table = sp.sweep(
            graphs,
            [name.strip() for name in planners.split(",")],
            [item.strip() for item in budgets.split(",")],
            machine,
            time_limit=time_limit,
            on_row=lambda row: reporter.say(f"{row['model']} {row['budget']} {row['status']}"),
            **options,
        )
    if out is not None:
        write_text(out, table.to_csv(index=False))
    rows = json.loads(table.to_json(orient="records"))
    shown = table[["model", "budget", "budget_bytes", "status", "gap", "offchip_bytes", "plan_s"]]
    Answer(as_json).give({"rows": rows}, shown.to_string(index=False))


@app.command()
def pack(
    lifetimes: Annotated[Path, typer.Argument(help="CSV with id,lower,upper,size")],
    capacity: Annotated[str, typer.Option("--capacity", help="bytes, or e.g. 256KiB")],
    time_limit: TimeLimit = 60.0,
    as_json: AsJson = False,
) -> None:
    """Find an offset for each lifetime (half-open intervals), or what cannot fit together."""
    from planners.allocation import pack as find_offsets
    from planners.allocation import read_lifetimes

    items = read_lifetimes(lifetimes)
    with Reporter(as_json, f"packing {len(items)} lifetimes"):
        found = find_offsets(items, sp.parse_size(capacity), time_limit_s=time_limit)
    facts: dict[str, Any] = {
        "status": found.status,
        "offsets": dict(found.offsets),
        "extent_bytes": found.extent_bytes,
        "conflict": list(found.conflict),
        "solver": found.solver,
        "pack_s": found.seconds,
    }
    lines = [f"status,{found.status}", *(f"{id},{at}" for id, at in found.offsets.items())]
    if found.conflict:
        lines.append(f"these cannot fit together: {', '.join(found.conflict)}")
    Answer(as_json).give(facts, "\n".join(lines))
    if found.status != "packed":
        raise typer.Exit(3 if found.status == "infeasible" else 1)


@app.command()
def calibrate(
    out: Annotated[Path, typer.Option("--out", help="where the machine's TOML goes")],
    folder: Annotated[Path | None, typer.Option("--folder", help="disk to be measured")] = None,
    as_json: AsJson = False,
) -> None:
    """Measure this machine's copy, arithmetic and storage rates into a machine file."""
    from planners.study.calibrate import calibrate as measure

    with Reporter(as_json, "calibrating") as reporter:
        machine = measure(folder, reporter.progress)
    write_text(out, machine.to_toml())
    rates = {f"{m.name}_bytes_per_s": round(m.read_bytes_per_s) for m in machine.memories}
    facts = {"macs_per_s": round(machine.macs_per_s)} | rates | {"out": str(out)}
    Answer(as_json).give(facts, print_table(facts))


@app.command()
def reproduce(
    paper: Annotated[
        Literal["cosma", "optimus", "vmcu", "demand-layering"], typer.Argument(help="which paper")
    ],
    models: Annotated[str | None, typer.Option("--models", help="with commas")] = None,
    granularity: GranularityOption = "folded",
    time_limit: TimeLimit = 60.0,
    out: Annotated[Path | None, typer.Option("--out", help="save the report as Markdown")] = None,
    as_json: AsJson = False,
) -> None:
    """Compute a paper's comparison anew (now: COSMA's)."""
    if paper != "cosma":
        raise BadInput(f"{paper}: its planner is not part of this version; cosma is")
    from planners.study import reproduce_cosma as study

    names = models.split(",") if models else (*study.HUMAN, *study.SEARCHED)
    with Reporter(as_json, "reproducing COSMA") as reporter:
        table = study.rows(
            names,
            granularity,
            time_limit,
            on_row=lambda row: reporter.say(f"{row['model']} {row['budget']}"),
        )
    text = study.report(table, granularity, time_limit)
    if out is not None:
        write_text(out, text)
    Answer(as_json).give({"rows": table, "mean_reduction": study.reductions(table)}, text)


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


def main(arguments: list[str] | None = None) -> None:
    """Run a command line; every failure is one clear line and an exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    as_json = "--json" in arguments
    with one_line_at_most(), answers_only() if as_json else nullcontext():
        code = _run(arguments, as_json)
    sys.exit(code)


def _run(arguments: list[str], as_json: bool) -> int:
    try:
        code = typer.main.get_command(app).main(
            args=arguments, prog_name="spillway", standalone_mode=False
        )
    except BudgetTooSmall as error:
        facts = {
            "status": "infeasible",
            "need_bytes": error.need_bytes,
            "budget_bytes": error.have_bytes,
            "short_by_bytes": error.need_bytes - error.have_bytes,
            "binds": error.operator,
            "tensors": list(error.tensors),
        }
        return fail(str(error), facts, as_json, 3)
    except SpillwayError as error:
        return fail(str(error), {"error": str(error)}, as_json, 2)
    except KeyboardInterrupt:
        code = INTERRUPTED
    except Exception as error:
        if not hasattr(error, "format_message"):  # Not a usage error of the command line.
            raise
        return fail(error.format_message(), {"error": error.format_message()}, as_json, 2)
    if code == INTERRUPTED:
        return fail("interrupted", {"error": "interrupted"}, as_json, code)
    return int(code or 0)


if __name__ == "__main__":
    main()
