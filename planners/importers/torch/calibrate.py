"""A module's parameters as a graph's calls use them, and the ranges of its values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch

from planners.core.calibration import Calibration, CallFacts
from planners.core.errors import BadInput
from planners.core.graph import Graph
from planners.importers.torch.given import example
from planners.importers.torch.source_model import SourceModel
from planners.importers.torch.steps import Ref, refs


def calibrate(
    graph: Graph, module: torch.nn.Module, inputs: Iterable[Sequence[torch.Tensor]]
) -> Calibration:
    """Run the module on each of `inputs`, all arguments of one call each, and note the ranges.

    The module is the one that the graph was made of, in eval mode, on inputs of its shapes.
    Raises `BadInput` without inputs, for a value that is not finite, or for another module.
    """
    given = [example(module, item) for item in inputs]
    if not given:
        raise BadInput("calibration needs the arguments of at least one call of the module")
    source = SourceModel(module, given[0])
    ranges: dict[str, tuple[float, float]] = {}
    for arguments in given:
        known = dict(source.input_values(arguments))
        _widen(ranges, known)
        for op in graph.operators:
            values = source.evaluate([part.name for part in op.parts], known)
            _widen(ranges, values)
            known.update({name: values[name] for name in op.outputs})
    names = dict.fromkeys(part.name for op in graph.operators for part in op.parts)
    return Calibration({name: _facts(source, name) for name in names}, ranges)


def _widen(ranges: dict[str, tuple[float, float]], values: Mapping[str, torch.Tensor]) -> None:
    for name, value in values.items():
        if not value.is_floating_point():
            continue
        low, high = (float(bound) for bound in torch.aminmax(value.detach()))
        if not (abs(low) < float("inf") and abs(high) < float("inf")):
            raise BadInput(f"the value {name!r} is not finite on the calibration inputs")
        before = ranges.get(name, (low, high))
        ranges[name] = min(low, before[0]), max(high, before[1])


def _facts(source: SourceModel, name: str) -> CallFacts:
    parameters: dict[str, Any] = {}
    settings: dict[str, Any] = {}
    for argument, value in source.arguments(name).items():
        if isinstance(value, Ref) and source.is_parameter(value.name):
            tensor = source.parameter(value.name).detach()
            parameters[argument] = tensor.to(torch.float64).numpy()
        elif not refs(value):
            settings[argument] = value
    return CallFacts(parameters, settings)
