"""A streaming plan from start to end: model, weights on disk, the run, the comparison."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch

from planners.backends.disk import run
from planners.backends.disk.layout import DiskLayout, layout_of
from planners.backends.disk.weights import write_file
from planners.catalogue import build
from planners.core.backends import StreamedRun
from planners.core.boxes import within
from planners.core.errors import BadInput
from planners.core.plan import Plan
from planners.core.program import whole
from planners.executor.arena import checked, held_dtype
from planners.executor.execute import eager, frozen, torch_threads
from planners.importers.torch.source_model import SourceModel
from planners.importers.torch.trace import example


def stream_model(
    plan: Plan,
    module: torch.nn.Module | None = None,
    inputs: Sequence[Any] | None = None,
    weights: str | Path | None = None,
    *,
    seed: int = 0,
    threads: int | None = None,
    **options: Any,
) -> StreamedRun:
    """Stream a plan's network from disk and compare it with the same network preloaded.

    Without `module` the graph's own model is built with random weights, and inputs, from `seed`.
    Without `weights` the module's parameters go to a temporary file first and its own outputs are
    the reference; else the file is, read whole. `options` are those of `run.stream`. A module that
    was built here keeps no parameters in memory while it streams. Raises `BadInput`.
    """
    built = module is None
    if module is None:
        module, random_inputs = build(plan.graph.source, seed=seed)
        inputs = random_inputs if inputs is None else inputs
    given = example(module, () if inputs is None else inputs)
    place = nullcontext("") if weights else tempfile.TemporaryDirectory(prefix="spillway-")
    with place as folder:
        path, reference = weights, None
        if path is None:
            path = Path(folder) / "weights.safetensors"
            write_weights(path, plan, module, given)
            if options.get("device", "cpu") == "cpu":  # Elsewhere bits differ.
                with torch.no_grad(), frozen(module), torch_threads(threads):
                    reference = eager(module, given)
        if built:
            module = module.to("meta")
        return run.stream(
            plan, module, given, path, reference=reference, threads=threads, **options
        )


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
