"""Pipelines as programs, replayed: Table II, Figures 5, 12 and 16, and a bound on their delay.

The paper leaves a bound to future work, and its distributions are images. Here times vary in three
ways, all assumed: each for itself, uniformly, up to a share more than the model's; all together by
one such factor; and long-tailed, as the paper says of its own, in samples of a log-normal
distribution, from which a table as a user would measure it is written. The planner's bound holds
whatever the distribution is, as long as no time is above its largest.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import isclose
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt

from planners.api import simulate
from planners.core.details.streamed import StreamedLayer
from planners.core.graph import Graph
from planners.core.layer_times import COLUMNS
from planners.core.machine import load_machine
from planners.core.plan import Plan, streamed_of
from planners.core.program import Load, Program
from planners.papers.demand_layering.paper import PIPELINES, TABLE_2
from planners.papers.demand_layering.sections import section_graph
from planners.papers.report import Row
from planners.simulator.claims import check
from planners.simulator.traffic import energy
from planners.streaming import plan
from planners.streaming.model.layers import units_of
from planners.streaming.model.times import NAME, Xavier
from planners.streaming.schedule.pipelines import fixed

BOARD_BYTES = 2**34
"""The board's memory: what no plan here is bound by."""
BASELINE_W = 10.0
"""Assumed: what the board draws whatever it does. The paper prints no watts."""


def pipelines_row(name: str) -> Row:
    """One network in all pipelines: memory of the rings, delay, joules, and the paper's percent."""
    graph, machine = section_graph(name), load_machine(NAME)
    plans = {
        key: plan(graph, machine, BOARD_BYTES, {"pipeline": key}) for key in ("pre", *PIPELINES)
    }
    rows = {key: _pipeline(each) for key, each in plans.items()}
    pre = rows["pre"]
    for row in rows.values():
        row["saved"] = 100 * (1 - row["memory_bytes"] / pre["memory_bytes"])
        row["added"] = 100 * (row["delay_s"] / pre["delay_s"] - 1)
    for key, (saved, added) in zip(PIPELINES, TABLE_2[name], strict=True):
        rows[key] |= {"paper_saved": saved, "paper_added": added}
    alone = fixed("sync", Xavier(graph).layers(units_of(graph), 3, overlapped=False)).delay_s
    return {
        "network": name,
        "pipelines": rows,
        "sync_alone": 100 * (alone / pre["delay_s"] - 1),
    }


def _pipeline(planned: Plan) -> Row:
    """Memory and delay of a plan, and whether its program, replayed, has them.

    Raises `InvalidPlan` where the program is wrong.
    """
    streamed = streamed_of(planned)
    check(planned)
    ends = simulate(planned).makespan_s
    joules = energy(_without_preload(planned), planned.machine)
    return {
        "memory_bytes": sum(streamed.rings.values()),
        "delay_s": streamed.delay_s,
        "kernel_s": streamed.kernel_s,
        "replayed": isclose(ends, streamed.delay_s + streamed.preload_s, rel_tol=1e-9),
        "energy": dict(joules) | {"baseline": BASELINE_W * streamed.delay_s},
    }


def _without_preload(planned: Plan) -> Program:
    """What one inference does: preloaded parameters are read before."""
    program = planned.program
    if streamed_of(planned).pipeline != "pre":
        return program
    kinds = {name: tensor.kind for name, tensor in planned.graph.tensors.items()}
    kept = [
        item
        for item in program.instructions
        if not (isinstance(item, Load) and kinds[item.piece.tensor] == "parameter")
    ]
    return replace(program, instructions=tuple(kept))


Times = npt.NDArray[np.float64]  # draws × layers × (read, copy, kernel)

SPREAD = 0.2
SAMPLES, SIGMA = 100, 0.1
WAYS = ("each", "together", "long-tailed")  # in which times vary
QUANTILES = (0.25, 0.5, 0.75, 0.9, 1.0)
CHUNK = 500  # draws that are evaluated together


