"""The other way, to compare with: all parameters in memory first, then the model as it is."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from planners.backends.disk.devices import OnCpu, parameters_of
from planners.backends.disk.layout import DiskLayout
from planners.backends.disk.reader import Storage
from planners.backends.disk.weights import starts_of
from planners.core.boxes import within
from planners.core.graph import Graph
from planners.core.program import whole
from planners.executor.execute import eager, frozen


@dataclass(frozen=True)
class Preloaded:
    """A model's outputs with all of a file's parameters in memory.

    `read_s` is reading them, `runs_s` running the model, each time, in seconds.
    """

    outputs: Any
    read_s: float
    runs_s: tuple[float, ...]


def preload(
    graph: Graph,
    layout: DiskLayout,
    module: torch.nn.Module,
    inputs: Sequence[Any],
    path: str,
    *,
    runs: int = 1,
    direct: bool = True,
    device: str = "cpu",
) -> Preloaded:
    """Read a file whole and run a module with its parameters, all of them on the device.

    The module may be on the meta device: nothing of its own parameters is used that the graph
    reads. Raises `BadInput` as streaming does.
    """
    values, read_s = _parameters(graph, layout, path, direct)
    module_names = {name for name, _ in module.named_parameters(remove_duplicate=False)}
    module_names |= {name for name, _ in module.named_buffers(remove_duplicate=False)}
    given = {name: value.to(device) for name, value in values.items() if name in module_names}
    inputs = [x.to(device) if isinstance(x, torch.Tensor) else x for x in inputs]

    def run(*args: Any) -> Any:
        return torch.func.functional_call(module, given, args, tie_weights=True)

    times = []
    with torch.no_grad(), frozen(module):
        for _ in range(runs):
            began = time.perf_counter()
            outputs = eager(run, inputs)  # type: ignore[arg-type]
            if device != "cpu":
                torch.cuda.synchronize(device)
            times.append(time.perf_counter() - began)
    return Preloaded(outputs, read_s, tuple(times))


def _parameters(
    graph: Graph, layout: DiskLayout, path: str, direct: bool
) -> tuple[dict[str, torch.Tensor], float]:
    """All parameters by name, and the seconds that reading them took."""
    starts = starts_of(path, layout)
    parameters: dict[str, torch.Tensor] = {}
    read_s = 0.0
    storage = Storage(path, direct)
    device = OnCpu(layout)  # A layer at a time, where it streams.
    try:
        storage.forget()
        ring = device.rings[-1]
        for layer, start in zip(layout.layers, starts, strict=True):
            if not layer.size_bytes:
                continue
            at = layer.offsets[-1]
            began = time.perf_counter()
            storage.read(start, ring.view(at, layer.size_bytes), ring.address + at, _nothing)
            read_s += time.perf_counter() - began
            for item, value in zip(layer.held, parameters_of(device, layer), strict=True):
                tensor = graph.tensors[item.tensor]
                if item.tensor not in parameters:
                    dtype = getattr(torch, tensor.dtype)
                    parameters[item.tensor] = torch.empty(tensor.shape, dtype=dtype)
                parameters[item.tensor][within(item.box, whole(tensor).box)] = value.to(
                    parameters[item.tensor].dtype
                )
        storage.check()
    finally:
        storage.close()
        device.close()
    return parameters, read_s


def _nothing(done: int) -> None:
    """Preloading is not stopped."""
