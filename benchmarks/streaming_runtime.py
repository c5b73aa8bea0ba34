"""Networks streamed from this machine's disk: memory and delay beside the plan and preloading.

    python benchmarks/streaming_runtime.py [--models darknet_resnet152:1x3x256x256 yolov4]
                                           [--repeats 5] [--threads 1] [--folder DIR]

For each network random weights go to a file, its layers are timed one after the other (the plans'
times), and it is preloaded and run. Then it streams with the largest layer's ring, with one in
between, and with the smallest ring that reaches the least delay; with a ring for copies; and in
slices. Each in a process of its own whose module is on the meta device. A line each: the ring as
planned and as resident, activations as planned, the most that the process grew by, kernels'
workspace included; whether outputs are equal in every bit; the least and the median delay, the
predicted one, what the schedule gives with the times that the median run took, and how far the
least is off the predicted; the least delay and the growth beside the preloaded model's. Predicted
is with the least times of each layer, alone: on a machine with others at work the least of
several is nearest to its own.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import planners as sp

MIB = 2**20
MODELS = ["darknet_resnet152:1x3x256x256", "yolov4:1x3x416x416"]
MACHINE = "jetson_xavier"  # Its times are not used, but of inputs and outputs: they are small.


def load(model: str) -> sp.Graph:
    name, _, shape = model.partition(":")
    sizes = tuple(int(size) for size in shape.split("x")) if shape else None
    return sp.load(name, input_shape=sizes, bytes_per_element=4)


def empty(graph: sp.Graph) -> tuple[Any, Any]:
    """The graph's module without values, and its inputs."""
    from planners.catalogue.torch_models import empty_module, random_inputs

    return empty_module(graph.name).to("meta"), random_inputs(graph.source["input_shape"], 0)


def prepare(model: str, folder: Path, repeats: int, threads: int) -> dict[str, Any]:
    """Weights on disk, and a table of the layers' times."""
    from planners.backends.disk.measure import measure_layers, write_table
    from planners.catalogue import build

    graph = load(model)
    module, inputs = build(graph.source, seed=0)
    for slices in (1, 2):
        plan = planned(graph, folder, pipeline="2s", slices=slices, times="")
        sp.write_weights(folder / f"weights{slices}", plan, module, inputs)
    module = module.to("meta")
    path = folder / "weights1"
    run = measure_layers(graph, module, inputs, path, repeats=repeats, threads=threads)
    write_table(folder / "times.csv", least_of(run))
    return {"equal": run.equal, "direct": run.direct_io}


def least_of(run: Any) -> Any:
    """The run with the least times of each layer alone."""

    def least(spans: list[Any]) -> Any:
        return min(spans, key=lambda span: span[1] - span[0]) if spans[0] else None

    layers = tuple(
        replace(
            rows[0],
            read=least([row.read for row in rows]),
            copy=least([row.copy for row in rows]),
            kernel=least([row.kernel for row in rows]),
        )
        for rows in zip(*run.runs, strict=True)
    )
    return replace(run, runs=(layers,))


def preloaded(model: str, folder: Path, repeats: int, threads: int) -> dict[str, Any]:
    """The same network with all weights in memory."""
    from planners.backends.disk.layout import layout_of
    from planners.backends.disk.preload import preload
    from planners.backends.disk.run import Growth
    from planners.executor.execute import torch_threads

    graph = load(model)
    module, inputs = empty(graph)
    layout = layout_of(planned(graph, folder, pipeline="2s"))
    growth = Growth()
    with torch_threads(threads):
        done = preload(graph, layout, module, inputs, str(folder / "weights1"), runs=repeats + 1)
    return {
        "read_s": done.read_s,
        "run_s": min(done.runs_s[1:]),
        "growth": growth.most_bytes() or 1,
    }


def planned(graph: sp.Graph, folder: Path, budget: int = 2**40, **options: Any) -> sp.Plan:
    times = {"times": str(folder / "times.csv")} | options
    return sp.plan(graph, "streaming", budget, MACHINE, **times)