def bounds_row(name: str, pipeline: str, draws: int, seed: int = 0) -> Row:
    """The guaranteed bound of a pipeline, and the band of draws beneath it, in the three ways."""
    graph, machine = section_graph(name), load_machine(NAME)
    bounded = plan(graph, machine, BOARD_BYTES, {"pipeline": pipeline, "spread": SPREAD})
    random = np.random.default_rng(seed)
    base = _times(bounded)

    def spread(count: int) -> Times:
        return base * (1 + SPREAD * random.random((count, *base.shape)))

    def together(count: int) -> Times:
        return base * (1 + SPREAD * random.random((count, 1, 1)))

    samples = base * random.lognormal(0.0, SIGMA, (SAMPLES, *base.shape))
    tailed = _planned_with(graph, bounded, samples)
    rows = np.arange(base.shape[0])[None, :, None]
    columns = np.arange(3)[None, None, :]

    def sampled(count: int) -> Times:
        return samples[random.integers(SAMPLES, size=(count, *base.shape)), rows, columns]

    return {
        "network": name,
        "pipeline": pipeline,
        "each": _banded(bounded, spread, draws),
        "together": _banded(bounded, together, draws),
        "long-tailed": _banded(tailed, sampled, draws),
    }


def _times(plan: Plan) -> Times:
    layers = streamed_of(plan).layers
    return np.array([[getattr(layer, key) for key in COLUMNS[1:]] for layer in layers])


def _planned_with(graph: Graph, bounded: Plan, samples: Times) -> Plan:
    """The same rings, planned with a table of these samples."""
    options: dict[str, Any] = {"pipeline": streamed_of(bounded).pipeline.split("-")[0]}
    options["ring"] = max(streamed_of(bounded).rings.values())
    with TemporaryDirectory() as folder:
        path = Path(folder) / "samples.csv"
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(COLUMNS)
            for i, op in enumerate(graph.operators):
                writer.writerows([op.name, *times] for times in samples[:, i].tolist())
        return plan(graph, bounded.machine, BOARD_BYTES, options | {"times": str(path)})


def _banded(plan: Plan, draw: Callable[[int], Times], draws: int) -> Row:
    streamed = streamed_of(plan)
    assert streamed.bound_s is not None
    samples: list[float] = []
    while len(samples) < draws:
        count = min(CHUNK, draws - len(samples))
        samples += delays(streamed.layers, draw(count)).tolist()
    samples.sort()
    return {
        "delay_s": streamed.delay_s,
        "bound_s": streamed.bound_s,
        "draws": draws,
        "above": sum(delay > streamed.bound_s * (1 + 1e-12) for delay in samples),
        "median_s": samples[draws // 2],
        "p95_s": samples[int(0.95 * (draws - 1))],
        "largest_s": samples[-1],
    }


def delays(layers: Sequence[StreamedLayer], times: Times) -> Times:
    """The delay of each draw, layers as plans tell of them: all at their places, others to wait for
    as there. One row of `times` a layer: seconds of read, copy and kernel."""
    count = len(times)
    reads, copies, kernels = (np.zeros((len(layers) + 1, count)) for _ in range(3))
    read = copy = kernel = np.zeros(count)
    for i, layer in enumerate(layers):
        r, c, k = times[:, i].T
        if layer.size_bytes:
            waits = layer.waits
            if "shared" in waits:
                copy = read = np.maximum(read, kernels[waits["shared"] + 1]) + r
            else:
                read = np.maximum(read, copies[waits["cpu"] + 1]) + r
                free = kernels[waits["gpu"] + 1]
                copy = np.maximum(np.maximum(copy, read), free) + c
            kernel = np.maximum(kernel, copy)
        kernel = kernel + k
        reads[i + 1], copies[i + 1], kernels[i + 1] = read, copy, kernel
    return kernel


def sizes_row(name: str) -> Row:
    """The distributions of sizes and times over layers (Figure 5): quantiles, and the sum."""
    graph, machine = section_graph(name), load_machine(NAME)
    sequential = plan(graph, machine, BOARD_BYTES, {"pipeline": "seq"})
    layers = streamed_of(sequential).layers
    sizes = sorted(layer.size_bytes for layer in layers)
    row: Row = {"network": name, "layers": len(layers)}
    row["small"] = sum(size < 0.1 * 2**20 for size in sizes)
    row["largest"] = sizes.count(sizes[-1])
    for key in ("size_bytes", "read_s", "copy_s", "kernel_s"):
        values = [getattr(layer, key) for layer in layers]
        row[key] = [float(np.quantile(values, q)) for q in QUANTILES]
        row[key].append(sum(values))
    return row
