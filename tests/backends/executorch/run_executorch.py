"""Small modules exported and run by ExecuTorch, planned by itself and by us: a line of JSON each.

    python run_executorch.py FOLDER

The programs are left in the folder, with what ExecuTorch's own reader says of them.
"""

from __future__ import annotations

import json
import logging
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import nn

INPUTS = 20
BANKS = {1: 9_000, 2: 1_000_000}


class Branches(nn.Module):
    """Convolutions side by side, joined and viewed flat."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.two = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(3, 4, 1)
        self.three, self.last = nn.Conv2d(12, 6, 3, stride=2), nn.Linear(6 * 49, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        joined = torch.cat([self.one(x).relu(), self.two(x)], 1)
        return self.last(self.three(joined).relu().flatten(1))


class Counts(nn.Module):
    """A buffer that each call adds to."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("seen", torch.zeros(1, 3, 16, 16))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.seen.add_(x)
        return (self.seen * 2).sum(1) + x.mean(1)


def algorithms() -> dict[str, Any]:
    from executorch.exir.memory_planning import greedy

    from planners.backends.executorch import PackMemory, pack_memory

    return {"greedy": greedy, "packed": pack_memory, "banks": PackMemory(BANKS)}


def places(path: Path) -> dict[str, list[int]]:
    """What ExecuTorch's own reader finds: memory and offset of each planned value."""
    from executorch.exir._serialize._program import deserialize_pte_binary

    read = deserialize_pte_binary(path.read_bytes())
    plan = getattr(read, "program", read).execution_plan[0]
    found = {}
    for number, value in enumerate(plan.values):
        given = getattr(value.val, "allocation_info", None)
        if given is not None:
            found[str(number)] = [given.memory_id, given.memory_offset]
    return found


def ran(name: str, module: nn.Module, folder: Path) -> Iterator[dict[str, Any]]:
    from executorch.exir import ExecutorchBackendConfig, to_edge
    from executorch.exir.memory_planning import MemoryPlanningAlgorithmSuite
    from executorch.exir.passes.memory_planning_pass import MemoryPlanningPass
    from executorch.runtime import Runtime

    generator = torch.Generator().manual_seed(0)
    inputs = [torch.randn(1, 3, 16, 16, generator=generator) for _ in range(INPUTS)]
    first = None
    for planner, algorithm in algorithms().items():
        suite = MemoryPlanningAlgorithmSuite([algorithm])
        planning = MemoryPlanningPass(memory_planning_algo=suite)
        edge = to_edge(torch.export.export(module, (inputs[0],)))
        config = ExecutorchBackendConfig(memory_planning_pass=planning)
        path = folder / f"{name}_{planner}.pte"
        path.write_bytes(edge.to_executorch(config).buffer)
        method = Runtime.get().load_program(path).load_method("forward")
        outputs = [method.execute((x,))[0].clone() for x in inputs]
        first = outputs if first is None else first
        same = sum(torch.equal(a, b) for a, b in zip(first, outputs, strict=True))
        yield {"file": path.name, "planner": planner, "same": same, "places": places(path)}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    torch.manual_seed(0)
    for title, made in (("branches", Branches()), ("counts", Counts())):
        for line in ran(title, made.eval(), Path(sys.argv[1])):
            print(json.dumps(line))
