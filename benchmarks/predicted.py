"""Seconds that a calibrated machine predicts beside those that this machine takes.

    python benchmarks/predicted.py [--repeats 9] [--machine FILE] [NETWORK...]

`spillway calibrate` measures rates by kind of operator (or `--machine` has them); then each network
runs in torch on one thread, float32, batch 1, operator by operator. Predicted is what an operator
computes by itself: setup, and array, outputs or bytes of operands in the calibrated memories,
weights from `host`. Printed: predicted / measured of each network's sum, and of its operators the
median and the share within half and twice, by kind over all networks. Nothing else should run.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[1]))

import planners as sp
from planners.backends.disk.measure import measure_layers
from planners.core.compute_seconds import ComputeSeconds, seconds_by_port
from planners.core.machine import Machine
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("networks", nargs="*", default=NETWORKS)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--machine")
    asked = parser.parse_args()
    machine = sp.load_machine(asked.machine) if asked.machine else calibrate()
    by_kind: dict[str, list[float]] = defaultdict(list)
    totals = []
    for name in asked.networks:
        graph = sp.load(name).with_bytes_per_element(4)
        said = predicted(graph, machine)
        runs: dict[str, list[float]] = defaultdict(list)
        for layers in measure_layers(graph, repeats=asked.repeats, threads=1).runs:
            for layer in layers:
                runs[layer.name].append(layer.kernel[1] - layer.kernel[0])
        took = {layer: median(some) for layer, some in runs.items()}
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
    main()
