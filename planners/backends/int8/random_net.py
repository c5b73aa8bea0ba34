"""A network in integers with random weights, straight from a graph: no module is needed."""

from __future__ import annotations

from math import prod, sqrt

import numpy as np

from planners.backends.int8.activations import function_of
from planners.backends.int8.net import QNet
from planners.backends.int8.quantize import quantized
from planners.backends.int8.sketch import Sketch, sketch, unknown
from planners.core.calibration import Calibration, CallFacts
from planners.core.graph import Graph, Operator


def random_net(graph: Graph, seed: int) -> QNet:
    """A `QNet` of this graph with weights from `seed`, whose values keep to their ranges.

    What a graph does not tell is assumed: relu6 wherever `hardtanh` is, averages that count their
    padding. Raises `BadInput` where no int8 kernel exists for an operator.
    """
    return quantized(graph, random_calibration(graph, seed))


def random_calibration(graph: Graph, seed: int) -> Calibration:
    """Random parameters that keep the variance of values (He et al. 2015), and ranges to match."""
    rng = np.random.default_rng(seed)
    spread = dict.fromkeys(graph.inputs, 1.0)
    ranges = dict.fromkeys(graph.inputs, (-3.0, 3.0))
    calls: dict[str, CallFacts] = {}
    for op in graph.operators:
        spec = sketch(graph, op)
        width = _weights(graph, op, spec, spread, calls, rng)
        low, high = -3 * width, 3 * width
        if spec.kind in ("max_pool", "avg_pool", "cat", "table"):
            before = [ranges[name] for name in spec.inputs]
            low, high = min(r[0] for r in before), max(r[1] for r in before)
        for part in (spec.main, spec.norm):
            if part is not None and spec.kind != "table":
                ranges[part.name] = (low, high)
        values = np.linspace(low, high, 64)
        for part in spec.activations:
            settings = {"min_val": 0.0, "max_val": 6.0} if part.kind == "hardtanh" else {}
            function = function_of(part.kind, settings)
            assert function is not None  # `sketch` has seen to it
            values = function(values)
            calls[part.name] = CallFacts(settings=settings)
        least, most = float(values.min()), float(values.max())
        ranges[op.outputs[0]] = (least, most)
        spread[op.outputs[0]] = max(most, -least, 1e-3) / 3
    return Calibration(calls, ranges)


def _weights(
    graph: Graph,
    op: Operator,
    spec: Sketch,
    spread: dict[str, float],
    calls: dict[str, CallFacts],
    rng: np.random.Generator,
) -> float:
    """Make an operator's parameters; the deviation of its value before activations."""
    widths = [spread[name] for name in spec.inputs]
    if spec.kind not in ("conv", "linear"):
        return prod(widths) if spec.kind == "mul" else sqrt(sum(w * w for w in widths))
    if not op.parameters:
        raise unknown(op, "has a weight that is computed")
    shape = graph.tensors[op.parameters[0]].shape
    fan_in = prod(shape[1:])
    each = rng.uniform(0.5, 1.5, (shape[0],) + (1,) * (len(shape) - 1))
    weight = rng.standard_normal(shape) * each / sqrt(fan_in)
    bias = rng.standard_normal(shape[0]) * widths[0] / 4
    calls[spec.main.name] = CallFacts({"weight": weight, "bias": bias})
    return widths[0]
