"""Executing what planners may do beside whole tensors: in place, home to home, within limits."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

import planners as sp
from planners.core.program import (
    Compute,
    Load,
    Memory,
    Operand,
    Program,
    Region,
    Release,
    Store,
    whole,
)
from planners.executor.execute import execute
from tests.simulator.programs import HOST, plan_of


class Turned(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.t()


def in_place(graph: sp.Graph) -> Program:
    """A view takes the place of what it looks at, which comes from storage by way of the host."""
    (op,) = graph.operators
    x, y = whole(graph.tensors[op.inputs[0]]), whole(graph.tensors[op.outputs[0]])
    size = graph.size_bytes(op.inputs[0])
    storage, host, chip = (Region(m, None, size) for m in ("storage", "host", "scratchpad"))
    chip = chip._replace(offset=0)
    items = (
        Load(0, x, storage, host),
        Load(0, x, host, chip),
        Compute(0, op.name, (Operand(x, chip),), (Operand(y, chip),), 0, frees=(0,)),
        Store(0, y, chip, host),
        Release(0, y, chip),
    )
    memories = (Memory("scratchpad", size), HOST, replace(HOST, name="storage"))
    return Program(memories, items, {"input": "storage", "output": "host"}, (op.name,))


def test_a_view_takes_the_place_of_its_input() -> None:
    module, inputs = Turned().eval(), (torch.randn(3, 4),)
    graph = sp.from_torch(module, inputs, granularity="aten")
    done = execute(plan_of(graph, in_place(graph), 12), module, inputs)
    assert done.bit_exact
    assert done.arena_bytes == 48


def test_an_arena_beyond_any_machine_is_refused() -> None:
    module, inputs = Turned().eval(), (torch.randn(3, 4),)
    graph = sp.from_torch(module, inputs, granularity="aten")
    program = in_place(graph)
    memories = (replace(program.memories[0], size_bytes=2**60), *program.memories[1:])
    plan = plan_of(graph, replace(program, memories=memories), 2**60)
    with pytest.raises(sp.BadInput, match="execute allocates"):
        execute(plan, module, inputs)
