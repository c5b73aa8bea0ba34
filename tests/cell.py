"""The least network that keeps something: what it is given is added to what there was."""

from __future__ import annotations

import planners as sp


def cell() -> sp.Graph:
    """One operator, an input of four elements, and state of as many."""
    shape, reads = (1, 4), ("x", "hidden")
    tensors = [sp.Tensor("x", shape, "input"), sp.Tensor("hidden", shape, "state")]
    tensors.append(sp.Tensor("new", shape))
    return sp.Graph(
        name="cell",
        tensors={tensor.name: tensor for tensor in tensors},
        operators=(sp.Operator("add", "add", reads, ("new",)),),
        inputs=reads,
        outputs=("new",),
        state={"hidden": "new"},
    )
