"""A streaming plan from start to end: model, weights on disk, the run, the comparison."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch

from planners.backends.disk import run
from planners.backends.disk.write import write_weights
from planners.catalogue import build
from planners.core.backends import StreamedRun
from planners.core.plan import Plan
from planners.executor.execute import eager, frozen
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
                with torch.no_grad(), frozen(module), run.torch_threads(threads):
                    reference = eager(module, given)
        if built:
            module = module.to("meta")
        return run.stream(
            plan, module, given, path, reference=reference, threads=threads, **options
        )
