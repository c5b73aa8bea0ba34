"""What a slower memory behind the scratchpad buys a joined plan.

    python benchmarks/joined_memories.py [--limit 6] [--behind 1MiB] [--objective traffic] [cells]

Cells as in `benchmarks/joined.py`, in bytes; weights counted. The machine is `npu_ideal` with DMA
engines four times as quick and a memory behind the scratchpad that is as quick as these (the host
stays as it is). Printed, in milliseconds or MB: joined alone without that memory and with it,
`cosma` in both memories (whole tensors, each in one of them), and the floor; then geometric means.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from math import exp, log
from typing import Any

import planners as sp
from planners.core.bounds.floors import ProblemFloors
from planners.core.machine import MemoryLevel, load_machine
from planners.core.objective import Objective
from planners.core.weights import COUNTED

CELLS = (
    "mobilenet_v2:262144 resnet18:262144 googlenet:524288 efficientnet_b0:262144 "
    "densenet121:524288 shufflenet_v2_x1_0:524288 mobilenet_v3_large:262144 mnasnet0_5:524288 "
    "regnet_y_400mf:524288 squeezenet1_1:262144 resnet50:1048576 inception_v3:1048576 "
    "efficientnet_b3:1048576 convnext_tiny:1048576 mnasnet1_3:262144 regnet_x_400mf:262144 "
    "mobilenet_v3_small:262144 resnext50_32x4d:1048576 ssdlite320_mobilenet_v3_large:1048576 "
    "efficientnet_v2_s:1048576"
).split()
TIMES = 4.0


def machine_of(behind_bytes: int) -> sp.Machine:
    """The machine with a memory behind the scratchpad."""
    one = load_machine("npu_ideal")
    host = one.memory(one.offchip)
    rate = TIMES * host.read_bytes_per_s
    behind = MemoryLevel("l2", behind_bytes, rate, rate, 8.0, 8.0)
    engines = tuple(
        replace(engine, bytes_per_s=rate) if engine.name.startswith("dma") else engine
        for engine in one.engines
    )
    memories = (one.memories[0], behind, *one.memories[1:])
    return replace(one, memories=memories, engines=engines, slower=("l2",), sources={})


def value(
    graph: sp.Graph, planner: str, budget: int, machine: sp.Machine, aim: Objective, limit_s: float
) -> float | None:
    """Milliseconds or MB of a plan; None where there is none."""
    options: dict[str, Any] = {"weights": COUNTED}
    if planner == "joined":
        options |= {"others": False, "objective": aim.name}
    try:
        plan = sp.plan(graph, planner, budget, machine, limit_s, **options)
    except sp.SpillwayError:
        return None
    found = aim.value(plan, sp.simulate(plan) if aim.simulated else None)
    return found * (1e3 if aim.simulated else 1e-6)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cells", nargs="*", default=CELLS, metavar="MODEL:BYTES")
    parser.add_argument("--limit", type=float, default=6.0, help="seconds for each plan")
    parser.add_argument("--behind", default="1MiB", help="size of the slower memory")
    parser.add_argument("--objective", choices=("latency", "traffic"), default="latency")
    chosen = parser.parse_args()
    machine = machine_of(sp.parse_size(chosen.behind))
    alone = replace(machine, slower=())
    ratios: dict[str, list[float]] = {}
    for cell in chosen.cells:
        name, _, size = cell.rpartition(":")
        graph, budget = sp.load(name), int(size)
        aim = Objective(chosen.objective, ProblemFloors(graph, machine, COUNTED), budget)
        args = aim, chosen.limit
        value(graph, "joined", budget, alone, *args)  # What is known after it.
        found = {
            "without": value(graph, "joined", budget, alone, *args),
            "with": value(graph, "joined", budget, machine, *args),
            "cosma": value(graph, "cosma", budget, machine, *args),
            "floor": aim.floor * (1e3 if aim.simulated else 1e-6),
        }
        told = (f"{what} {v:.4f}" if v else f"{what} none" for what, v in found.items())
        print(f"{name} {budget:,} bytes: {', '.join(told)}", flush=True)
        for what, worth in found.items():
            if worth and found["without"]:
                ratios.setdefault(what, []).append(worth / found["without"])
    for what, values in ratios.items():
        print(f"{what}: {exp(sum(map(log, values)) / len(values)):.3f}, in {len(values)} cells")


if __name__ == "__main__":
    main()
