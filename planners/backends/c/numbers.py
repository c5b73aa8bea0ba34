"""The inputs that main.c makes and the checksum that it prints, in Python."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from planners.backends.int8.geometry import stored_shape
from planners.core.graph import Graph

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
