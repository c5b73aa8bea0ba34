"""A module's parameters into a file, in the order of a plan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from planners.backends.disk.layout import DiskLayout, layout_of
from planners.backends.disk.weights import write_file
from planners.core.boxes import within
from planners.core.errors import BadInput
from planners.core.plan import Plan
from planners.core.program import whole
from planners.executor.arena import checked, held_dtype
from planners.importers.torch.source_model import SourceModel


def write_weights(
    path: str | Path, plan: Plan, module: torch.nn.Module, inputs: Sequence[Any]
) -> int:
    """Write a module's parameters as safetensors in a plan's streaming order; returns its bytes.

    The file serves every plan of the graph with the same slices. It is replaced whole or not at
    all. Raises `BadInput` where the module is not the graph's, or has no values.
    """
    layout = layout_of(plan)
    model = SourceModel(module, inputs)
    write_file(path, [layer.held for layer in layout.layers], _values(plan, layout, model))
    return Path(path).stat().st_size


def _values(plan: Plan, layout: DiskLayout, model: SourceModel) -> Iterator[memoryview]:
    for layer in layout.layers:
        for item in layer.held:
            value = model.parameter(item.tensor).detach()
            tensor = plan.graph.tensors[item.tensor]
            if tuple(value.shape) != tensor.shape:
                raise BadInput(
                    f"the model's {item.tensor!r:.80} is of shape {tuple(value.shape)}, the "
                    f"graph's of {tensor.shape}"
                )
            if value.is_meta:
                raise BadInput(f"the model's {item.tensor!r:.80} is on meta: it has no values")
            value = checked(value[within(item.box, whole(tensor).box)])
            value = value.to("cpu", held_dtype(value.dtype)).contiguous()
            array: Any = value.reshape(-1).numpy()
            yield memoryview(array).cast("B")
