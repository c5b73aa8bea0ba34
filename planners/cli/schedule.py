"""`spillway schedule`: several networks at once, whose parameters stream through rings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

import planners as sp
from planners.cli.app import AsJson, app
from planners.cli.options import GranularityOption, MachineOption, TimeLimit, Width, load
from planners.cli.output import CommandAnswer, Reporter, fail, size_text
from planners.core.errors import BadInput
from planners.core.progress import Clock

PACK_S = 2.0
"""The most that packing one network's activations may take."""

Networks = Annotated[
    list[str], typer.Argument(help="MODEL[:PERIOD_MS[:DEADLINE_MS]] of each network")
]
PolicyOption = Annotated[
    str, typer.Option("--policy", help="edf, or fixed: by the order of the networks")
]
Ring = Annotated[str, typer.Option("--ring", help="size of one ring for all, or auto")]
Stages = Annotated[
    int, typer.Option("--stages", min=2, max=3, help="2: shared memory; 3: copies to the GPU's")
]
Slices = Annotated[
    int, typer.Option("--slices", min=1, help="cut layers to at most the largest divided by this")
]
Spread = Annotated[
    float, typer.Option("--spread", min=0, help="times may be up to this share longer")
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="seed of the draws")]
Draws = Annotated[int, typer.Option("--draws", min=0, help="draws of all times, for comparison")]
Period = Annotated[str, typer.Option("--period", help="default period in ms")]
MostJobs = Annotated[int, typer.Option("--jobs", min=1, help="most jobs in a hyperperiod")]


@app.command()
def schedule(
    networks: Networks,
    policy: PolicyOption = "edf",
    ring: Ring = "auto",
    machine: MachineOption = "jetson_xavier_980pro",
    stages: Stages = 2,
    slices: Slices = 1,
    spread: Spread = 0.0,
    draws: Draws = 0,
    seed: Seed = 0,
    period: Period = "100",
    jobs: MostJobs = 1000,
    granularity: GranularityOption = "fused",
    width: Width = None,
    time_limit: TimeLimit = 60.0,
    as_json: AsJson = False,
) -> None:
    """Bound the response times of networks that run periodically and stream their parameters."""
    from planners.streaming import several
    from planners.streaming.place.activations import pack_activations

    if policy not in several.POLICIES:
        raise BadInput(f"--policy {policy!r:.40}: choose one of {', '.join(several.POLICIES)}")
    size = None if ring == "auto" else sp.parse_size(ring)
    entries = [several.entry(text) for text in networks]
    usual = several.exact(period) / 1000
    board = sp.load_machine(machine)
    graphs = [load(entry.model, None, granularity, width) for entry in entries]
    with Reporter("scheduling") as reporter:
        clock = Clock(time_limit, reporter.progress)
        tasks = several.tasks_of(
            entries, graphs, board, usual, stages=stages, slices=slices, spread=spread
        )
        answer = several.answer(tasks, policy, size, stages, clock, jobs)
        beside = sum(pack_activations(graph, Clock(PACK_S)).size_bytes for graph in graphs)
        drawn = several.drawn_responses(answer.analysis, 1 / (1 + spread), draws, seed)
    facts = several.facts(answer) | {"machine": board.name, "slices": slices, "spread": spread}
    facts["activation_bytes"] = beside
    _add_drawn(facts, drawn)
    if answer.analysis.met:
        CommandAnswer(as_json).give(facts, _table(facts))
        return
    if not as_json:
        print(_table(facts))
    raise typer.Exit(fail(several.verdict(answer), facts, as_json, 3))


def _add_drawn(facts: Mapping[str, Any], drawn: Sequence[Sequence[float]]) -> None:
    """The largest and the median response of each task over the draws."""
    for i, row in enumerate(facts["tasks"]):
        times = sorted(responses[i] for responses in drawn)
        if times:
            row |= {"drawn_median_s": times[len(times) // 2], "drawn_largest_s": times[-1]}


def _table(facts: Mapping[str, Any]) -> str:
    used = facts["utilisation"]
    names = {"read": "reads", "copy": "copies", "kernel": "kernels"}
    engines = ", ".join(f"{names[name]} {share:.1%}" for name, share in used.items() if share)
    lines = [
        f"{facts['policy']} on {facts['machine']}, {facts['stages']} stages, {facts['layout']}: "
        f"{size_text(facts['memory_bytes'])} of parameters in memory",
        f"hyperperiod {facts['hyperperiod_s'] * 1e3:.6g} ms, {facts['jobs']} jobs, "
        f"{facts['layers']} layers; {engines}",
        f"activations in addition, each network's in its own place: "
        f"{size_text(facts['activation_bytes'])}",
        f"{'task':<24}{'period':>10}{'deadline':>10}{'never above':>13}  {'':<16}ring",
    ]
    lines += [_row(facts, row) for row in facts["tasks"]]
    if facts["compared"]:
        lines.append("least memory in which all deadlines are met:")
        lines += [_compared(row) for row in facts["compared"]]
    if facts["status"] == "met":
        lines.append("Bounds hold for all times up to those given, the order of layers kept.")
    else:
        lines.append("Bounds are of the first hyperperiod: later ones may begin with work left.")
    return "\n".join(lines)


def _row(facts: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    times = "".join(
        f"{row[name] * 1e3:>{width - 3}.2f} ms"
        for name, width in (("period_s", 10), ("deadline_s", 10), ("bound_s", 13))
    )
    ring = "kept" if row["kept"] else size_text(facts["ring_bytes"][row["ring"]])
    if "drawn_largest_s" in row:
        ring += f"; drawn: at most {row['drawn_largest_s'] * 1e3:.2f} ms"
    met = "met" if row["met"] else f"{row['lateness_s'] * 1e3:.2f} ms LATE"
    return f"{row['task']:<24}{times}  {met:<16}{ring}"


def _compared(row: Mapping[str, Any]) -> str:
    if row["memory_bytes"] is None:
        result = f"none: {row['why']}" if row["proven"] else f"none found: {row['why']}"
    else:
        how = "proven" if row["proven"] else f"at least {size_text(row['bound_bytes'])}"
        result = f"{size_text(row['memory_bytes'])}, {how}"
    return f"  {row['kind']}: {result}; {row['tried']} tried"
