"""A layout executed in int8 beside the reference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planners.backends.int8.net import QNet
from planners.backends.int8.reference import random_inputs, run_reference
from planners.core.details.pool import PoolLayout
from tests.backends.int8_pool.run import run_layout

Bytes = NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class Int8Execution:
    """Outputs by name as they lie in memory ([1, H, W, C]), and the reference's.

    `pool_bytes` is the memory that was really allocated; `differing` counts the bytes of outputs
    that are not the reference's, and `output_bytes` all of them.
    """

    outputs: Mapping[str, Bytes]
    reference: Mapping[str, Bytes]
    pool_bytes: int
    differing: int
    output_bytes: int

    @property
    def bit_exact(self) -> bool:
        """Whether every byte of every output is the reference's."""
        return self.differing == 0


def execute_int8(
    layout: PoolLayout, net: QNet, inputs: Mapping[str, Bytes] | None = None, *, seed: int = 0
) -> Int8Execution:
    """Run a layout in a pool of exactly its bytes, and the reference, on the same inputs.

    `inputs` are int8 as they lie in memory ([1, H, W, C]); without them they are random, from
    `seed`. Raises `BadInput` where the layout is not one of this network.
    """
    given = random_inputs(net, seed) if inputs is None else inputs
    outputs, pool_bytes = run_layout(net, layout, given)
    every = run_reference(net, given)
    reference = {name: every[name] for name in outputs}
    differing = sum(int((outputs[name] != reference[name]).sum()) for name in outputs)
    total = sum(value.size for value in outputs.values())
    return Int8Execution(outputs, reference, pool_bytes, differing, total)
