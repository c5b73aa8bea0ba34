"""How far entropy coding shortens a file's quantised weights."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planners.core.graph import Tensor

CODED = frozenset({"int8", "uint8"})
LEAST = 1e-6


def with_entropy(
    parameters: Iterable[Tensor], values: Callable[[str], NDArray[Any] | None]
) -> tuple[Tensor, ...]:
    """Parameters with what part of their bytes is left where each element is coded by how often its
    value occurs in its tensor (Shannon's bound), for those of a byte whose values are known."""
    return tuple(_coded(each, values) if each.dtype in CODED else each for each in parameters)


def _coded(tensor: Tensor, values: Callable[[str], NDArray[Any] | None]) -> Tensor:
    array = values(tensor.name)
    if array is None or array.size != tensor.elements or array.dtype.itemsize != 1:
        return tensor  # packed, sparse, or not as its shape says
    if not array.size:
        return tensor
    counts = np.bincount(array.reshape(-1).view(np.uint8), minlength=256)
    shares = counts[counts > 0] / array.size
    bits = float(-(shares * np.log2(shares)).sum())
    return replace(tensor, compressed=round(min(1.0, max(LEAST, bits / 8)), 6))
