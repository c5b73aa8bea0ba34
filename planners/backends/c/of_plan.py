"""A saved plan of the overlap planner as C code."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from planners.backends.c.folder import write_code
from planners.backends.c.numbers import checksum, inputs
from planners.backends.int8.net import QNet
from planners.backends.int8.quantize import quantize
from planners.backends.int8.random_net import random_net
from planners.backends.int8.reference import run_reference
from planners.core.errors import BadInput
from planners.core.plan import Plan
from planners.overlap.emit.saved import proven_layout

if TYPE_CHECKING:
    import torch


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
