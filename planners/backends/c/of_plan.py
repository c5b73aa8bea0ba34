"""A saved plan of the overlap planner as C code."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from planners.backends.c.folder import write_code
from planners.backends.int8.geometry import stored_shape
from planners.backends.int8.net import QNet
from planners.backends.int8.quantize import quantize
from planners.backends.int8.random_net import random_net
from planners.backends.int8.reference import run_reference
from planners.core.errors import BadInput
from planners.core.graph import Graph
from planners.core.plan import Plan
from planners.overlap.emit.saved_layout import proven_layout

if TYPE_CHECKING:
    import torch

# ---- The inputs that main.c makes and the checksum that it prints, in Python ---------------------

_FACTOR, _STEP = 1664525, 1013904223


def inputs(graph: Graph) -> dict[str, NDArray[np.int8]]:
    """The int8 inputs that main.c gives the model, by name, as they lie in memory ([1, H, W, C]).

    The generator is Numerical Recipes' linear congruential one, begun with 1; the high byte of
    each state, less 128, is a value.
    """
    arrays = {}
    state = 1
    for name in graph.inputs:
        values = np.empty(graph.tensors[name].elements, np.int8)
        for i in range(values.size):
            state = (state * _FACTOR + _STEP) & 0xFFFFFFFF
            values[i] = (state >> 24) - 128
        arrays[name] = values.reshape(stored_shape(graph.tensors[name].shape))
    return arrays


def checksum(data: bytes) -> int:
    """FNV-1a of 32 bits.

    >>> f"{checksum(b'a'):08x}"
    'e40c292c'
    """
    digest = 2166136261
    for byte in data:
        digest = ((digest ^ byte) * 16777619) & 0xFFFFFFFF
    return digest


# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class WrittenCode:
    """What was written: `files` in `folder`, of a network that runs in `pool_bytes` of RAM."""

    folder: Path
    files: tuple[str, ...]
    pool_bytes: int
    net: QNet

    @property
    def checksum(self) -> str:
        """What the program must print, by the reference: computed here, whole tensor by tensor."""
        graph = self.net.graph
        tensors = run_reference(self.net, inputs(graph))
        return f"{checksum(b''.join(tensors[name].tobytes() for name in graph.outputs)):08x}"


def code_of_plan(
    plan: Plan,
    folder: str | Path,
    module: torch.nn.Module | None = None,
    calibration: Iterable[Sequence[torch.Tensor]] = (),
    *,
    seed: int = 0,
) -> WrittenCode:
    """Write a plan as C code into a folder: a new or empty one, or one of an earlier call.

    The weights are the module's, quantised on `calibration` (the arguments of one call each);
    without a module they are random, from `seed`. Raises `BadInput` where the plan is not of the
    overlap planner or in int8, its layout is not that of its program, an operator has no int8
    kernel, or the folder cannot be written.
    """
    layout, graph = proven_layout(plan), plan.graph
    if graph.state:
        raise BadInput("C code keeps nothing from run to run, and this network has state")
    net = random_net(graph, seed) if module is None else quantize(graph, module, calibration)
    files = write_code(net, layout, folder)
    return WrittenCode(Path(folder), tuple(files), layout.pool_bytes, net)
