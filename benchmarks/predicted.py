"""Seconds that a calibrated machine predicts beside those that this machine takes.

    python benchmarks/predicted.py [--repeats 9] [--machine FILE] [NETWORK...]

`spillway calibrate` measures rates by kind of operator (or `--machine` has them); then each network
runs in torch on one thread, float32, batch 1, each of its calls an operator, and the clock is read
around each. What is freed is kept for the next (glibc): asking the system for pages anew takes as
long as an operator and is no part of one. Predicted is what an operator computes by itself: setup,
and array, outputs or bytes of operands in the calibrated memories, weights from `host`. Printed:
predicted / measured of each network's sum, and of its operators the median and the share within
half and twice, by kind over all networks. Nothing else should run.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))

import planners as sp
from planners.catalogue.loading import build
from planners.core.compute_seconds import ComputeSeconds, seconds_by_port
from planners.core.machine import Machine
from planners.importers.torch.source_model import SourceModel
from planners.study.calibrate import calibrate

NETWORKS = (
    "squeezenet1_1",
    "mobilenet_v2",
    "mobilenet_v3_small",
    "shufflenet_v2_x1_0",
    "resnet18",
    "resnet50",
    "efficientnet_b0",
    "mnasnet1_0",
    "regnet_x_400mf",
    "googlenet",
)
HALF_TO_TWICE = (0.5, 2.0)
KEEPS_MEMORY = {f"MALLOC_{what}_THRESHOLD_": str(1 << 32) for what in ("TRIM", "MMAP")}


def predicted(graph: sp.Graph, machine: Machine) -> dict[str, float]:
    """Seconds of each operator by itself, by name."""
    seconds, found = ComputeSeconds(graph, machine), {}
    chip, host = machine.memory(machine.onchip), machine.memory(machine.parameters)
    for op in graph.operators:
        read = {
            chip.name: sum(map(graph.size_bytes, op.inputs)) / chip.read_bytes_per_s,
            host.name: sum(map(graph.size_bytes, op.parameters)) / host.read_bytes_per_s,
        }
        written = {chip.name: sum(map(graph.size_bytes, op.outputs)) / chip.write_bytes_per_s}
        moving = seconds_by_port(read, written, machine, max)
        found[op.name] = machine.engine("compute").latency_s + max(seconds.whole_s(op), moving)
    return found


def timed(
    took: list[float], _: str, call: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    """A call's value; its seconds are added to `took`."""
    began = perf_counter()
    value = call(*args, **kwargs)
    took.append(perf_counter() - began)
    return value


def measured(graph: sp.Graph, repeats: int) -> dict[str, float]:
    """Seconds of each operator's calls, by name: the median of rounds over the whole network, of
    which the first does not count."""
    last_use = {name: op.name for op in graph.operators for name in op.inputs}
    module, inputs = build(graph.source or {})
    model = SourceModel(module, inputs)
    runs: dict[str, list[float]] = defaultdict(list)
    for _ in range(repeats + 1):
        known = dict(model.input_values(inputs))
        for op in graph.operators:
            took: list[float] = []
            values = model.evaluate([part.name for part in op.parts], known, partial(timed, took))
            known |= {name: values[name] for name in op.outputs}
            runs[op.name].append(sum(took))
            for name in {*op.inputs} - {*graph.outputs}:
                if last_use[name] == op.name:
                    del known[name]
    return {name: median(some[1:]) for name, some in runs.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("networks", nargs="*", default=NETWORKS)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--machine")
    asked = parser.parse_args()
    machine = sp.load_machine(asked.machine) if asked.machine else calibrate()
    torch.set_num_threads(1)
    by_kind: dict[str, list[float]] = defaultdict(list)
    totals = []
    for name in asked.networks:
        graph = sp.load(name, granularity="aten").with_bytes_per_element(4)
        said = predicted(graph, machine)
        took = measured(graph, asked.repeats)
        ratios = {n: said[n] / took[n] for n in said if took.get(n)}
        for op in graph.operators:
            if op.name in ratios:
                by_kind[op.kind].append(ratios[op.name])
        total = sum(said[n] for n in ratios) / sum(took[n] for n in ratios)
        totals.append(total)
        within = sum(HALF_TO_TWICE[0] <= r <= HALF_TO_TWICE[1] for r in ratios.values())
        print(
            f"{name:20} {total:5.2f} of {sum(took.values()) * 1e3:7.1f} ms; operators: median "
            f"{median(ratios.values()):.2f}, {within} of {len(ratios)} within half and twice"
        )
    worst = max(totals, key=lambda ratio: max(ratio, 1 / ratio))
    print(f"networks: median {median(totals):.2f}, worst {worst:.2f}")
    for kind, some in sorted(by_kind.items(), key=lambda item: -len(item[1])):
        if len(some) >= 10:
            print(f"{kind:20} {len(some):4} operators, median {median(some):.2f}")


if __name__ == "__main__":
    if not KEEPS_MEMORY.items() <= os.environ.items():
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **KEEPS_MEMORY})
    main()
