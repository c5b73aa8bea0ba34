"""Running a graph on real numbers without any memory: the importer's own check."""

from __future__ import annotations

from typing import Any

import torch

from planners.core.graph import Graph
from planners.importers.torch.source_model import SourceModel


def replay(graph: Graph, source: SourceModel, inputs: tuple[Any, ...]) -> Any:
    """The model's outputs, computed operator by operator from what each says that it reads."""
    return replayed(graph, source, inputs)[0]


def replayed(
    graph: Graph, source: SourceModel, inputs: tuple[Any, ...]
) -> tuple[Any, dict[str, torch.Tensor]]:
    """The same, and the new values of what the module keeps, by their paths in it."""
    stored = source.input_values(inputs)
    stored |= {name: source.parameter(name).clone() for name in graph.state}
    for op in graph.operators:
        known = {name: stored[name] for name in op.inputs}
        known |= {name: source.parameter(name) for name in op.parameters}
        before = {name: value.clone() for name, value in known.items()}
        found = source.evaluate([part.name for part in op.parts], known)
        assert all(torch.equal(known[name], before[name]) for name in op.inputs), op.name
        for name in op.outputs:
            assert tuple(found[name].shape) == graph.tensors[name].shape
            stored[name] = found[name]
    outputs = source.outputs({name: stored[name] for name in graph.outputs} | stored)
    return outputs, {path: stored[graph.state[name]] for name, path in source.owners.items()}