def streamed(
    model: str, folder: Path, repeats: int, threads: int, plan: str, slices: int
) -> dict[str, Any]:
    """A plan streamed, as numbers."""
    from planners.backends.disk.run import stream

    made = sp.Plan.load(folder / plan)
    module, inputs = empty(made.graph)
    done = stream(
        made,
        module,
        inputs,
        folder / f"weights{slices}",
        repeats=repeats,
        warm=1,
        threads=threads,
    )
    names = (
        "equal max_abs_error ring_planned_bytes ring_allocated_bytes ring_resident_bytes "
        "held_bytes staging_bytes weight_bytes activation_planned_bytes activation_peak_bytes "
        "rss_growth_bytes delay_s predicted_delay_s scheduled_delay_s direct_io"
    )
    return {**{name: getattr(done, name) for name in names.split()}, "delays_s": done.delays_s}


def plans(graph: sp.Graph, folder: Path) -> list[tuple[str, sp.Plan, int]]:
    """The plans of a network: a label, the plan and its slices."""
    least = planned(graph, folder, pipeline="2s")
    best = planned(graph, folder, stages=2)
    ends = [sum(plan.details.streamed.rings.values()) for plan in (least, best)]
    activations = best.details.streamed.activation_bytes
    middle = planned(graph, folder, sum(ends) // 2 + activations, stages=2)
    return [
        ("least ring", least, 1),
        ("in between", middle, 1),
        ("least delay", best, 1),
        ("two rings", planned(graph, folder, pipeline="async"), 1),
        ("in slices", planned(graph, folder, pipeline="2s", slices=2), 2),
    ]


def child(what: str, *arguments: object) -> dict[str, Any]:
    """A step in a process of its own."""
    command = [sys.executable, __file__, "--step", json.dumps([what, *map(str, arguments)])]
    # What is freed goes back to the system, and shows no more in what is resident.
    environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": str(2**18)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        sys.exit(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def step(text: str) -> None:
    what, model, folder, repeats, threads, *rest = json.loads(text)
    given = (model, Path(folder), int(repeats), int(threads))
    match what:
        case "prepare":
            found = prepare(*given)
        case "preload":
            found = preloaded(*given)
        case _:
            found = streamed(*given, rest[0], int(rest[1]))
    print(json.dumps(found))


def compare(model: str, folder: Path, repeats: int, threads: int) -> None:
    graph = load(model)
    given = (model, folder, repeats, threads)
    before = child("prepare", *given)
    pre = child("preload", *given)
    weights = sum(t.elements * 4 for t in graph.tensors.values() if t.kind == "parameter")
    where = "direct reads" if before["direct"] else "page cache"
    print(
        f"\n{model}: {len(graph.operators)} layers, {weights / MIB:.1f} MiB of weights, {where}; "
        f"preloaded: read {pre['read_s']:.3f} s, run {pre['run_s']:.3f} s, "
        f"grew by {pre['growth'] / MIB:.1f} MiB"
    )
    print(
        f"{'':<12} {'ring MiB':>9} {'resident':>9} {'activ.':>7} {'grew by':>8} {'equal':>6} "
        f"{'least s':>8} {'median':>8} {'predicted':>9} {'schedule':>8} {'off':>7} {'to pre':>7} "
        f"{'memory':>7}"
    )
    for number, (label, plan, slices) in enumerate(plans(graph, folder)):
        plan.save(folder / f"plan{number}.json")
        row = child("stream", *given, f"plan{number}.json", slices)
        least, growth = min(row["delays_s"]), row["rss_growth_bytes"] or 0
        same = "yes" if row["equal"] else f"{row['max_abs_error']:.0e}"
        print(
            f"{label:<12} {row['ring_planned_bytes'] / MIB:>9.2f} "
            f"{(row['ring_resident_bytes'] or 0) / MIB:>9.2f} "
            f"{row['activation_planned_bytes'] / MIB:>7.1f} {growth / MIB:>8.1f} {same:>6} "
            f"{least:>8.3f} {row['delay_s']:>8.3f} {row['predicted_delay_s']:>9.3f} "
            f"{row['scheduled_delay_s']:>8.3f} {least / row['predicted_delay_s'] - 1:>7.1%} "
            f"{least / pre['run_s']:>7.2f} {growth / pre['growth']:>7.2f}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", nargs="*", default=MODELS)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--step", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        step(options.step)
        return
    for model in options.models:
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            compare(model, Path(folder), options.repeats, options.threads)


if __name__ == "__main__":
    main()
